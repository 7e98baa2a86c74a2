import { describe, expect, test } from 'vitest'
import { openAiCompatible } from '../../src/providers/index.ts'
import type { Conversation } from '../../src/providers/port.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { openAiEvents, openAiStream, startOpenAiServer } from '../support/openai-server.ts'
import { ask, CONVERSATION, faultOf, httpContract, KEY, never, OPTIONS, type Protocol, TOOL } from './http-contract.ts'

const choice = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const call = (piece: object) => choice({ tool_calls: [piece] })
const FINISH = choice({}, 'tool_calls')

const protocol: Protocol = {
  name: 'openai-compatible',
  make: openAiCompatible,
  start: startOpenAiServer,
  stream: openAiStream,
  shortCall: openAiEvents([
    call({ index: 0, id: 'c', function: { name: 'n', arguments: '{"a":' } }),
    call({ index: 0, function: { arguments: '"é"}' } }),
    FINISH,
  ]),
  path: '/chat/completions',
  cutFinish: 'length',
  refusalFinish: {
    raw: openAiEvents([choice({ refusal: 'I will ' }), choice({ refusal: 'not.' }), choice({}, 'stop')]),
  },
}
httpContract(protocol)

const replyTo = (...chunks: (object | string)[]) => ask(protocol, { raw: openAiEvents(chunks) })

