import { describe, expect, test } from 'vitest'
import {
  authorizationBinding,
  defaultContract,
  preparedCall,
  runKeyOf,
  sessionBinding,
  spendApproval,
} from '../../../src/calls/index.ts'
import { canonical, type JsonObject } from '../../../src/core/index.ts'
import {
  type ApprovalAnswer,
  type Gate,
  type GateQuestion,
  heldGate,
  permissiveGate,
  QUEUE_LIMITS,
} from '../../../src/policy/index.ts'
import { testWorld } from '../../../src/testing/index.ts'
import { faultyWorld } from '../../support/faulty-world.ts'
import { scratch } from '../../support/scratch.ts'
import { OTHER_AGENT, run, toolQuestion } from '../support.ts'
import { APPROVE, DENY, deskIn, namesIn, OPERATOR, pay, settledIn } from './support.ts'

const place = scratch()
const never = new AbortController().signal
const open = permissiveGate(() => undefined)
const desk = () => deskIn(place.path('approvals'))

/** The same call, proposed again: its id is another one. */
function again(callId: string, args: JsonObject = { amount: 5 }, parts: Partial<GateQuestion> = {}): GateQuestion {
  const contract = { ...defaultContract({ name: 'pay', description: '', parameters: {} }), requires_approval: true }
  const action = { ToolCall: { call_id: callId, name: 'pay', arguments: canonical(args) } }
  return { ...pay(args, parts), call: preparedCall({ action, arguments: args, contract }) }
}

const reasonIn = (answer: ApprovalAnswer): string => (answer.kind === 'Refused' ? answer.reason : answer.kind)
const handleIn = (answer: ApprovalAnswer): string => {
  if (answer.kind !== 'Pending') throw new Error(`the answer is ${JSON.stringify(answer)}`)
  return answer.approval_id
}
const UNKNOWN = 'the approval handle is not known in this session'

describe('a call that needs an approval', () => {
  test('is answered at once with a handle, and again with the same one while it is held', async () => {
    const { queue, changes } = await desk()
    const gate = heldGate(open, queue)
    const first = await gate.approve(again('c1'), never)
    expect(first).toEqual({
      kind: 'Pending',
      reason: 'the tool "pay" requires human approval, and it waits for a person',
      approval_id: expect.stringMatching(/^[0-9a-f]{16}$/),
      expires_at: queue.list()[0]?.expires_at,
    })
    const both = await Promise.all([gate.approve(again('c2'), never), gate.approve(again('c3'), never)])
    expect(both.map(handleIn)).toEqual([handleIn(first), handleIn(first)])
    expect(changes).toHaveLength(1)
    await queue.resolve(handleIn(first), APPROVE, OPERATOR)
    expect(await gate.approve(again('c4'), never)).toMatchObject({
      kind: 'Pending',
      approval_id: handleIn(first),
      reason: expect.stringContaining('ask again with its handle'),
    })
  })

  test('asked twice before the first is on the disk is held once', async () => {
    const { queue } = await desk()
    const gate = heldGate(open, queue)
    const answers = await Promise.all([gate.approve(again('c1'), never), gate.approve(again('c2'), never)])
    expect(handleIn(answers[0])).toBe(handleIn(answers[1]))
    expect(queue.list()).toHaveLength(1)
  })

  test('is not held, and spends nothing, where its session ended while policy was asked', async () => {
    const { queue } = await desk()
    const leaving = new AbortController()
    let hears = (): void => undefined
    const preview: Gate['preview'] = async () => {
      hears()
      return { kind: 'Allow', policies: [] }
    }
    const gate = heldGate({ ...open, preview }, queue)
    const id = handleIn(await gate.approve(again('c1'), never))
    await queue.resolve(id, APPROVE, OPERATOR)
    hears = () => leaving.abort(new Error('the session ended'))
    const late = { presented: id }
    await expect(gate.approve(again('c2', { amount: 6 }), leaving.signal)).rejects.toThrow('the session ended')
    await expect(gate.approve(again('c3', { amount: 5 }, late), leaving.signal)).rejects.toThrow('the session ended')
    expect(queue.list()).toEqual([])
    hears = () => undefined
    expect(await gate.approve(again('c4', { amount: 5 }, late), never)).toMatchObject({ kind: 'Approved' })
  })

  test.each<[string, GateQuestion]>([
    ['other arguments', again('c1', { amount: 6 })],
    ['another session', again('c1', { amount: 5 }, { run: run({ started_at: '2026-01-02T00:00:00Z' as never }) })],
    ['another principal', again('c1', { amount: 5 }, { run: run({ agent_id: OTHER_AGENT }) })],
  ])('is held apart under %s', async (_, other) => {
    const { queue } = await desk()
    const gate = heldGate(open, queue)
    expect(handleIn(await gate.approve(again('c1'), never))).not.toBe(handleIn(await gate.approve(other, never)))
  })

  test('without a need is the inner gate’s affair, whatever handle comes with it', async () => {
    const { queue } = await desk()
    const question = { ...toolQuestion('look'), presented: '0123456789abcdef' }
    expect(await heldGate(open, queue).approve(question, never)).toEqual({ kind: 'NotNeeded' })
  })
})

