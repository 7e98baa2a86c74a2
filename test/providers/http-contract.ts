/**
 * What every HTTP maker of the Provider port does, over real sockets. The format of each protocol has tests of its own
 * beside this one.
 */
import { createServer } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { type Code, Fault } from '../../src/core/index.ts'
import type { ToolDefinition } from '../../src/events/index.ts'
import type { EndpointOptions } from '../../src/providers/index.ts'
import type { Conversation, InferenceOptions, Provider } from '../../src/providers/port.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import type { FakeReply, ModelScript, ModelServer, SpokenReply } from '../support/model-server.ts'

export const KEY = 'sk-secret-0123456789'
export const PROMPT = 'the quick brown prompt'
export const UPSTREAM = 'upstream-body-text'

export const CONVERSATION: Conversation = { messages: [{ role: 'user', content: PROMPT }] }
export const OPTIONS: InferenceOptions = { max_tokens: 100, temperature: 0.3, response_format: { type: 'text' } }
export const TOOL: ToolDefinition = {
  name: 'system_health',
  description: 'Tells how the system is',
  parameters: { type: 'object', properties: { depth: { type: 'integer' } }, additionalProperties: false },
}

export interface Protocol {
  readonly name: string
  readonly make: (options: EndpointOptions, world: World) => Provider
  readonly start: (script: ModelScript | FakeReply) => Promise<ModelServer>
  readonly stream: (reply: SpokenReply) => string
  /** The call `c` of `n` with `{"a":"é"}`, in as few bytes as the format allows: every one of them is tried. */
  readonly shortCall: string
  /** The path below the base URL. */
  readonly path: string
  readonly cutFinish: string
  readonly refusalFinish: FakeReply
}

export const never = (): AbortSignal => new AbortController().signal

export async function ask(
  protocol: Protocol,
  reply: ModelScript | FakeReply,
  more: { options?: Partial<EndpointOptions>; inference?: Partial<InferenceOptions>; conversation?: Conversation } = {},
) {
  await using server = await protocol.start(reply)
  const provider = protocol.make({ baseUrl: server.baseUrl, apiKey: KEY, model: 'm-1', ...more.options }, nodeWorld())
  return await provider.complete(more.conversation ?? CONVERSATION, { ...OPTIONS, ...more.inference }, never())
}

/** The Fault that this reply ends in. It never holds the key, the prompt or what the other side wrote. */
export async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if (!('error' in outcome)) throw new Error(`it proposed ${JSON.stringify(outcome.value)}`)
  const { error } = outcome
  if (!(error instanceof Fault)) throw error
  for (const text of everyTextOf(error)) {
    for (const secret of [KEY, PROMPT, UPSTREAM]) expect(text).not.toContain(secret)
  }
  return error
}

function everyTextOf(error: Fault): string[] {
  const texts = [error.message, error.hint ?? '', JSON.stringify(error.facts), error.stack ?? '']
  expect(error.cause).toBeUndefined()
  return texts
}

