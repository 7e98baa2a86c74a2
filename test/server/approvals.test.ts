/** The routes of the approvals, over real sockets, on a real queue. */
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defaultContract, preparedCall } from '../../src/calls/index.ts'
import { canonical, type JsonObject } from '../../src/core/index.ts'
import {
  type ApprovalAnswer,
  ApprovalQueue,
  escalationGate,
  type HeldAction,
  permissiveGate,
  type QueueChange,
  reviewDigest,
  reviewText,
} from '../../src/policy/index.ts'
import { approvalStream, STREAMS_MAX } from '../../src/server/approval-stream.ts'
import type { ApprovalDesk } from '../../src/server/index.ts'
import { run } from '../policy/support.ts'
import { AGENT, OTHER_AGENT } from '../support/key-files.ts'
import { scratch } from '../support/scratch.ts'
import { ADMIN, type Envelope, type Fixture, fixture, OTHER, SCOPED, until } from '../support/server-fixture.ts'
import { testWorld } from '../support/test-world.ts'

const place = scratch()
const open = permissiveGate(() => undefined)

interface Made extends Fixture {
  readonly queue: ApprovalQueue
  /** Who listens to it through the server. */
  readonly listeners: ReadonlySet<(change: QueueChange) => void>
  /** A call of the agent that waits for a decision. */
  hold(
    args?: JsonObject,
    agent?: string,
    signal?: AbortSignal,
  ): Promise<{ id: string; answer: Promise<ApprovalAnswer> }>
  post(path: string, body?: string, token?: string): Promise<Response>
}

async function made(options: Parameters<typeof fixture>[0] = {}): Promise<Made> {
  const queue = await ApprovalQueue.open(testWorld(), place.path('approvals'))
  onTestFinished(() => queue[Symbol.asyncDispose]())
  const listeners = new Set<(change: QueueChange) => void>()
  const desk: ApprovalDesk = {
    list: () => queue.list(),
    recall: (id) => queue.recall(id),
    resolve: (id, decision, approver) => queue.resolve(id, decision, approver),
    subscribe: (listener) => {
      listeners.add(listener)
      const stop = queue.subscribe(listener)
      return () => {
        listeners.delete(listener)
        stop()
      }
    },
  }
  const base = await fixture({ approvals: desk, ...options })
  const gate = escalationGate(open, queue)
  return {
    ...base,
    queue,
    listeners,
    hold: async (args = { amount: 5 }, agent = AGENT, signal = new AbortController().signal) => {
      const contract = { ...defaultContract({ name: 'pay', description: '', parameters: {} }), requires_approval: true }
      const action = { ToolCall: { call_id: 'c1', name: 'pay', arguments: canonical(args) } }
      const call = preparedCall({ action, arguments: args, contract })
      const held = new Promise<string>((resolve) => {
        const stop = queue.subscribe(({ kind, action: shown }) => {
          if (kind !== 'held') return
          stop()
          resolve(shown.id)
        })
      })
      const asking = run({ agent_id: agent as never })
      const answer = gate.approve({ call, run: asking, approval: null, presented: null, remainingMs: 100_000 }, signal)
      return { id: await held, answer }
    },
    post: (path, body, token = ADMIN) =>
      base.get(`/api/v1/approvals/${path}`, token, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body }),
      }),
  }
}

const errorOf = async (response: Response): Promise<readonly [number, string, string]> => {
  const { code, error } = (await response.json()) as Envelope
  return [response.status, code, error]
}

