import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/providers/index.ts'
import type { Conversation } from '../../src/providers/port.ts'
import { nodeWorld } from '../../src/world/index.ts'
import {
  type AnthropicEvent,
  anthropicEvents,
  anthropicStream,
  startAnthropicServer,
} from '../support/anthropic-server.ts'
import { ask, CONVERSATION, faultOf, httpContract, KEY, never, OPTIONS, type Protocol, TOOL } from './http-contract.ts'

const START: AnthropicEvent = {
  type: 'message_start',
  message: { model: 'claude', usage: { input_tokens: 5, output_tokens: 1 } },
}
const open = (index: number, content_block: object): AnthropicEvent => ({
  type: 'content_block_start',
  index,
  content_block,
})
const text = (index: number, words: string): AnthropicEvent => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'text_delta', text: words },
})
const json = (index: number, partial_json: string): AnthropicEvent => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json },
})
const close = (index: number): AnthropicEvent => ({ type: 'content_block_stop', index })
const finish = (stop_reason: string | null, usage: object = { output_tokens: 2 }): AnthropicEvent => ({
  type: 'message_delta',
  delta: { stop_reason },
  usage,
})
const STOP: AnthropicEvent = { type: 'message_stop' }
const TEXT = { type: 'text', text: '' }
const tool = (more: object = {}) => ({ type: 'tool_use', id: 'a', name: 'n', input: {}, ...more })

const protocol: Protocol = {
  name: 'anthropic',
  make: anthropic,
  start: startAnthropicServer,
  stream: anthropicStream,
  shortCall: anthropicEvents(
    [
      { type: 'message_start', message: {} },
      open(0, { type: 'tool_use', id: 'c', name: 'n' }),
      json(0, '{"a":'),
      json(0, '"é"}'),
      close(0),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      STOP,
    ].map((event) => JSON.stringify(event)),
  ),
  path: '/messages',
  cutFinish: 'max_tokens',
  refusalFinish: { raw: anthropicEvents([START, open(0, tool()), close(0), finish('refusal'), STOP]) },
}
httpContract(protocol)

const replyTo = (...events: (AnthropicEvent | string)[]) => ask(protocol, { raw: anthropicEvents(events) })

