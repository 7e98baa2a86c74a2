/**
 * A chat from the socket to a model over HTTP and back: the provider code, the server, the policies and the journal are
 * the real ones; only the model's side of the network belongs to the test.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import type { AuditReference } from '../../src/events/index.ts'
import { anthropic, openAiCompatible, type Provider } from '../../src/runtime/index.ts'
import { recordedTool } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { anthropicEvents, startAnthropicServer } from '../support/anthropic-server.ts'
import type { ChatClient } from '../support/coordinator-fixture.ts'
import type { FakeReply, ModelScript, ModelServer, ReceivedRequest } from '../support/model-server.ts'
import { openAiEvents, startOpenAiServer } from '../support/openai-server.ts'
import { served } from '../support/served.ts'

const API_KEY = 'sk-test-only-4242'

interface Protocol {
  readonly name: string
  start(script: ModelScript | FakeReply): Promise<ModelServer>
  provider(server: ModelServer): Provider
  /** The text of the newest tool result in a request, or null. */
  toolResult(request: ReceivedRequest): string | null
  /** A stream that ends after a whole tool call, without a finish. */
  readonly unfinished: string
  /** The protocol's word for a reply that was cut by its length. */
  readonly cut: string
}

const endpoint = (server: ModelServer) => ({ baseUrl: server.baseUrl, apiKey: API_KEY, model: 'some-model' })

const PROTOCOLS: readonly Protocol[] = [
  {
    name: 'chat completions',
    start: startOpenAiServer,
    provider: (server) => openAiCompatible(endpoint(server), nodeWorld()),
    toolResult: ({ body }) => body.messages.findLast(({ role }: { role: string }) => role === 'tool')?.content ?? null,
    unfinished: openAiEvents(
      [
        {
          choices: [
            {
              index: 0,
              delta: {
                role: 'assistant',
                tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'note', arguments: '{}' } }],
              },
            },
          ],
        },
      ],
      false,
    ),
    cut: 'length',
  },
  {
    name: 'messages',
    start: startAnthropicServer,
    provider: (server) => anthropic(endpoint(server), nodeWorld()),
    toolResult: ({ body }) => {
      const parts = body.messages.flatMap(({ content }: { content: unknown }) =>
        Array.isArray(content) ? content : [],
      )
      const part = parts.findLast(({ type }: { type: string }) => type === 'tool_result')
      return part === undefined ? null : JSON.stringify(part.content)
    },
    unfinished: anthropicEvents([
      { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c1', name: 'note', input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
      { type: 'content_block_stop', index: 0 },
    ]),
    cut: 'max_tokens',
  },
]

const NOTE_POLICY = 'permit(principal, action == Action::"tool_call::note", resource);'