describe('the list of held actions', () => {
  test('shows an admin all that is pending, with exactly the members that clients know', async () => {
    await using server = await made()
    const { id } = await server.hold()
    await server.hold({ amount: 6 }, OTHER_AGENT)
    const response = await server.get('/api/v1/approvals')
    const list = (await response.json()) as readonly HeldAction[]
    expect(response.status).toBe(200)
    expect(list.map(({ agent_id }) => agent_id)).toEqual([AGENT, OTHER_AGENT])
    expect(list[0]).toEqual(server.queue.find(id))
    expect(Object.keys(list[0] as object).sort()).toEqual([
      'agent_id',
      'context_snapshot',
      'created_at',
      'expires_at',
      'id',
      'kind',
      'reason',
      'status',
      'summary',
    ])
    await server.queue.resolve(id, { decision: 'deny' }, { surface: 'tui', id: 'x', display: 'x' })
    expect(await (await server.get('/api/v1/approvals')).json()).toHaveLength(1)
  })

  test('shows a scoped key what its own agents asked, and the rest does not exist for it', async () => {
    await using server = await made()
    const own = await server.hold()
    const other = await server.hold({ amount: 6 }, OTHER_AGENT)
    const list = (await (await server.get('/api/v1/approvals', SCOPED)).json()) as readonly HeldAction[]
    expect(list.map(({ id }) => id)).toEqual([own.id])
    expect((await server.get(`/api/v1/approvals/${own.id}`, SCOPED)).status).toBe(200)
    const hidden = await errorOf(await server.get(`/api/v1/approvals/${other.id}`, SCOPED))
    expect(hidden).toEqual(await errorOf(await server.get('/api/v1/approvals/ffffffffffffffff', SCOPED)))
    expect(hidden).toEqual([404, 'not_found', 'Held action not found'])
    expect((await server.get('/api/v1/approvals', null)).status).toBe(401)
  })

  test('leaves a long snapshot to the request for that one action', async () => {
    await using server = await made()
    const { id } = await server.hold({ text: 'x'.repeat(20_000) })
    const [listed] = (await (await server.get('/api/v1/approvals')).json()) as readonly HeldAction[]
    expect(listed).toMatchObject({ id, context_snapshot: null })
    const shown = (await (await server.get(`/api/v1/approvals/${id}`)).json()) as HeldAction
    expect(shown.context_snapshot).toEqual(server.queue.find(id)?.context_snapshot)
  })
})

test('one action comes with its review text and its digest, also once it has ended', async () => {
  await using server = await made()
  const { id, answer } = await server.hold({ note: 'a\u202eb' })
  const held = server.queue.find(id) as HeldAction
  const review = { review: reviewText(held), review_digest: reviewDigest(held) }
  expect(await (await server.get(`/api/v1/approvals/${id}`)).json()).toEqual({ ...held, ...review })
  expect((await server.post(`${id}/deny`)).status).toBe(200)
  await answer
  await server.queue.withdraw('')
  expect(await (await server.get(`/api/v1/approvals/${id}`)).json()).toEqual({ ...held, status: 'denied', ...review })
})

