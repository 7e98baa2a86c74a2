/** All that a tool client may send, to a broker over a session that notes which calls reach it. */

import type { RequestId } from '../../../src/broker/frame.ts'
import { FrameSplitter } from '../../../src/broker/frame-splitter.ts'
import { type BrokerParts, Connection, type Reply, ToolBroker } from '../../../src/broker/index.ts'
import {
  CODES,
  canonical,
  derivedId,
  type InvocationId,
  isJsonObject,
  isStoredId,
  type Json,
} from '../../../src/core/index.ts'
import type { BrokerCall } from '../../../src/session/index.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { REFERENCE } from '../../support/budget.ts'
import { must, pure, type Target } from '../target.ts'

const lines = (...frames: readonly object[]): string =>
  frames.map((frame) => `${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`).join('')
const hello = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
}
const ready = { method: 'notifications/initialized' }
const call = (id: RequestId, params: object): object => ({ id, method: 'tools/call', params })

export const brokerSession: Target = {
  name: 'broker-session',
  property:
    'each request has one answer under its own id, or none when it was cancelled; an error has a code of the table; a call reaches the session only behind a greeting, with a name and arguments that were sent, once; and nothing that a client sends is a failure of the broker',
  seeds: [
    lines(hello, ready, { id: 1, method: 'tools/list' }, call(2, { name: 'look', arguments: { a: 1 } })),
    lines(hello, ready, call('a', { name: 'look' }), call('a', { name: 'nothing', arguments: {} }), {
      id: 3,
      method: 'ping',
    }),
    lines(
      hello,
      ready,
      call(1, {
        name: 'look',
        _meta: { progressToken: 5, 'symbi/invocationId': '3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10' },
      }),
      { method: 'notifications/cancelled', params: { requestId: 1, reason: 'x' } },
    ),
    lines(
      hello,
      ready,
      call(1, { name: 'approval_status', arguments: { approval_id: '0123456789abcdef' } }),
      call(2, {
        name: 'call_with_approval',
        arguments: { approval_id: '0123456789abcdef', name: 'look', arguments: {} },
      }),
    ),
    lines(
      hello,
      ready,
      call(1, { name: 'fails' }),
      call(2, { name: 'denied', _meta: { callId: 'call_0123456789ABCDEF' } }),
      { id: 4, method: 'resources/list' },
    ),
    lines(call(1, { name: 'look' }), hello, hello, { method: 'notifications/symbi/close' }, call(2, { name: 'look' })),
  ],
  words: [
    '\n',
    '"id":',
    '"method":"tools/call"',
    '"method":"tools/list"',
    '"method":"ping"',
    '"method":"notifications/cancelled"',
    '"params":',
    '"name":"look"',
    '"arguments":',
    '"_meta":',
    '"progressToken":',
    '"requestId":',
    'approval_status',
    'call_with_approval',
    '0123456789abcdef',
    '"cursor":',
    'null',
  ],
  bytesMax: 4096,
  steps: { fixed: 40_000, perByte: 400 },
  open: () => pure(check),
}

const world = nodeWorld()

interface Asked {
  readonly id: RequestId | null
  readonly answers: Json[]
  dropped: boolean
}

async function check(input: Uint8Array): Promise<void> {
  const calls: BrokerCall[] = []
  const ids: string[] = []
  const failures: string[] = []
  const connection = new Connection('c', { requestsMax: 16, requestsAtOnceMax: 8, trafficBytesMax: 64 * 1024 })
  const broker = new ToolBroker(partsFor(connection, calls, ids, failures))
  await broker.open()
  const asked: Asked[] = []
  const sent: Json[] = []
  let isGreeted = false
  const splitter = new FrameSplitter()
  const frames = [...splitter.push(input)]
  const rest = splitter.end()
  for (const { frame, bytes } of rest === null ? frames : [...frames, rest]) {
    const one: Asked = {
      id: frame.kind === 'Request' || frame.kind === 'Broken' ? frame.id : null,
      answers: [],
      dropped: false,
    }
    const mustAnswer = frame.kind === 'Request' || (frame.kind === 'Broken' && !connection.closed)
    if (mustAnswer) asked.push(one)
    if (frame.kind === 'Request' && frame.method === 'initialize') isGreeted = true
    if (isGreeted && frame.kind === 'Request' && frame.method === 'tools/call') sent.push(frame.params)
    connection.receive(frame, bytes, replyInto(one, mustAnswer))
    if (bytes % 2 === 0) await connection.idle() // some clients wait for an answer, others do not
  }
  await connection.idle()
  const wasClosed = connection.closed
  must((await broker.end()) === null, 'a session ends cleanly')
  must(failures.length === 0, `nothing that a client sends is a failure of the broker: ${failures.join('; ')}`)
  for (const one of asked) checkAnswer(one, wasClosed)
  checkCalls(calls, sent)
  must(ids.every(isStoredId), 'an id of a caller is a stored one')
}