describe('openai-compatible: what is sent', () => {
  test('the conversation, tools and choice are sent in the words of the protocol', async () => {
    const conversation: Conversation = {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How is it?' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [{ id: 'c1', name: 'system_health', arguments: '{ "depth":1.0 }' }],
        },
        { role: 'tool', content: 'fine', tool_call_id: 'c1', tool_name: 'system_health' },
        { role: 'assistant', content: 'It is fine.' },
        { role: 'user', content: 'And now?' },
      ],
    }
    await using server = await startOpenAiServer({ text: 'x' })
    const provider = openAiCompatible({ baseUrl: server.baseUrl, apiKey: KEY, model: 'm' }, nodeWorld())
    const tools = { tool_definitions: [TOOL], tool_choice: { type: 'tool', name: 'system_health' } } as const
    await provider.complete(conversation, { ...OPTIONS, ...tools }, never())
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`)
    expect(server.requests[0]?.body).toEqual({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 100,
      temperature: 0.3,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How is it?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'system_health', arguments: '{ "depth":1.0 }' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'fine' },
        { role: 'assistant', content: 'It is fine.' },
        { role: 'user', content: 'And now?' },
      ],
      tools: [
        { type: 'function', function: { name: TOOL.name, description: TOOL.description, parameters: TOOL.parameters } },
      ],
      tool_choice: { type: 'function', function: { name: 'system_health' } },
    })
  })

  test.each([
    [{ type: 'auto' } as const, 'auto'],
    [{ type: 'any' } as const, 'required'],
  ])('the tool choice %j is sent as %j', async (tool_choice, sent) => {
    await using server = await startOpenAiServer({ text: 'x' })
    const provider = openAiCompatible({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
    await provider.complete(CONVERSATION, { ...OPTIONS, tool_definitions: [TOOL], tool_choice }, never())
    expect(server.requests[0]?.body.tool_choice).toBe(sent)
  })

  test.each([
    [{ type: 'json_object' } as const, { type: 'json_object' }],
    [
      { type: 'json_schema', schema: { type: 'object' }, name: 'answer' } as const,
      { type: 'json_schema', json_schema: { schema: { type: 'object' }, name: 'answer', strict: true } },
    ],
  ])('the response format %j is sent', async (response_format, sent) => {
    await using server = await startOpenAiServer({ text: '{}' })
    const provider = openAiCompatible({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
    await provider.complete(CONVERSATION, { ...OPTIONS, response_format }, never())
    expect(server.requests[0]?.body.response_format).toEqual(sent)
  })

  test('OpenAI itself gets its own name for the token limit, and its reasoning models no temperature', async () => {
    const world = nodeWorld()
    const bodies: Record<string, unknown>[] = []
    const fetch: typeof world.net.fetch = (_url, init) => {
      bodies.push(JSON.parse(String(init?.body)))
      return Promise.resolve(new Response(openAiStream({ text: 'x' })))
    }
    const offline = { ...world, net: { ...world.net, fetch } }
    for (const model of ['gpt-4.1', 'gpt-5-mini']) {
      await openAiCompatible({ model }, offline).complete(CONVERSATION, OPTIONS, never())
    }
    expect(bodies[0]).toMatchObject({ max_completion_tokens: 100, temperature: 0.3 })
    expect(bodies[1]).toMatchObject({ max_completion_tokens: 100 })
    expect(bodies[0]).not.toHaveProperty('max_tokens')
    expect(bodies[1]).not.toHaveProperty('temperature')
  })
})

describe('openai-compatible: what is read', () => {
  test('interleaved deltas come together by their index', async () => {
    const reply = await replyTo(
      call({ index: 0, id: 'a', type: 'function', function: { name: 'one', arguments: '{"x"' } }),
      call({ index: 1, id: 'b', type: 'function', function: { name: 'two', arguments: '{"y"' } }),
      call({ index: 0, id: 'a', function: { arguments: ':1}' } }),
      call({ index: 1, id: '', function: { name: 'two', arguments: ':2}' } }),
      FINISH,
    )
    expect(reply.tool_calls).toEqual([
      { id: 'a', name: 'one', arguments: '{"x":1}' },
      { id: 'b', name: 'two', arguments: '{"y":2}' },
    ])
  })

  test('arguments that are whole before their last delta are not taken early', async () => {
    const reply = replyTo(
      call({ index: 0, id: 'a', function: { name: 'one', arguments: '{}' } }),
      call({ index: 0, function: { arguments: '{"x":1}' } }),
      FINISH,
    )
    expect((await faultOf(reply)).message).toMatch(/not strict JSON/)
  })

  test.each<[string, (object | string)[], RegExp]>([
    [
      'an id that changes at one index',
      [
        call({ index: 0, id: 'a', function: { name: 'n', arguments: '{' } }),
        call({ index: 0, id: 'b', function: { arguments: '}' } }),
        FINISH,
      ],
      /the id of a tool call changes on the way$/,
    ],
    [
      'a name that changes at one index',
      [
        call({ index: 0, id: 'a', function: { name: 'n', arguments: '{}' } }),
        call({ index: 0, function: { name: 'm' } }),
        FINISH,
      ],
      /the name of a tool call changes on the way$/,
    ],
    ['no id at all', [call({ index: 0, function: { name: 'n', arguments: '{}' } }), FINISH], /has no id$/],
    [
      'an id that is null',
      [call({ index: 0, id: null, function: { name: 'n', arguments: '{}' } }), FINISH],
      /has no id$/,
    ],
    [
      'an id that is a number',
      [call({ index: 0, id: 7, function: { name: 'n' } }), FINISH],
      /id of a tool call is not a string$/,
    ],
    ['no name at all', [call({ index: 0, id: 'a', function: { arguments: '{}' } }), FINISH], /has no name$/],
    ['no function', [call({ index: 0, id: 'a' }), FINISH], /has no name$/],
    [
      'arguments that are not text',
      [call({ index: 0, id: 'a', function: { name: 'n', arguments: {} } }), FINISH],
      /are not text$/,
    ],
    [
      'another type',
      [call({ index: 0, id: 'a', type: 'custom', function: { name: 'n' } }), FINISH],
      /not a function call$/,
    ],
    [
      'a piece that belongs to no call',
      [call({ function: { arguments: '{}' } }), FINISH],
      /does not say to which call it belongs$/,
    ],
    [
      'an index that is a fraction',
      [call({ index: 0.5, id: 'a', function: { name: 'n' } }), FINISH],
      /not a whole number$/,
    ],
    [
      'deltas after the finish',
      [
        choice({ content: 'x' }),
        choice({}, 'stop'),
        call({ index: 0, id: 'a', function: { name: 'n', arguments: '{}' } }),
      ],
      /goes on after its finish reason$/,
    ],
    ['text after the finish', [choice({}, 'stop'), choice({ content: 'x' })], /goes on after its finish reason$/],
    ['two finish reasons', [choice({}, 'stop'), choice({}, 'tool_calls')], /two different finish reasons$/],
    [
      'a second choice',
      [{ choices: [{ index: 1, delta: { content: 'x' } }] }, choice({}, 'stop')],
      /more than one choice$/,
    ],
    ['no finish reason', [choice({ content: 'all I have' })], /without a finish reason$/],
    ['nothing but the end mark', [], /without a finish reason$/],
    [
      'the retired function_call',
      [choice({ function_call: { name: 'n', arguments: '{}' } }), choice({}, 'function_call')],
      /no call ids$/,
    ],
    ['content that is a number', [choice({ content: 1 }), choice({}, 'stop')], /not text$/],
    [
      'a name that stands twice in a chunk',
      [
        '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"safe","name":"evil","arguments":"{}"}}]}}]}',
        FINISH,
      ],
      /not strict JSON/,
    ],
  ])('a reply with %s proposes nothing', async (_what, chunks, message) => {
    const fault = await faultOf(replyTo(...chunks))
    expect(fault.code).toBe('PROVIDER_PARSE_ERROR')
    expect(fault.message).toMatch(message)
  })

  test('what a content filter cut is told as such, without text and calls', async () => {
    const whole = call({ index: 0, id: 'a', function: { name: 'n', arguments: '{}' } })
    const reply = await replyTo(choice({ content: 'half' }), whole, choice({}, 'content_filter'))
    expect(reply).toMatchObject({ finish_reason: 'content_filter', content: '', tool_calls: [] })
  })

  test('a refusal beside a call refuses the call', async () => {
    const whole = call({ index: 0, id: 'a', function: { name: 'n', arguments: '{}' } })
    const reply = await replyTo(whole, choice({ refusal: 'No.' }), FINISH)
    expect(reply).toMatchObject({ finish_reason: 'refusal', content: 'No.', tool_calls: [] })
  })

  test('calls that end with "stop", as forced ones do, are calls', async () => {
    const reply = await replyTo(
      call({ index: 0, id: 'a', function: { name: 'n', arguments: '{}' } }),
      choice({}, 'stop'),
    )
    expect(reply).toMatchObject({ finish_reason: 'tool_calls', tool_calls: [{ id: 'a' }] })
  })

  test('whole calls without an index are told apart', async () => {
    const reply = await replyTo(
      call({ id: 'a', function: { name: 'n', arguments: '{}' } }),
      call({ id: 'b', function: { name: 'n', arguments: '{}' } }),
      FINISH,
    )
    expect(reply.tool_calls.map(({ id }) => id)).toEqual(['a', 'b'])
  })

  test('thinking is not part of the reply, in a member of its own or as a part', async () => {
    const reply = await replyTo(
      choice({ reasoning_content: 'hm' }),
      choice({
        content: [
          { type: 'thinking', thinking: [] },
          { type: 'text', text: 'yes' },
        ],
      }),
      choice({}, 'stop'),
    )
    expect(reply.content).toBe('yes')
  })

  test.each([
    [
      { prompt_tokens: 5, completion_tokens: 2 },
      { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    ],
    [
      { prompt_tokens: 5, completion_tokens: 2, total_tokens: 9 },
      { prompt_tokens: 5, completion_tokens: 2, total_tokens: 9 },
    ],
    [
      { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7.5 },
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    ],
    [
      { prompt_tokens: -1, completion_tokens: 2 },
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    ],
    [
      { prompt_tokens: '5', completion_tokens: 2 },
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    ],
    [{ completion_tokens: 2 }, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
  ])('usage %j is read as %j', async (usage, read) => {
    expect((await replyTo(choice({ content: 'x' }, 'stop'), { choices: [], usage })).usage).toEqual(read)
  })

  test.each([
    [{ code: 429, message: 'slow' }, 'PROVIDER_RATE_LIMITED'],
    [{ code: 502, message: 'gone' }, 'PROVIDER_ERROR'],
    [{ type: 'server_error', message: 'oops' }, 'PROVIDER_ERROR'],
    [{ code: 'context_length_exceeded', message: 'x' }, 'PROVIDER_CONTEXT_OVERFLOW'],
    ['just words', 'PROVIDER_ERROR'],
  ])('the error %j inside a stream is %s', async (error, code) => {
    const chunks = [choice({ content: 'x' }), { error, choices: [] }, choice({}, 'stop')]
    expect((await faultOf(replyTo(...chunks))).code).toBe(code)
  })

  test('an error inside a success without a stream is that error', async () => {
    const raw = JSON.stringify({ error: { code: 429, message: 'slow' } })
    const fault = await faultOf(ask(protocol, { raw, contentType: 'application/json; charset=utf-8' }))
    expect(fault.code).toBe('PROVIDER_RATE_LIMITED')
  })

  test('a finish reason of "error" is a provider error', async () => {
    expect((await faultOf(replyTo(choice({ content: 'x' }, 'error')))).code).toBe('PROVIDER_ERROR')
  })
})