describe('a decision', () => {
  test.each([
    ['approve', 'Approved'],
    ['deny', 'Refused'],
  ])('to %s is answered with 200 and nothing else, and reaches who waits', async (decision, kind) => {
    await using server = await made()
    const { id, answer } = await server.hold()
    const response = await server.post(`${id}/${decision}`)
    expect([response.status, await response.text()]).toEqual([200, ''])
    expect((await answer).kind).toBe(kind)
  })

  test('is recorded under the key that gave it, whatever the body says', async () => {
    await using server = await made()
    const { id, answer } = await server.hold()
    await server.post(`${id}/approve`, '{"approver":"me","reason":"fine","surface":"tui"}', OTHER)
    const given = await answer
    expect(given.kind === 'Approved' && given.approval.resolution.approver).toEqual({
      surface: 'rest',
      id: 'other',
      display: 'other',
    })
  })

  test('under the legacy token is recorded as the operator’s', async () => {
    await using server = await made({ records: [], access: { legacyToken: 'a-legacy-token-of-some-length' } })
    const { id, answer } = await server.hold()
    await server.post(`${id}/approve`, undefined, 'a-legacy-token-of-some-length')
    const given = await answer
    expect(given.kind === 'Approved' && given.approval.resolution.approver).toEqual({
      surface: 'rest',
      id: 'operator',
      display: 'operator',
    })
  })

  test('tells its reason to who asked', async () => {
    await using server = await made()
    const { id, answer } = await server.hold()
    await server.post(`${id}/deny`, '{"reason":"not on a Friday"}')
    expect(await answer).toMatchObject({ reason: 'the approval was denied: not on a Friday' })
  })

  test('is refused once it was made, once it is too late, and for what never was or is gone [Q1]', async () => {
    await using server = await made()
    const first = await server.hold()
    await server.post(`${first.id}/deny`)
    expect(await errorOf(await server.post(`${first.id}/approve`))).toEqual([
      409,
      'already_resolved',
      'Held action already resolved',
    ])
    const leaving = new AbortController()
    const gone = await server.hold({ amount: 6 }, AGENT, leaving.signal)
    leaving.abort(new Error('gone'))
    for (const id of [gone.id, 'ffffffffffffffff', 'x', encodeURIComponent('../../etc')]) {
      expect(await errorOf(await server.post(`${id}/approve`))).toEqual([404, 'not_found', 'Held action not found'])
    }
    const late = await server.hold({ amount: 7 })
    ;(server.queue.world as ReturnType<typeof testWorld>).advance(120_000)
    expect(await errorOf(await server.post(`${late.id}/approve`))).toEqual([410, 'expired', 'Held action expired'])
    expect((await late.answer).kind).toBe('Refused')
  })

  test('of two that come together one is taken, and the other hears that [Q1]', async () => {
    await using server = await made()
    const { id, answer } = await server.hold()
    const both = await Promise.all([server.post(`${id}/approve`), server.post(`${id}/deny`)])
    const [won] = both.filter(({ status }) => status === 200)
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await answer).kind).toBe(won === both[0] ? 'Approved' : 'Refused')
  })

  test('by a scoped key is refused, also for its own agent', async () => {
    await using server = await made()
    const { id } = await server.hold()
    for (const decision of ['approve', 'deny']) {
      const refused = await server.post(`${id}/${decision}`, undefined, SCOPED)
      expect((await errorOf(refused)).slice(0, 2)).toEqual([403, 'ADMIN_REQUIRED'])
    }
    expect(server.queue.list()).toHaveLength(1)
  })

  test('with the digest of another text decides nothing, and with the right one it does', async () => {
    await using server = await made()
    const { id } = await server.hold()
    const other = await server.hold({ amount: 500 })
    const digest = reviewDigest(server.queue.find(id) as HeldAction)
    expect(await errorOf(await server.post(`${other.id}/approve`, JSON.stringify({ digest })))).toMatchObject([
      422,
      'INVALID_REQUEST',
      expect.stringContaining('another review text'),
    ])
    expect(server.queue.find(other.id)).toMatchObject({ status: 'pending' })
    expect((await server.post(`${id}/approve`, JSON.stringify({ digest }))).status).toBe(200)
  })

  test.each([
    ['a reason that is no text', '{"reason":5}', 422],
    ['a digest that is none', '{"digest":"short"}', 422],
    ['a body that is no object', '[]', 422],
    ['two reasons', '{"reason":"a","reason":"b"}', 400],
    ['a long reason', `{"reason":"${'x'.repeat(5_000)}"}`, 422],
    ['a very long one', `{"reason":"${'x'.repeat(20_000)}"}`, 413],
  ])('with %s is refused, and nothing is decided', async (_, body, status) => {
    await using server = await made()
    const { id } = await server.hold()
    expect((await server.post(`${id}/approve`, body)).status).toBe(status)
    expect(server.queue.find(id)).toMatchObject({ status: 'pending' })
  })
})