function replyInto(one: Asked, isExpected: boolean): Reply {
  return {
    write: async (text, last) => {
      const message = JSON.parse(text) as Json
      must(isJsonObject(message) && message.jsonrpc === '2.0', 'what is sent is a message of the protocol')
      must(
        last ? 'id' in message : message.method === 'notifications/progress',
        'before the answer there is only progress',
      )
      if (last) must(isExpected, 'what asks nothing is answered nothing')
      if (last) one.answers.push(message)
    },
    drop: () => {
      one.dropped = true
    },
  }
}

function checkAnswer({ id, answers, dropped }: Asked, wasClosed: boolean): void {
  must(
    answers.length === (dropped ? 0 : 1) || (wasClosed && answers.length <= 1),
    `a request has one answer, and ${JSON.stringify(id)} has ${answers.length}`,
  )
  const [answer] = answers
  if (!isJsonObject(answer)) return
  must(answer.id === id, 'an answer has the id of its request')
  const { error, result } = answer
  if (isJsonObject(error)) {
    const { data } = error
    must(
      isJsonObject(data) && Object.hasOwn(CODES, String(data.code)),
      `an error has a code of the table: ${canonical(error)}`,
    )
    return
  }
  must(isJsonObject(result), 'an answer is a result or an error')
  if (result.isError !== true || !isJsonObject(result.structuredContent)) return
  must(Object.hasOwn(CODES, String(result.structuredContent.code)), 'a result that failed has a code of the table')
}

/** Each call that was made is one that was sent, and none is made twice. */
function checkCalls(calls: readonly BrokerCall[], sent: readonly Json[]): void {
  must(new Set(calls.map(({ call_id }) => call_id)).size === calls.length, 'every call has an id of its own')
  const left = sent.flatMap((params) => {
    if (!isJsonObject(params)) return []
    const inner = isJsonObject(params.arguments) && params.name === 'call_with_approval' ? params.arguments : params
    return [canonical([inner.name ?? null, inner.arguments ?? {}])]
  })
  for (const { name, arguments: args } of calls) {
    const at = left.indexOf(canonical([name, args]))
    must(at !== -1, `a call that is made was sent: ${name}`)
    left.splice(at, 1)
  }
}

function partsFor(connection: Connection, calls: BrokerCall[], ids: string[], failures: string[]): BrokerParts {
  const ended = new AbortController()
  const answer = async (made: BrokerCall) => {
    calls.push(made)
    await Promise.resolve()
    if (made.name === 'look') return { source: 'look', content: 'seen', is_error: false }
    return {
      source: made.name,
      content: 'denied',
      is_error: true,
      metadata: { effect_outcome: 'known', code: 'POLICY_DENIED' },
    }
  }
  const definitions = [{ name: 'look', description: 'looks', parameters: { type: 'object' } }]
  return {
    clock: world.clock,
    connection,
    sessionId: 's',
    version: '1',
    session: {
      definitions,
      permitted: async () => definitions,
      principal: derivedId('agent', '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10', 'a'),
      ended: ended.signal,
      failureReason: null,
      call: answer,
      close: async () => ended.abort(),
    } as BrokerParts['session'],
    held: {
      find: (id) =>
        id.startsWith('0') ? { status: 'pending', expires_at: '2026-03-04T10:11:12.131Z' as never } : null,
      isSpent: () => false,
    },
    identified: {
      call: async (id: InvocationId, made: BrokerCall) => {
        ids.push(id)
        return { kind: 'Recorded', observation: await answer(made), audit: REFERENCE, replayed: false, hint: null }
      },
    } as BrokerParts['identified'],
    report: (what, error) => {
      failures.push(`${what}: ${error instanceof Error ? `${error.name} ${error.message}` : String(error)}`)
    },
  }
}