describe('the call that comes back with its handle', () => {
  test('gets an approval for its own fingerprint and its own iteration, which is then spent [P1]', async () => {
    const { queue, folder, world } = await desk()
    const gate = heldGate(open, queue)
    const handle = handleIn(await gate.approve(again('c1'), never))
    await queue.resolve(handle, APPROVE, OPERATOR)
    const back = again('c2', { amount: 5 }, { presented: handle, run: run({ iteration: 7 }) })
    const answer = await gate.approve(back, never)
    if (answer.kind !== 'Approved') throw new Error(reasonIn(answer))
    expect(answer.approval).toMatchObject({ id: handle, fingerprint: back.call.fingerprint })
    spendApproval(answer.approval, {
      agent_id: back.run.agent_id,
      fingerprint: back.call.fingerprint,
      binding: authorizationBinding(back.run),
      nowMs: world.clock.monotonicMs(),
    })
    expect(queue.find(handle)).toMatchObject({ status: 'approved' })
    expect(reasonIn(await gate.approve(again('c3', { amount: 5 }, { presented: handle }), never))).toBe(
      'the approval was used already',
    )
    await queue[Symbol.asyncDispose]()
    expect(settledIn(folder)).toMatchObject([{ ended: 'spent', spent_for: back.call.fingerprint }])
  })

  test('is approved once, however many come back at the same time [P1]', async () => {
    const { queue } = await desk()
    const gate = heldGate(open, queue)
    const handle = handleIn(await gate.approve(again('c1'), never))
    await queue.resolve(handle, APPROVE, OPERATOR)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) => gate.approve(again(`b${at}`, { amount: 5 }, { presented: handle }), never)),
    )
    expect(answers.filter(({ kind }) => kind === 'Approved')).toHaveLength(1)
  })

  test('is not approved when its spending cannot be kept, and never again after that', async () => {
    const disk = faultyWorld(testWorld())
    const { queue } = await deskIn(place.path('approvals'), {}, disk)
    const gate = heldGate(open, queue)
    const handle = handleIn(await gate.approve(again('c1'), never))
    await queue.resolve(handle, APPROVE, OPERATOR)
    disk.add({ on: 'append', errno: 'ENOSPC' })
    const back = again('c2', { amount: 5 }, { presented: handle })
    await expect(gate.approve(back, never)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(reasonIn(await gate.approve(back, never))).toBe('the approval was used already')
  })

  test('still waits while nobody decided', async () => {
    const { queue } = await desk()
    const gate = heldGate(open, queue)
    const handle = handleIn(await gate.approve(again('c1'), never))
    expect(handleIn(await gate.approve(again('c2', { amount: 5 }, { presented: handle }), never))).toBe(handle)
  })

  test.each<[string, (handle: string) => GateQuestion, string]>([
    ['an unknown handle', () => again('c2', { amount: 5 }, { presented: '0123456789abcdef' }), UNKNOWN],
    ['a handle that is none', () => again('c2', { amount: 5 }, { presented: '../../etc/passwd' }), UNKNOWN],
    ['an empty handle', () => again('c2', { amount: 5 }, { presented: '' }), UNKNOWN],
    [
      'a handle of another session',
      (presented) =>
        again('c2', { amount: 5 }, { presented, run: run({ started_at: '2026-01-02T00:00:00Z' as never }) }),
      UNKNOWN,
    ],
    [
      'a handle of another principal',
      (presented) => again('c2', { amount: 5 }, { presented, run: run({ agent_id: OTHER_AGENT }) }),
      UNKNOWN,
    ],
    [
      'a handle of another trusted context',
      (presented) => again('c2', { amount: 5 }, { presented, run: run({ trusted_context: { admin: true } }) }),
      UNKNOWN,
    ],
    [
      'a handle of other arguments',
      (presented) => again('c2', { amount: 500 }, { presented }),
      'the approval handle is for another call',
    ],
  ])('is refused with %s, and the approval is not used up', async (_, back, reason) => {
    const { queue } = await desk()
    const gate = heldGate(open, queue)
    const handle = handleIn(await gate.approve(again('c1'), never))
    await queue.resolve(handle, APPROVE, OPERATOR)
    expect(await gate.approve(back(handle), never)).toEqual({ kind: 'Refused', reason })
    expect((await gate.approve(again('c3', { amount: 5 }, { presented: handle }), never)).kind).toBe('Approved')
  })

  test('is refused after a denial, with the reason, and may ask anew', async () => {
    const { queue } = await desk()
    const gate = heldGate(open, queue)
    const handle = handleIn(await gate.approve(again('c1'), never))
    await queue.resolve(handle, DENY, OPERATOR)
    const back = again('c2', { amount: 5 }, { presented: handle })
    expect(reasonIn(await gate.approve(back, never))).toBe('the approval was denied: not today')
    expect(handleIn(await gate.approve(again('c3'), never))).not.toBe(handle)
  })

  test('is refused after the expiry, approved or not [Q1]', async () => {
    for (const approve of [true, false]) {
      const { queue, world, changes } = await desk()
      const gate = heldGate(open, queue, { lifetimeMs: 1_000 })
      const handle = handleIn(await gate.approve(again('c1'), never))
      if (approve) await queue.resolve(handle, APPROVE, OPERATOR)
      await world.advance(1_000)
      const back = again('c2', { amount: 5 }, { presented: handle })
      expect(reasonIn(await gate.approve(back, never))).toBe('the approval expired')
      expect(changes.at(-1)).toMatchObject({ kind: 'expired', action: { id: handle, status: 'expired' } })
    }
  })

  test.each([
    ['its binding', (question: GateQuestion) => sessionBinding(question.run)],
    ['its run key', (question: GateQuestion) => runKeyOf(question.run)],
  ])('is refused once its session was withdrawn by %s, approved or not', async (_, keyOf) => {
    const { queue, folder } = await desk()
    const gate = heldGate(open, queue)
    const other = again('o1', { amount: 5 }, { run: run({ started_at: '2026-01-02T00:00:00Z' as never }) })
    const kept = handleIn(await gate.approve(other, never))
    const pending = handleIn(await gate.approve(again('c1'), never))
    const approved = handleIn(await gate.approve(again('c2', { amount: 6 }), never))
    await queue.resolve(approved, APPROVE, OPERATOR)
    await queue.withdraw(keyOf(again('c1')))
    for (const [presented, amount] of [
      [pending, 5],
      [approved, 6],
    ] as const) {
      expect(reasonIn(await gate.approve(again('c3', { amount }, { presented }), never))).toBe(UNKNOWN)
    }
    expect(queue.list().map(({ id }) => id)).toEqual([kept])
    expect(settledIn(folder).map(({ ended }) => ended)).toEqual(['withdrawn', 'withdrawn'])
  })
})