export function httpContract(protocol: Protocol): void {
  const { name } = protocol
  const calls = [
    { id: 'call-1', name: 'system_health', arguments: '{"depth": 1, "note":"a \\"b\\" \\u00e9 é 🦊"}' },
    { id: 'call-2', name: 'list_agents', arguments: '{}' },
  ]

  describe(`${name}: replies`, () => {
    test('a text reply arrives whole, with its usage and the model that wrote it', async () => {
      expect(
        await ask(protocol, { text: 'All is well 🦊.', model: 'm-1-2026', usage: { prompt: 11, completion: 4 } }),
      ).toEqual({
        content: 'All is well 🦊.',
        tool_calls: [],
        finish_reason: 'stop',
        usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 },
        model: 'm-1-2026',
      })
    })

    test('a tool call keeps its id, its name and its argument text to the byte', async () => {
      const reply = await ask(protocol, { text: 'I look.', calls: [calls[0]!] })
      expect(reply).toMatchObject({ content: 'I look.', finish_reason: 'tool_calls' })
      expect(reply.tool_calls).toEqual([calls[0]])
    })

    test('parallel tool calls arrive in the order of the model', async () => {
      expect((await ask(protocol, { calls })).tool_calls).toEqual(calls)
    })

    test.each([1, 2, 3, 7, 64])('a reply that arrives in pieces of %i bytes is the same reply', async (pieceBytes) => {
      const reply = await ask(protocol, { text: 'Ünïcødé 🦊', calls, pieceBytes })
      expect(reply).toMatchObject({ content: 'Ünïcødé 🦊', tool_calls: calls })
    })

    test('blank arguments stand for none', async () => {
      const reply = await ask(protocol, { calls: [{ id: 'c', name: 'list_agents', arguments: '' }] })
      expect(reply.tool_calls).toEqual([{ id: 'c', name: 'list_agents', arguments: '{}' }])
    })

    test('a reply without usage has usage zero', async () => {
      const reply = await ask(protocol, { text: 'x', usage: null })
      expect(reply.usage).toEqual({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
    })

    test('a reply with a fraction in its usage has usage zero', async () => {
      const reply = await ask(protocol, { text: 'x', usage: { prompt: 1.5, completion: 2 } })
      expect(reply.usage).toEqual({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
    })

    test('comments, empty events and any line end are read as the stream format says', async () => {
      const stream = `: a comment\r\n\r\n${protocol.stream({ text: 'hello' }).replaceAll('\n', '\r\n')}`
      expect(await ask(protocol, { raw: stream })).toMatchObject({ content: 'hello' })
      expect(await ask(protocol, { raw: stream.replaceAll('\r\n', '\r') })).toMatchObject({ content: 'hello' })
    })

    test('a server that keeps the connection open after the end mark does not hold the reply', async () => {
      await using server = await protocol.start({ raw: protocol.stream({ text: 'done' }), end: 'stay-open' })
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
      const reply = await provider.complete(CONVERSATION, OPTIONS, never())
      expect(reply.content).toBe('done')
      expect(await server.requests[0]?.closed).toBe(false) // let go, rather than kept for nothing
    })

    test('a refusal is told as such and carries no calls', async () => {
      expect(await ask(protocol, protocol.refusalFinish)).toMatchObject({ finish_reason: 'refusal', tool_calls: [] })
    })

    test('two inferences at once do not mix', async () => {
      await using server = await protocol.start((request) => ({
        text: JSON.stringify(request.body).includes('first') ? 'one' : 'two',
      }))
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm-1' }, nodeWorld())
      const say = (content: string) =>
        provider.complete({ messages: [{ role: 'user', content }] }, OPTIONS, never()).then((reply) => reply.content)
      expect(await Promise.all([say('first'), say('second')])).toEqual(['one', 'two'])
    })
  })

  describe(`${name}: requests`, () => {
    test('the request goes to the base URL with the key, asks for a stream, and names model and limits', async () => {
      await using server = await protocol.start({ text: 'x' })
      const options = { baseUrl: `${server.baseUrl}/`, apiKey: KEY, model: 'm-1', headers: { 'x-team': 'blue' } }
      await protocol.make(options, nodeWorld()).complete(CONVERSATION, OPTIONS, never())
      const [request] = server.requests
      expect(request).toMatchObject({ method: 'POST', path: `/v1${protocol.path}`, headers: { 'x-team': 'blue' } })
      expect(JSON.stringify(request?.headers)).toContain(KEY)
      expect(request?.body).toMatchObject({ model: 'm-1', stream: true, max_tokens: 100, temperature: 0.3 })
    })

    test('a model named in the options replaces the default', async () => {
      await using server = await protocol.start({ text: 'x' })
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm-1' }, nodeWorld())
      await provider.complete(CONVERSATION, { ...OPTIONS, model: 'm-2' }, never())
      expect(server.requests[0]?.body.model).toBe('m-2')
      expect(provider).toMatchObject({ defaultModel: 'm-1' })
    })

    test('without a key no credential is sent, whatever the environment holds', async () => {
      vi.stubEnv('ANTHROPIC_API_KEY', 'env-key')
      vi.stubEnv('ANTHROPIC_BASE_URL', 'http://127.0.0.1:9')
      vi.stubEnv('OPENAI_API_KEY', 'env-key')
      try {
        await using server = await protocol.start({ text: 'x' })
        await protocol
          .make({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
          .complete(CONVERSATION, OPTIONS, never())
        const headers = server.requests[0]?.headers ?? {}
        expect(headers).not.toHaveProperty('authorization')
        expect(headers).not.toHaveProperty('x-api-key')
        expect(JSON.stringify(headers)).not.toContain('env-key')
      } finally {
        vi.unstubAllEnvs()
      }
    })

    test('a request is sent once, and a failure is not repeated', async () => {
      await using server = await protocol.start({ status: 500, body: { error: { message: UPSTREAM } } })
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
      await faultOf(provider.complete(CONVERSATION, OPTIONS, never()))
      expect(server.requests).toHaveLength(1)
    })
  })

  describe(`${name}: replies that propose nothing`, () => {
    const stream = Buffer.from(protocol.shortCall)

    test.each(['end', 'destroy'] as const)(
      'a stream cut at any byte (%s) proposes nothing unless it is complete',
      async (end) => {
        await using server = await protocol.start((_request, index) => ({ raw: stream.subarray(0, index), end }))
        const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
        // Eight at a time: the server cuts each request one byte later than the one before it.
        const one = async () => (await faultOf(provider.complete(CONVERSATION, OPTIONS, never()))).code
        for (let cut = 0; cut < stream.length; cut += 8) {
          const batch = Array.from({ length: Math.min(8, stream.length - cut) }, one)
          for (const code of await Promise.all(batch)) expect(code).toBe('PROVIDER_PARSE_ERROR')
        }
        expect(server.requests).toHaveLength(stream.length)
      },
      60_000,
    )

    test('the whole of that stream is a proposal', async () => {
      const reply = await ask(protocol, { raw: stream })
      expect(reply.tool_calls).toEqual([{ id: 'c', name: 'n', arguments: '{"a":"é"}' }])
    })

    test('a reply cut by length is a fault, with calls and without', async () => {
      const finish = protocol.cutFinish
      for (const reply of [
        { text: 'half of a', finish },
        { calls, finish },
      ]) {
        const fault = await faultOf(ask(protocol, reply))
        expect(fault.code).toBe('PROVIDER_PARSE_ERROR')
        expect(fault.message).toMatch(/cut at the token limit$/)
      }
    })

    test('a connection that breaks after the finish reason and before the end mark is a fault [trap:provider-cut-stream]', async () => {
      const text = protocol.stream({ calls, usage: null })
      const whole = text.slice(0, text.trimEnd().lastIndexOf('\n\n') + 2) // all but the end mark
      for (const end of ['end', 'destroy'] as const) {
        expect((await faultOf(ask(protocol, { raw: whole, end }))).code).toBe('PROVIDER_PARSE_ERROR')
      }
    })

    test.each([
      ['text that is not JSON', '{"a":'],
      ['equal names', '{"a":1,"a":2}'],
      ['an integer that would be rounded', '{"a":9007199254740993}'],
      ['a lone surrogate', '{"a":"\\ud800"}'],
      ['the name __proto__', '{"__proto__":{}}'],
      ['something after the object', '{} {}'],
      ['an array', '[1]'],
      ['a string', '"x"'],
      ['null', 'null'],
      ['single quotes that a lenient reader would mend', "{'a':1}"],
      ['a trailing comma', '{"a":1,}'],
    ])('arguments that hold %s are a fault [trap:provider-raw-arguments]', async (_what, text) => {
      const fault = await faultOf(ask(protocol, { calls: [{ id: 'c', name: 'n', arguments: text }] }))
      expect(fault.code).toBe('PROVIDER_PARSE_ERROR')
      expect(fault.message).toMatch(/the arguments of tool call 1 of 1 are not/)
    })

    test.each([
      ['an empty id', [{ id: '', name: 'n', arguments: {} }], /tool call 1 of 1 has no id$/],
      ['a blank id', [{ id: ' ', name: 'n', arguments: {} }], /tool call 1 of 1 has no id$/],
      ['an empty name', [{ id: 'c', name: '', arguments: {} }], /tool call 1 of 1 has no name$/],
      [
        'the id of another call',
        [
          { id: 'c', name: 'n', arguments: {} },
          { id: 'c', name: 'm', arguments: {} },
        ],
        /tool call 2 of 2 has the id of another call$/,
      ],
    ])('a call with %s is a fault [trap:provider-call-ids]', async (_what, broken, message) => {
      const fault = await faultOf(ask(protocol, { calls: broken }))
      expect(fault.code).toBe('PROVIDER_PARSE_ERROR')
      expect(fault.message).toMatch(message)
    })

    test('a finish reason that nobody knows is a fault', async () => {
      expect((await faultOf(ask(protocol, { text: 'x', finish: 'because' }))).code).toBe('PROVIDER_PARSE_ERROR')
    })

    test('a finish for tool calls without one is a fault', async () => {
      const finish = JSON.stringify(protocol.stream({ calls })).includes('tool_use') ? 'tool_use' : 'tool_calls'
      const fault = await faultOf(ask(protocol, { text: 'x', finish }))
      expect(fault.message).toMatch(/ended for tool calls and holds none$/)
    })

    test('a chunk that is not strict JSON is a fault, even when a later chunk finishes', async () => {
      for (const bad of [`{"a":"${UPSTREAM}"`, '{"a":1,"a":2}', '{"a":12345678901234567890}', '[]', 'null', 'hello']) {
        const fault = await faultOf(ask(protocol, { raw: `data: ${bad}\n\n${protocol.stream({ calls })}` }))
        expect([bad, fault.code]).toEqual([bad, 'PROVIDER_PARSE_ERROR'])
        expect(fault.message).toMatch(/a chunk of the stream is not/)
      }
    })

    test('bytes that are not UTF-8 are a fault and never a replacement character', async () => {
      const bytes = Buffer.from(protocol.stream({ text: 'hello?' }))
      bytes[bytes.indexOf('?')] = 0xff
      const fault = await faultOf(ask(protocol, { raw: bytes }))
      expect(fault.message).toMatch(/not valid UTF-8$/)
    })

    test('a reply longer than the bound is a fault', async () => {
      const fault = await faultOf(ask(protocol, { text: 'x'.repeat(5000) }, { options: { replyBytesMax: 4096 } }))
      expect(fault).toMatchObject({ code: 'PROVIDER_PARSE_ERROR' })
      expect(fault.message).toMatch(/longer than 4096 bytes$/)
    })

    test('by default a reply may hold 8 MiB and not a byte more', async () => {
      const filler = Buffer.alloc(1024 * 1024, `: ${'x'.repeat(1021)}\n`)
      const end = Buffer.from(protocol.stream({ text: 'late' }))
      const room = 8 * 1024 * 1024 - end.length
      const padded = (bytes: number): Buffer => {
        const body = Buffer.alloc(bytes, filler)
        body[bytes - 1] = 0x0a
        return Buffer.concat([body, end])
      }
      expect(await ask(protocol, { raw: padded(room) })).toMatchObject({ content: 'late' })
      expect((await faultOf(ask(protocol, { raw: padded(room + 1) }))).message).toMatch(/longer than 8388608 bytes$/)
    })

    test('an answer that is not a stream is a fault that says so', async () => {
      const json = { raw: '{"choices":[]}', contentType: 'application/json' }
      expect((await faultOf(ask(protocol, json))).message).toMatch(/one JSON value and no event stream$/)
      const page = { raw: '<html></html>', contentType: 'text/html' }
      expect((await faultOf(ask(protocol, page))).code).toBe('PROVIDER_PARSE_ERROR')
    })
  })

  describe(`${name}: failures`, () => {
    const error = (message: string) => ({ error: { message: `${message} ${UPSTREAM} ${KEY} ${PROMPT}`, type: 'x' } })
    test.each<[number, string, Code]>([
      [301, '', 'PROVIDER_INVALID_REQUEST'],
      [307, '', 'PROVIDER_INVALID_REQUEST'],
      [400, 'something is wrong', 'PROVIDER_INVALID_REQUEST'],
      [400, "This model's maximum context length is 8192 tokens", 'PROVIDER_CONTEXT_OVERFLOW'],
      [400, 'prompt is too long: 213462 tokens > 200000 maximum', 'PROVIDER_CONTEXT_OVERFLOW'],
      [400, 'The model `m-1` does not exist', 'PROVIDER_MODEL_UNAVAILABLE'],
      [401, 'Incorrect API key', 'PROVIDER_INVALID_REQUEST'],
      [402, 'no credit', 'PROVIDER_INVALID_REQUEST'],
      [403, 'forbidden', 'PROVIDER_INVALID_REQUEST'],
      [404, 'model "m-1" not found, try pulling it first', 'PROVIDER_MODEL_UNAVAILABLE'],
      [408, '', 'PROVIDER_TIMEOUT'],
      [413, '', 'PROVIDER_CONTEXT_OVERFLOW'],
      [422, 'unprocessable', 'PROVIDER_INVALID_REQUEST'],
      [429, 'slow down', 'PROVIDER_RATE_LIMITED'],
      [500, 'oops', 'PROVIDER_ERROR'],
      [502, 'bad gateway', 'PROVIDER_ERROR'],
      [503, 'overloaded', 'PROVIDER_MODEL_UNAVAILABLE'],
      [504, '', 'PROVIDER_TIMEOUT'],
      [529, 'Overloaded', 'PROVIDER_MODEL_UNAVAILABLE'],
    ])('status %i (%s) is %s', async (status, message, code) => {
      const headers: Record<string, string> = status < 400 ? { location: 'http://127.0.0.1:9/elsewhere' } : {}
      const fault = await faultOf(ask(protocol, { status, body: error(message), headers }))
      expect(fault).toMatchObject({ code, facts: { status } })
    })

    test.each<[Record<string, string>, number | null]>([
      [{ 'retry-after': '3' }, 3000],
      [{ 'retry-after-ms': '250', 'retry-after': '3' }, 250],
      [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
      [{ 'retry-after': 'soon' }, null],
      [{}, null],
    ])('a rate limit with %j tells retry_after_ms %j', async (headers, retry_after_ms) => {
      const fault = await faultOf(ask(protocol, { status: 429, body: error(''), headers }))
      expect(fault.facts).toMatchObject({ retry_after_ms })
    })

    test('an error body that is no JSON, endless or cut changes nothing', async () => {
      expect((await faultOf(ask(protocol, { status: 500, body: `<html>${UPSTREAM}` }))).code).toBe('PROVIDER_ERROR')
      const long = { status: 418, body: UPSTREAM.repeat(20_000) }
      expect((await faultOf(ask(protocol, long))).code).toBe('PROVIDER_INVALID_REQUEST')
    })

    test('a refused connection is a provider error that names the system error', async () => {
      const closed = createServer()
      await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
      const { port } = closed.address() as { port: number }
      await new Promise((resolve) => closed.close(resolve))
      const provider = protocol.make({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: KEY, model: 'm' }, nodeWorld())
      const fault = await faultOf(provider.complete(CONVERSATION, OPTIONS, never()))
      expect(fault).toMatchObject({ code: 'PROVIDER_ERROR', facts: { errno: 'ECONNREFUSED' } })
    })

    test('a server that never answers ends in a timeout, and is let go', async () => {
      await using server = await protocol.start({ silent: true })
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm', firstByteTimeoutMs: 50 }, nodeWorld())
      const fault = await faultOf(provider.complete(CONVERSATION, OPTIONS, never()))
      expect(fault.code).toBe('PROVIDER_TIMEOUT')
      await server.requests[0]?.closed
    })

    test('after a chunk that cannot be used the connection is closed', async () => {
      await using server = await protocol.start({ raw: 'data: {\n\n', end: 'stay-open' })
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
      await faultOf(provider.complete(CONVERSATION, OPTIONS, never()))
      expect(await server.requests[0]?.closed).toBe(false)
    })

    test('a stream that falls silent ends in a timeout, and is let go', async () => {
      const raw = protocol.stream({ calls }).slice(0, 200)
      await using server = await protocol.start({ raw, end: 'stay-open' })
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm', idleTimeoutMs: 50 }, nodeWorld())
      const fault = await faultOf(provider.complete(CONVERSATION, OPTIONS, never()))
      expect(fault.code).toBe('PROVIDER_TIMEOUT')
      expect(await server.requests[0]?.closed).toBe(false)
    })
  })

  describe(`${name}: abort`, () => {
    test('an aborted signal sends nothing and throws its reason', async () => {
      await using server = await protocol.start({ text: 'x' })
      const reason = new Error('already gone')
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
      await expect(provider.complete(CONVERSATION, OPTIONS, AbortSignal.abort(reason))).rejects.toBe(reason)
      expect(server.requests).toHaveLength(0)
    })

    test('an abort before the headers throws the reason, and the server sees the connection close', async () => {
      const abort = new AbortController()
      const reason = new Error('enough')
      await using server = await protocol.start(() => {
        abort.abort(reason)
        return { silent: true }
      })
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld())
      await expect(provider.complete(CONVERSATION, OPTIONS, abort.signal)).rejects.toBe(reason)
      expect(await server.requests[0]?.closed).toBe(false)
    })

    test('an abort in the middle of the stream throws the reason, and the server sees the connection close', async () => {
      const abort = new AbortController()
      const reason = { why: 'any value can be a reason' }
      const raw = protocol.stream({ calls }).slice(0, 250)
      await using server = await protocol.start({ raw, end: 'stay-open' })
      const world = nodeWorld()
      // The first bytes have been read when the idle timer is armed: that is the middle of the stream.
      const timer: World['clock']['timer'] = (ms, callback, keepAlive) => {
        if (ms === 77_777) queueMicrotask(() => abort.abort(reason))
        return world.clock.timer(ms, callback, keepAlive)
      }
      const watched = { ...world, clock: { ...world.clock, timer } }
      const provider = protocol.make({ baseUrl: server.baseUrl, model: 'm', idleTimeoutMs: 77_777 }, watched)
      await expect(provider.complete(CONVERSATION, OPTIONS, abort.signal)).rejects.toBe(reason)
      expect(await server.requests[0]?.closed).toBe(false)
    })

    test('a finished inference leaves no listener on the signal', async () => {
      const { signal } = new AbortController()
      let listeners = 0
      const add = signal.addEventListener.bind(signal)
      const remove = signal.removeEventListener.bind(signal)
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        listeners += 1
        add(...args)
      }
      signal.removeEventListener = (...args: Parameters<typeof remove>) => {
        listeners -= 1
        remove(...args)
      }
      await using server = await protocol.start({ text: 'x' })
      await protocol.make({ baseUrl: server.baseUrl, model: 'm' }, nodeWorld()).complete(CONVERSATION, OPTIONS, signal)
      expect(listeners).toBe(0)
    })
  })

  describe(`${name}: options`, () => {
    test.each([
      ['a key that no header can carry', { apiKey: `${KEY}\nx: y` }],
      ['a base URL that is none', { baseUrl: 'localhost' }],
      ['a base URL of another scheme', { baseUrl: 'ftp://127.0.0.1' }],
      ['a base URL that holds a credential', { baseUrl: `http://user:${KEY}@127.0.0.1` }],
      ['a base URL with a query', { baseUrl: `http://127.0.0.1/?key=${KEY}` }],
      ['a header that no request can carry', { headers: { 'x-y': `${KEY}\n` } }],
      ['a blank model', { model: ' ' }],
      ['a deadline of zero', { firstByteTimeoutMs: 0 }],
      ['a deadline that is not a number', { idleTimeoutMs: Number.NaN }],
    ])('%s is refused when the provider is made', async (_what, options) => {
      const make = async () => protocol.make({ model: 'm', ...options }, nodeWorld())
      expect((await faultOf(make())).code).toBe('CONFIG_INVALID')
    })
  })
}