describe('the stream of changes', () => {
  test('begins with what is held, and tells each change with its id', async () => {
    await using server = await made()
    const before = await server.hold({ amount: 1 })
    await using stream = await events(server)
    expect(await stream.next()).toMatchObject({ event: 'list', data: [{ id: before.id, context_snapshot: null }] })
    const denied = await server.hold({ amount: 2 })
    expect(await stream.next()).toMatchObject({ event: 'held', data: { id: denied.id, status: 'pending' } })
    await server.post(`${denied.id}/deny`)
    expect(await stream.next()).toMatchObject({ event: 'resolved', data: { id: denied.id, status: 'denied' } })
    const leaving = new AbortController()
    const left = await server.hold({ amount: 3 }, AGENT, leaving.signal)
    expect(await stream.next()).toMatchObject({ event: 'held', data: { id: left.id } })
    leaving.abort(new Error('gone'))
    expect(await stream.next()).toMatchObject({ event: 'withdrawn', data: { id: left.id } })
    ;(server.queue.world as ReturnType<typeof testWorld>).advance(120_000)
    expect(server.queue.list()).toEqual([])
    expect(await stream.next()).toMatchObject({ event: 'expired', data: { id: before.id, status: 'expired' }, id: '6' })
  })

  test('has the headers of an event stream and of every answer, and is an admin’s', async () => {
    await using server = await made()
    await using stream = await events(server)
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(stream.response.headers.get('cache-control')).toBe('no-store')
    expect(stream.response.headers.get('x-frame-options')).toBe('DENY')
    expect((await server.get('/api/v1/approvals/stream', SCOPED)).status).toBe(403)
    expect((await server.get('/api/v1/approvals/stream', ADMIN, { method: 'HEAD' })).status).toBe(200)
  })

  test('beats while nothing happens, and ends once its key was revoked', async () => {
    const world = testWorld()
    const timers: (() => void)[] = []
    const clock = {
      timer: (_: number, fire: () => void) => {
        timers.push(fire)
        return () => undefined
      },
    }
    const written: string[] = []
    let current = true
    const desk = await ApprovalQueue.open(world, place.path('approvals'))
    const { stream } = approvalStream(desk, clock)(async () => current)
    const ended = stream?.({ write: (text) => written.push(text) > 0, ended: new AbortController().signal })
    timers.pop()?.()
    await until(() => written.length === 2 && timers.length === 1)
    expect(written[1]).toBe(': still here\n\n')
    current = false
    timers.pop()?.()
    await ended
    expect(written).toHaveLength(2)
  })

  test('begins anew after a reconnect, and leaves no listener behind', async () => {
    await using server = await made()
    const first = await events(server)
    await first.next()
    await first[Symbol.asyncDispose]()
    await until(() => server.listeners.size === 0)
    const { id } = await server.hold()
    await using second = await events(server)
    expect(await second.next()).toMatchObject({ event: 'list', data: [{ id }] })
  })

  test(`is opened ${STREAMS_MAX} times at most, and one that ended makes room`, async () => {
    await using server = await made()
    const streams = await Promise.all(Array.from({ length: STREAMS_MAX }, () => events(server)))
    expect((await errorOf(await server.get('/api/v1/approvals/stream'))).slice(0, 2)).toEqual([503, 'OVERLOADED'])
    await streams[0]?.[Symbol.asyncDispose]()
    let status = 503
    while (status === 503) {
      const again = await server.get('/api/v1/approvals/stream')
      status = again.status
      await again.body?.cancel()
    }
    expect(status).toBe(200)
    for (const stream of streams) await stream[Symbol.asyncDispose]()
  })

  test('ends when the server begins to shut down, which waits for nothing of it', async () => {
    await using server = await made()
    await using stream = await events(server)
    await stream.next()
    await server.server.close({ drainMs: 600_000 })
    expect(await stream.next()).toBeNull()
  })

  test('of a reader who does not read is closed, and the others go on', async () => {
    await using server = await made()
    const deaf = connect(server.server.port, server.server.host)
    onTestFinished(() => void deaf.destroy())
    deaf.on('error', () => undefined)
    deaf.write(`GET /api/v1/approvals/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ADMIN}\r\n\r\n`)
    await until(() => server.listeners.size === 1)
    await using stream = await events(server)
    await stream.next()
    let told = 0
    for (; server.listeners.size === 2; told += 1) {
      changeOf(server, 200_000)
      expect(await stream.next()).toMatchObject({ event: 'held' })
    }
    changeOf(server, 1)
    expect(await stream.next()).toMatchObject({ event: 'held', id: String(told + 2) })
    await until(() => server.lines.some(({ facts }) => (facts as { status?: unknown }).status === null))
  })
})

test('a server without approvals has none of the routes', async () => {
  await using server = await fixture()
  expect((await server.get('/api/v1/approvals')).status).toBe(404)
})

/** Makes who listens hear of a change of this size, as if something had happened. */
function changeOf({ listeners }: Made, bytes: number): void {
  for (const listener of listeners) listener({ kind: 'held', action: { summary: 'x'.repeat(bytes) } as HeldAction })
}

interface Events extends AsyncDisposable {
  readonly response: Response
  /** The next event, or null at the end. */
  next(): Promise<{ readonly id: string; readonly event: string; readonly data: unknown } | null>
}

async function events(server: Fixture): Promise<Events> {
  const leaving = new AbortController()
  const response = await server.get('/api/v1/approvals/stream', ADMIN, { signal: leaving.signal })
  expect(response.status).toBe(200)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next: Events['next'] = async () => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end !== -1) {
        const lines = text.slice(0, end).split('\n')
        text = text.slice(end + 2)
        const of = (name: string): string =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
        if (lines[0]?.startsWith(':')) continue
        return { id: of('id'), event: of('event'), data: JSON.parse(of('data')) }
      }
      const chunk = await reader?.read()
      if (chunk === undefined || chunk.done) return null
      text += chunk.value
    }
  }
  return {
    response,
    next,
    [Symbol.asyncDispose]: async () => {
      leaving.abort()
    },
  }
}