test('a call whose session ends while its request is written gets no handle', async () => {
  const { queue, changes } = await desk()
  const asked = heldGate(open, queue).approve(again('c1'), never)
  const written = new Promise((resolve) => setImmediate(resolve)) // the gate has asked the queue by then
  await written
  await queue.withdraw(runKeyOf(run()))
  expect(reasonIn(await asked)).toBe('the session has ended')
  expect(changes).toEqual([])
})

describe('what is held is bounded', () => {
  test('one session holds sixteen calls, and an ended one makes room', async () => {
    const { queue } = await desk()
    const gate = heldGate(open, queue)
    const handles: string[] = []
    for (let amount = 0; amount < QUEUE_LIMITS.perSessionMax; amount += 1) {
      handles.push(handleIn(await gate.approve(again('c', { amount }), never)))
    }
    expect(reasonIn(await gate.approve(again('c', { amount: 99 }), never))).toContain('16 calls of this session')
    await queue.resolve(handles[0] as string, DENY, OPERATOR)
    expect((await gate.approve(again('c', { amount: 99 }), never)).kind).toBe('Pending')
  })

  test('all sessions together hold a number of calls, and of bytes', async () => {
    expect(QUEUE_LIMITS).toMatchObject({ perSessionMax: 16, heldMax: 1024, recentMax: 1024 })
    for (const limits of [{ heldMax: 3 }, { snapshotsBytesMax: 4 * 700 }]) {
      const { queue } = await deskIn(place.path('approvals'), { limits })
      const gate = heldGate(open, queue)
      const from = (session: number): GateQuestion =>
        again('c', { amount: 5 }, { run: run({ trusted_context: { session } }) })
      for (const session of [1, 2, 3]) expect((await gate.approve(from(session), never)).kind).toBe('Pending')
      for (let session = 4; queue.list().length === session - 1; session += 1) await gate.approve(from(session), never)
      expect(reasonIn(await gate.approve(from(99), never))).toBe('too many calls wait for an approval')
    }
  })

  test('a call that nobody would read through is not held', async () => {
    const { queue } = await desk()
    const long = again('c', { text: 'x'.repeat(QUEUE_LIMITS.snapshotBytesMax) })
    expect(reasonIn(await heldGate(open, queue).approve(long, never))).toContain('too large to be reviewed')
  })
})

test('the live folder is empty once everything has ended, and each end lies in the other', async () => {
  const { queue, folder, world } = await desk()
  const gate = heldGate(open, queue, { lifetimeMs: 5_000 })
  const ids: string[] = []
  for (const amount of [1, 2, 3]) ids.push(handleIn(await gate.approve(again('c', { amount }), never)))
  await queue.resolve(ids[0] as string, DENY, OPERATOR)
  await queue.resolve(ids[1] as string, APPROVE, OPERATOR)
  await gate.approve(again('d', { amount: 2 }, { presented: ids[1] as string }), never)
  await world.advance(5_000)
  await queue[Symbol.asyncDispose]()
  expect(namesIn(folder, 'held')).toEqual([])
  expect(namesIn(folder, 'settled')).toEqual(ids.map((id) => `${id}.json`).sort())
  const ends = settledIn(folder).map(({ request, ended }) => [request.action.id, ended])
  expect(Object.fromEntries(ends)).toEqual(
    Object.fromEntries(ids.map((id, at) => [id, ['denied', 'spent', 'expired'][at]])),
  )
})