describe.each(PROTOCOLS)('$name', (protocol) => {
  const open: AsyncDisposable[] = []
  afterEach(async () => {
    for (const thing of open.splice(0).reverse()) await thing[Symbol.asyncDispose]()
  })

  async function chatWith(script: ModelScript | FakeReply, policies: Readonly<Record<string, string>>) {
    const model = await protocol.start(script)
    open.push(model)
    const note = recordedTool('note', { answer: async ({ line }) => `noted ${String(line)}` })
    const home = await served({ provider: protocol.provider(model), tools: [note], policies })
    open.push(home)
    return { model, note, home, client: await home.connect() }
  }

  test('a chat with a tool call, from the socket to the model and back, leaves a journal that verifies', async () => {
    const script: ModelScript = (request) => {
      const result = protocol.toolResult(request)
      if (result !== null) return { text: `The tool said ${result}`, usage: { prompt: 30, completion: 5 } }
      return { calls: [{ id: 'c1', name: 'note', arguments: { line: 'one' } }], usage: { prompt: 20, completion: 4 } }
    }
    const { model, note, home, client } = await chatWith(script, { note: NOTE_POLICY })
    const id = randomUUID()
    client.chat(id, 'Take a note')
    const audit = await opened(client)
    const final = await client.final()
    expect(final).toMatchObject({ type: 'ChatChunk', request_id: id, content: expect.stringContaining('noted one') })
    expect(note.ran).toEqual([{ line: 'one' }])
    expect(model.requests).toHaveLength(2)
    expect(await home.kinds(audit)).toEqual([
      'Started',
      'BudgetOpened',
      'BudgetReservationStarted',
      'BudgetReservationFinished',
      'ReasoningComplete',
      'PolicyEvaluated',
      'ToolDispatchStarted',
      'ToolDispatchFinished',
      'ToolsDispatched',
      'ToolBatchCompleted',
      'ObservationsCollected',
      'BudgetReservationStarted',
      'BudgetReservationFinished',
      'ReasoningComplete',
      'PolicyEvaluated',
      'ToolsDispatched',
      'ToolBatchCompleted',
      'ObservationsCollected',
      'BudgetUpdated',
      'Terminated',
    ])
    const entries = await home.entries(audit)
    expect(entries.at(-1)?.event).toMatchObject({
      reason: 'Completed',
      total_usage: { prompt_tokens: 50, completion_tokens: 9, total_tokens: 59 },
    })
    expect(JSON.stringify(entries)).not.toContain(API_KEY)
    client.chat(id, 'Take a note')
    expect(await opened(client)).toEqual(audit)
    expect(await client.final()).toEqual({ ...final, replayed: true })
    expect(model.requests).toHaveLength(2)
    expect(note.ran).toHaveLength(1)
    await client.close()
    await home.finish()
  })

  test('a call that policy does not permit is told to the model, and the tool never runs', async () => {
    const script: ModelScript = (request) => {
      const result = protocol.toolResult(request)
      return result === null ? { calls: [{ id: 'c1', name: 'note', arguments: {} }] } : { text: `I got ${result}` }
    }
    const { note, home, client } = await chatWith(script, {})
    client.chat(randomUUID())
    const audit = await opened(client)
    expect(await client.final()).toMatchObject({ type: 'ChatChunk', content: expect.stringContaining('denied') })
    expect(note.ran).toEqual([])
    expect(await home.kinds(audit)).not.toContain('ToolDispatchStarted')
    await client.close()
    await home.finish()
  })

  const call = (id: string) => ({ id, name: 'note', arguments: {} })
  const bad: readonly [string, FakeReply, RegExp][] = [
    ['cut by its length in a tool call', { calls: [call('c1')], finish: protocol.cut }, /cut|length|limit/],
    ['cut by its length in a text', { text: 'half of', finish: protocol.cut }, /cut|length|limit/],
    ['a stream that ends inside', { raw: protocol.unfinished }, /before the reply was complete|without a/],
    ['a stream that breaks', { raw: protocol.unfinished, end: 'destroy' }, /broke|before the reply was complete/],
    ['two calls of one id', { calls: [call('c1'), call('c1')] }, /the id of another call/],
    ['a call without an id', { calls: [call('')] }, /has no id/],
    ['a call with a blank id', { calls: [call('  ')] }, /has no id/],
    ['a call without a name', { calls: [{ id: 'c1', name: '', arguments: {} }] }, /has no name/],
    ['arguments cut short', { calls: [{ ...call('c1'), arguments: '{"line":"on' }] }, /not strict JSON/],
    ['arguments with equal names', { calls: [{ ...call('c1'), arguments: '{"a":1,"a":2}' }] }, /not strict JSON/],
    [
      'an integer beyond 2^53-1',
      { calls: [{ ...call('c1'), arguments: '{"a":9007199254740993}' }] },
      /not strict JSON/,
    ],
    ['arguments that are a list', { calls: [{ ...call('c1'), arguments: '[]' }] }, /not a JSON object/],
    ['nothing at all', { text: '' }, /answered with nothing/],
    ['a finish that nobody knows', { text: 'x', finish: 'because' }, /reason/],
    ['no stream', { status: 200, body: { hello: 'world' } }, /stream/],
    ['slow down', { status: 429, body: {} }, /\(429\)/],
    ['a failure', { status: 500, body: 'Traceback: sk-live-secret' }, /\(500\)/],
  ]
  test.each(bad)('a bad reply ends the run with its reason, and nothing runs: %s', async (_name, reply, reason) => {
    const { model, note, home, client } = await chatWith(reply, { note: NOTE_POLICY })
    const id = randomUUID()
    client.chat(id)
    const audit = await opened(client)
    const final = await client.final()
    expect(final).toMatchObject({ type: 'Error', code: 'LOOP_ERROR', request_id: id })
    expect(final.type === 'Error' && final.message).toMatch(reason)
    expect(final.type === 'Error' && final.message).not.toMatch(/sk-|127\.0\.0\.1|Traceback/)
    expect(note.ran).toEqual([])
    expect(model.requests).toHaveLength(1) // a failed inference is not repeated
    const entries = await home.entries(audit)
    expect(entries.at(-1)?.event).toMatchObject({ kind: 'Terminated', reason: { Error: expect.anything() } })
    expect(entries.map(({ event }) => event.kind)).not.toContain('ToolDispatchStarted')
    // the failure is recorded: the same id is answered from the record, and asks the model nothing
    client.inspect(id)
    expect(await opened(client)).toEqual(audit)
    expect(await client.final()).toEqual(final)
    expect(model.requests).toHaveLength(1)
    await client.close()
    await home.finish()
  })

  test('a client that leaves during the inference ends the request to the model, and the outcome stays unresolved', async () => {
    const { model, home, client } = await chatWith({ silent: true }, {})
    const id = randomUUID()
    client.chat(id)
    const audit = await opened(client)
    await model.asked(1)
    await client.close()
    expect(await model.requests[0]?.closed).toBe(false)
    const second = await home.connect()
    for (let answer = 'INVOCATION_IN_PROGRESS'; answer === 'INVOCATION_IN_PROGRESS'; ) {
      second.inspect(id)
      const message = await second.final()
      answer = message.type === 'Error' ? message.code : message.type
      if (answer !== 'INVOCATION_IN_PROGRESS') expect(answer).toBe('INVOCATION_UNRESOLVED')
    }
    expect((await home.entries(audit)).at(-1)?.event.kind).toBe('Terminated')
    await second.close()
    await home.finish()
  })
})

async function opened(client: ChatClient): Promise<AuditReference> {
  const message = await client.next()
  expect(message.type).toBe('AuditOpened')
  return (message as Extract<typeof message, { type: 'AuditOpened' }>).audit
}
