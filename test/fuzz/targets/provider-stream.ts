/** What a model's endpoint streams: a reply is whole, or proposes nothing, however the bytes come and wherever they end. */
import { canonical, isJsonObject, readJson } from '../../../src/core/index.ts'
import { AnthropicReply } from '../../../src/providers/anthropic-reply.ts'
import { EventStream } from '../../../src/providers/event-stream.ts'
import { exchange, type ReplyFold } from '../../../src/providers/exchange.ts'
import type { InferenceResponse } from '../../../src/providers/index.ts'
import { OpenAiReply } from '../../../src/providers/openai-reply.ts'
import { nodeWorld, type World } from '../../../src/world/index.ts'
import { answer, answerOf, must, type Opened, pure, type Target } from '../target.ts'

const TARGET = { provider: 'p', model: 'm' }
const data = (...events: readonly unknown[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')
const named = (...events: readonly { readonly type: string }[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
const choice = (delta: object, finish_reason: string | null = null): object => ({
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
})
const call = (index: number, id: string, name: string, text: string): object => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }],
})

const PROPERTY =
  'a reply has calls with ids of their own, names and strict JSON objects as arguments; the same bytes in other chunks are the same reply, and a stream that is cut anywhere before its end mark proposes nothing'
const WORDS = [
  'data: ',
  'data:',
  '\n\n',
  '\r\n',
  '\r',
  'event: ',
  ': ',
  '\ufeff',
  'null',
  '\\"',
  '{\\"a\\":1}',
  '"index":0',
  '"index":1',
]

export const openAiStream: Target = {
  name: 'openai-stream',
  property: PROPERTY,
  seeds: [
    data(
      choice({ role: 'assistant', content: 'h\u00e9' }),
      choice({ content: 'llo' }),
      choice({}, 'stop'),
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
      '[DONE]',
    ),
    data(
      choice(call(0, 'c1', 'look', '')),
      choice(call(0, '', '', '{"a":')),
      choice(call(0, '', '', '1}')),
      choice(call(1, 'c2', 'look', '{}')),
      choice({}, 'tool_calls'),
      '[DONE]',
    ),
    data(
      choice({
        content: [
          { type: 'text', text: 'x' },
          { type: 'thinking', thinking: 'y' },
        ],
      }),
      choice({}, 'length'),
      '[DONE]',
    ),
    data(choice({ refusal: 'no' }), choice({}, 'content_filter'), '[DONE]'),
    data({ error: { message: 'model not found', code: 404 } }),
    ': sign of life\r\n\r\ndata: {"choices":[{"delta":{"content":"x"},\r\ndata: "finish_reason":"stop"}]}\r\n\r\ndata: [DONE]\r\n\r\n',
  ],
  words: [
    ...WORDS,
    '[DONE]',
    '"finish_reason":"stop"',
    '"finish_reason":"tool_calls"',
    '"delta":',
    '"tool_calls":',
    '"function":',
    '"arguments":',
    '"error":',
    '"usage":',
    '"refusal":',
  ],
  bytesMax: 3072,
  steps: { fixed: 20_000, perByte: 400 },
  open: () => checking(() => new OpenAiReply(TARGET)),
}

const message = { type: 'message_start', message: { model: 'm', usage: { input_tokens: 3, output_tokens: 1 } } }
const open = (index: number, content_block: object): { type: string } =>
  ({ type: 'content_block_start', index, content_block }) as { type: string }
const delta = (index: number, change: object): { type: string } =>
  ({ type: 'content_block_delta', index, delta: change }) as { type: string }
const close = (index: number): { type: string } => ({ type: 'content_block_stop', index }) as { type: string }
const stop = (stop_reason: string): readonly { type: string }[] => [
  { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 9 } } as { type: string },
  { type: 'message_stop' },
]