describe('anthropic: what is sent', () => {
  test('the conversation, tools and choice are sent in the words of the protocol', async () => {
    const conversation: Conversation = {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How is it?' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [
            { id: 'c1', name: 'system_health', arguments: '{"depth":1}' },
            { id: 'c2', name: 'list_agents', arguments: '' },
          ],
        },
        { role: 'tool', content: 'fine', tool_call_id: 'c1', tool_name: 'system_health' },
        { role: 'tool', content: 'none', tool_call_id: 'c2', tool_name: 'list_agents' },
        { role: 'assistant', content: 'It is fine.' },
        { role: 'user', content: 'And now?' },
      ],
    }
    await using server = await startAnthropicServer({ text: 'x' })
    const provider = anthropic({ baseUrl: server.baseUrl, apiKey: KEY, model: 'claude-sonnet-4-5' }, nodeWorld())
    const tools = { tool_definitions: [TOOL], tool_choice: { type: 'any' } } as const
    await provider.complete(conversation, { ...OPTIONS, ...tools }, never())
    const [request] = server.requests
    expect(request?.headers).toMatchObject({ 'x-api-key': KEY, 'anthropic-version': '2023-06-01' })
    expect(request?.body).toEqual({
      model: 'claude-sonnet-4-5',
      stream: true,
      max_tokens: 100,
      temperature: 0.3,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'How is it?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'c1', name: 'system_health', input: { depth: 1 } },
            { type: 'tool_use', id: 'c2', name: 'list_agents', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: 'fine' },
            { type: 'tool_result', tool_use_id: 'c2', content: 'none' },
          ],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'It is fine.' }] },
        { role: 'user', content: [{ type: 'text', text: 'And now?' }] },
      ],
      tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.parameters }],
      tool_choice: { type: 'any' },
    })
  })

  test.each([
    [{ type: 'auto' } as const, { type: 'auto' }],
    [{ type: 'tool', name: 'system_health' } as const, { type: 'tool', name: 'system_health' }],
  ])('the tool choice %j is sent as %j', async (tool_choice, sent) => {
    await using server = await startAnthropicServer({ text: 'x' })
    const provider = anthropic({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
    await provider.complete(CONVERSATION, { ...OPTIONS, tool_definitions: [TOOL], tool_choice }, never())
    expect(server.requests[0]?.body.tool_choice).toEqual(sent)
  })

  test.each(['', '/v1', '/v1/'])('the base URL may end in %j', async (ending) => {
    await using server = await startAnthropicServer({ text: 'x' })
    const baseUrl = server.baseUrl.replace(/\/v1$/, ending)
    await anthropic({ baseUrl, model: 'm' }, nodeWorld()).complete(CONVERSATION, OPTIONS, never())
    expect(server.requests[0]?.path).toBe('/v1/messages')
  })

  test('a schema is asked for natively, never through a tool that the model did not get from us', async () => {
    await using server = await startAnthropicServer({ text: '{}' })
    const schema = { type: 'object', properties: {}, additionalProperties: false }
    const response_format = { type: 'json_schema', schema } as const
    const provider = anthropic({ baseUrl: server.baseUrl, model: 'some-gateway-model' }, nodeWorld())
    await provider.complete(CONVERSATION, { ...OPTIONS, response_format }, never())
    expect(server.requests[0]?.body).toMatchObject({ output_config: { format: { type: 'json_schema' } } })
    expect(server.requests[0]?.body).not.toHaveProperty('tools')
  })

  test('a JSON reply without a schema is refused, because nothing would ask the model for it', async () => {
    const reply = ask(protocol, { text: 'x' }, { inference: { response_format: { type: 'json_object' } } })
    expect((await faultOf(reply)).code).toBe('PROVIDER_INVALID_REQUEST')
  })

  test.each([
    [
      'arguments of an earlier call that are no object',
      { role: 'assistant', content: '', tool_calls: [{ id: 'c', name: 'n', arguments: '[1]' }] },
    ],
    ['a tool message without its call', { role: 'tool', content: 'x' }],
  ] as const)('a conversation with %s is refused before it is sent', async (_what, message) => {
    await using server = await startAnthropicServer({ text: 'x' })
    const provider = anthropic({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
    const fault = await faultOf(provider.complete({ messages: [message] }, OPTIONS, never()))
    expect(fault.code).toBe('PROVIDER_INVALID_REQUEST')
    expect(server.requests).toHaveLength(0)
  })
})

describe('anthropic: what is read', () => {
  test('interleaved blocks come together by their index', async () => {
    const reply = await replyTo(
      START,
      open(0, tool({ id: 'a' })),
      open(1, tool({ id: 'b', name: 'm' })),
      json(1, '{"y"'),
      json(0, '{"x"'),
      json(1, ':2}'),
      json(0, ':1}'),
      close(1),
      close(0),
      finish('tool_use'),
      STOP,
    )
    expect(reply.tool_calls).toEqual([
      { id: 'a', name: 'n', arguments: '{"x":1}' },
      { id: 'b', name: 'm', arguments: '{"y":2}' },
    ])
  })

  test('arguments that stand in the start of their block count when no delta follows', async () => {
    const reply = await replyTo(START, open(0, tool({ input: { b: 1, a: 2 } })), close(0), finish('tool_use'), STOP)
    expect(reply.tool_calls).toEqual([{ id: 'a', name: 'n', arguments: '{"a":2,"b":1}' }])
  })

  test('thinking, unknown blocks and unknown events are skipped', async () => {
    const reply = await replyTo(
      { type: 'ping' },
      START,
      open(0, { type: 'thinking', thinking: '' }),
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
      close(0),
      { type: 'brand_new_event' },
      open(1, { type: 'server_tool_use', id: 's', name: 'search', input: {} }),
      json(1, '{"q":1}'),
      close(1),
      open(2, TEXT),
      text(2, 'yes'),
      close(2),
      finish('end_turn'),
      STOP,
    )
    expect(reply).toMatchObject({ content: 'yes', tool_calls: [], finish_reason: 'stop' })
  })

  test.each<[string, (AnthropicEvent | string)[], RegExp]>([
    ['no stop reason', [START, open(0, TEXT), text(0, 'x'), close(0), STOP], /without a stop reason$/],
    ['a stop reason that is null', [START, finish(null), STOP], /without a stop reason$/],
    ['a block that does not end', [START, open(0, tool()), json(0, '{}'), finish('tool_use'), STOP], /does not end$/],
    ['a delta for no block', [START, json(0, '{}'), finish('tool_use'), STOP], /belongs to no open block$/],
    [
      'a delta for a closed block',
      [START, open(0, tool()), close(0), json(0, '{}'), finish('tool_use'), STOP],
      /belongs to no open block$/,
    ],
    [
      'a delta of the wrong kind',
      [START, open(0, TEXT), json(0, '{}'), close(0), finish('tool_use'), STOP],
      /does not fit the block/,
    ],
    [
      'a block that starts twice',
      [START, open(0, tool()), open(0, tool({ id: 'b' })), close(0), finish('tool_use'), STOP],
      /starts twice$/,
    ],
    [
      'a block after the stop reason',
      [START, finish('tool_use'), open(0, tool()), close(0), STOP],
      /goes on after its stop reason$/,
    ],
    ['two messages', [START, START, finish('end_turn'), STOP], /two messages$/],
    ['no message', [open(0, TEXT), close(0), finish('end_turn'), STOP], /does not begin with its message$/],
    ['nothing but the end mark', [STOP], /does not begin with its message$/],
    [
      'no id',
      [START, open(0, { type: 'tool_use', name: 'n', input: {} }), close(0), finish('tool_use'), STOP],
      /has no id$/,
    ],
    [
      'no name',
      [START, open(0, { type: 'tool_use', id: 'a', input: {} }), close(0), finish('tool_use'), STOP],
      /has no name$/,
    ],
    ['an id that is a number', [START, open(0, tool({ id: 7 })), close(0), finish('tool_use'), STOP], /has no id$/],
    [
      'arguments twice',
      [START, open(0, tool({ input: { a: 1 } })), json(0, '{"a":2}'), close(0), finish('tool_use'), STOP],
      /arguments twice$/,
    ],
    [
      'arguments that are a list',
      [START, open(0, tool({ input: [] })), close(0), finish('tool_use'), STOP],
      /not a JSON object$/,
    ],
    [
      'an index that is text',
      [START, { type: 'content_block_start', index: '0', content_block: TEXT }, STOP],
      /not a whole number$/,
    ],
    [
      'a pause',
      [START, open(0, TEXT), text(0, 'x'), close(0), finish('pause_turn'), STOP],
      /not one that ends a reply$/,
    ],
  ])('a reply with %s proposes nothing', async (_what, events, message) => {
    const fault = await faultOf(replyTo(...events))
    expect(fault.code).toBe('PROVIDER_PARSE_ERROR')
    expect(fault.message).toMatch(message)
  })

  test('a reply that filled the context window is a context overflow', async () => {
    const reply = replyTo(START, open(0, TEXT), text(0, 'x'), close(0), finish('model_context_window_exceeded'), STOP)
    expect((await faultOf(reply)).code).toBe('PROVIDER_CONTEXT_OVERFLOW')
  })

  test.each([
    ['overloaded_error', 'PROVIDER_MODEL_UNAVAILABLE'],
    ['rate_limit_error', 'PROVIDER_RATE_LIMITED'],
    ['api_error', 'PROVIDER_ERROR'],
    ['invalid_request_error', 'PROVIDER_INVALID_REQUEST'],
    ['timeout_error', 'PROVIDER_TIMEOUT'],
  ])('the error %s inside a stream is %s', async (type, code) => {
    const error = { type: 'error', error: { type, message: 'x' } }
    expect((await faultOf(replyTo(START, open(0, tool()), error))).code).toBe(code)
    expect((await faultOf(replyTo(error))).code).toBe(code)
  })

  test('cached input counts as input, and the last totals count', async () => {
    const start = {
      type: 'message_start',
      message: {
        usage: { input_tokens: 5, cache_read_input_tokens: 10, cache_creation_input_tokens: null, output_tokens: 1 },
      },
    }
    const usage = { output_tokens: 4, input_tokens: null, cache_creation_input_tokens: 2 }
    const reply = await replyTo(start, open(0, TEXT), text(0, 'x'), close(0), finish('end_turn', usage), STOP)
    expect(reply.usage).toEqual({ prompt_tokens: 17, completion_tokens: 4, total_tokens: 21 })
  })
})