export const anthropicStream: Target = {
  name: 'anthropic-stream',
  property: PROPERTY,
  seeds: [
    named(
      message,
      open(0, { type: 'text', text: '' }),
      { type: 'ping' },
      delta(0, { type: 'text_delta', text: 'h\u00e9' }),
      close(0),
      ...stop('end_turn'),
    ),
    named(
      message,
      open(0, { type: 'tool_use', id: 't1', name: 'look', input: {} }),
      delta(0, { type: 'input_json_delta', partial_json: '{"a":' }),
      delta(0, { type: 'input_json_delta', partial_json: '1}' }),
      close(0),
      ...stop('tool_use'),
    ),
    named(
      message,
      open(0, { type: 'thinking', thinking: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'x' }),
      close(0),
      open(1, { type: 'tool_use', id: 't1', name: 'look', input: { a: 1 } }),
      close(1),
      ...stop('tool_use'),
    ),
    // over several lines, each with the line end of old
    named(message, open(0, { type: 'text', text: 'x' }), close(0), ...stop('end_turn'))
      .replaceAll(',"', ',\ndata: "')
      .replaceAll('\n', '\r\n'),
    named(message, ...stop('max_tokens')),
    named(message, ...stop('refusal')),
    named({ type: 'error', error: { type: 'overloaded_error', message: 'x' } } as { type: string }),
  ],
  words: [
    ...WORDS,
    '"type":"message_stop"',
    '"type":"message_delta"',
    '"type":"content_block_stop"',
    '"type":"tool_use"',
    '"input":',
    '"partial_json":',
    '"stop_reason":"tool_use"',
    '"stop_reason":"end_turn"',
    '"type":"error"',
  ],
  bytesMax: 3072,
  steps: { fixed: 20_000, perByte: 400 },
  open: () => checking(() => new AnthropicReply(TARGET)),
}

function checking(fold: () => ReplyFold): Opened {
  const world = nodeWorld()
  return pure(async (input) => {
    const whole = await received([input], fold(), world)
    const cuts = await byBytes(input, fold())
    must(told(cuts) === told(whole), 'bytes that come one by one are the same reply')
    for (const at of [1, input.length >> 1, input.length - 1]) {
      if (at < 1 || at >= input.length) continue
      must(
        told(await received([input.subarray(0, at), input.subarray(at)], fold(), world)) === told(whole),
        `two chunks, cut at ${at}, are the same reply`,
      )
    }
  })
}

/** Through the exchange as it is, over a network that answers these chunks. */
async function received(
  chunks: readonly Uint8Array[],
  fold: ReplyFold,
  world: World,
): Promise<InferenceResponse | null> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) if (chunk.length > 0) controller.enqueue(chunk)
      controller.close()
    },
  })
  const fetch = async (): Promise<Response> => new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  const network: World = { ...world, net: { ...world.net, fetch } }
  const request = { url: 'http://127.0.0.1/', headers: new Headers(), body: '{}' }
  const limits = { firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000, replyBytesMax: 1024 * 1024 }
  const read = await answerOf(() =>
    exchange({ target: TARGET, request, limits, fold }, network, new AbortController().signal),
  )
  if (read.kind === 'Fault') {
    must(read.fault.code.startsWith('PROVIDER_'), 'a refusal has a code of the providers')
    return null
  }
  checkReply(read.value)
  return read.value
}

/** Byte by byte: after each of them the stream could end, and nothing is proposed before the end mark. */
async function byBytes(input: Uint8Array, fold: ReplyFold): Promise<InferenceResponse | null> {
  const events = new EventStream()
  for (const byte of input) {
    let texts: readonly string[]
    try {
      texts = events.push(Uint8Array.of(byte))
    } catch (error) {
      must(error instanceof TypeError, 'bytes that are not UTF-8 are a TypeError of the decoder')
      return null
    }
    for (const text of texts) {
      const taken = answer(() => fold.take(text))
      if (taken.kind === 'Fault') return null
      if (!fold.complete) continue
      const read = answer(() => fold.reply())
      return read.kind === 'Value' ? read.value : null
    }
  }
  // it ends without its end mark: what was folded so far must not come out as a whole reply
  must(!fold.complete, 'a stream is complete with its end mark only')
  return null
}

function checkReply({ content, tool_calls, finish_reason, usage, model }: InferenceResponse): void {
  must(content.isWellFormed() && typeof model === 'string', 'text is well-formed')
  must(tool_calls.length === 0 || finish_reason === 'tool_calls', 'only a reply that ends with calls holds calls')
  must(new Set(tool_calls.map(({ id }) => id)).size === tool_calls.length, 'every call has an id of its own')
  for (const { id, name, arguments: text } of tool_calls) {
    must(id.trim() !== '' && name.trim() !== '', 'a call has an id and a name')
    const value = answer(() => readJson(text))
    must(value.kind === 'Value' && isJsonObject(value.value), 'arguments are a strict JSON object')
  }
  for (const count of Object.values(usage))
    must(Number.isInteger(count) && count >= 0 && count <= 0xffffffff, 'usage is counted in whole tokens')
}

function told(reply: InferenceResponse | null): string {
  return reply === null ? 'nothing' : canonical(reply)
}
