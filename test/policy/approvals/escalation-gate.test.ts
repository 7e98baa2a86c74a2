import { describe, expect, test } from 'vitest'
import { type Approval, authorizationBinding, spendApproval } from '../../../src/calls/index.ts'
import {
  type ApprovalAnswer,
  type Asked,
  cedarGate,
  escalationGate,
  failClosedGate,
  type Gate,
  heldGate,
  permissiveGate,
  type QueueOptions,
  reviewText,
} from '../../../src/policy/index.ts'
import { testWorld } from '../../../src/testing/index.ts'
import { faultyWorld, gate as fileGate } from '../../support/faulty-world.ts'
import { scratch } from '../../support/scratch.ts'
import { bareQuestion, DELEGATE, entry, RESPOND, reasonOf, toolQuestion } from '../support.ts'
import { APPROVE, DENY, deskIn, namesIn, OPERATOR, pay, settledIn } from './support.ts'

const place = scratch()
const never = new AbortController().signal
const open: Gate = permissiveGate(() => undefined)
const desk = (options: QueueOptions = {}) => deskIn(place.path('approvals'), options)

const refused = (answer: ApprovalAnswer): string => (answer.kind === 'Refused' ? answer.reason : answer.kind)
function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve = (_: T): void => undefined
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve: (value) => resolve(value) }
}

const approvalOf = (answer: ApprovalAnswer): Approval => {
  if (answer.kind !== 'Approved') throw new Error(`the answer is ${JSON.stringify(answer)}`)
  return answer.approval
}

describe('who is asked', () => {
  test('nobody, where no approval is needed: the inner gate answers, and nothing is made on the disk', async () => {
    const { queue, folder, changes } = await desk()
    const gate = escalationGate(open, queue)
    for (const question of [toolQuestion('look'), bareQuestion(RESPOND), bareQuestion(DELEGATE)]) {
      expect(await gate.approve(question, never)).toEqual({ kind: 'NotNeeded' })
    }
    expect(changes).toEqual([])
    expect(() => namesIn(folder, 'held')).toThrow()
  })

  test.each([
    ['a tool whose contract says so', pay(), [], 'tool_call', 'the tool "pay" requires human approval'],
    [
      'a tool on the list',
      toolQuestion('look'),
      ['look'],
      'tool_call',
      'the operator requires human approval for "look"',
    ],
    [
      'a delegation, as the tool "delegate"',
      bareQuestion(DELEGATE),
      ['delegate'],
      'delegate',
      'the operator requires human approval for "delegate"',
    ],
  ] as const)('a person, for %s', async (_, question, tools, kind, reason) => {
    const { queue, nextHeld } = await desk()
    const asked = escalationGate(open, queue, { tools }).approve(question, never)
    const held = nextHeld()
    expect(await held).toMatchObject({ kind, reason, status: 'pending', agent_id: question.run.agent_id })
    const { id } = await held
    expect((await held).context_snapshot).toEqual({
      approval_id: id,
      invocation: expect.objectContaining({ fingerprint: question.call.fingerprint, action: question.call.action }),
      session_started_at: question.run.started_at,
      iteration: question.run.iteration,
    })
    await queue.resolve(id, APPROVE, OPERATOR)
    expect((await asked).kind).toBe('Approved')
  })

  test('is shown who asks, as the runtime knows it, and the task of a delegation', async () => {
    const { queue, nextHeld } = await desk()
    const gate = escalationGate(open, queue, { tools: ['look', 'delegate'] })
    const agent_definition = { name: 'clerk' }
    const long = { transport: 'http', key_id: '\u00e9'.repeat(300), other: 'x' }
    for (const [question, action] of [
      [
        toolQuestion('look', { context: { agent_definition, tool_client: { transport: 'http', key_id: 'desk' } } }),
        { asked_by: { agent: 'clerk', transport: 'http', key_id: 'desk' } },
      ],
      [
        toolQuestion('look', { context: { tool_client: long } }),
        { asked_by: { transport: 'http', key_id: expect.stringMatching(/^\u00e9+\u2026$/) } },
      ],
      [
        toolQuestion('look', { context: { agent_definition: 'x', tool_client: { transport: 7 } } }),
        { summary: 'look {}' },
      ],
      [bareQuestion(DELEGATE), { summary: 'delegate:worker {"task":"go"}' }],
    ] as const) {
      const asked = gate.approve(question, never)
      const held = await nextHeld()
      expect(held).toMatchObject(action)
      expect('asked_by' in held).toBe('asked_by' in action)
      if ('asked_by' in action) expect(reviewText(held)).toMatch(/\| {3}"asked_by": \{\n[^}]*"transport": "http"\n/)
      await queue.resolve(held.id, APPROVE, OPERATOR)
      expect((await asked).kind).toBe('Approved')
    }
  })

  test('a gate without a queue denies what needs an approval, however permissive it is [D3]', async () => {
    for (const gate of [open, failClosedGate()]) {
      expect(refused(await gate.approve(pay(), never))).toContain('no approver is configured')
    }
  })
})

describe('an approved call', () => {
  test('gets an approval for this call and this run, with the resolution in it, spent once [P1]', async () => {
    const seen: unknown[] = []
    const { queue, world, nextHeld } = await deskIn(place.path('approvals'), {
      audit: (event) => void seen.push(event),
    })
    const question = pay()
    const asked = escalationGate(open, queue).approve(question, never)
    const { id } = await nextHeld()
    const resolution = await queue.resolve(id, { decision: 'approve', reason: 'fine' }, OPERATOR)
    const approval = approvalOf(await asked)
    expect(resolution).toEqual({
      escalation_id: id,
      agent_id: question.run.agent_id,
      decision: 'approve',
      approver: OPERATOR,
      at: expect.any(String),
    })
    expect(approval).toMatchObject({ id, fingerprint: question.call.fingerprint, resolution })
    expect(seen).toEqual([resolution])
    const need = {
      agent_id: question.run.agent_id,
      fingerprint: question.call.fingerprint,
      binding: authorizationBinding(question.run),
      nowMs: world.clock.monotonicMs(),
    }
    spendApproval(approval, need)
    expect(() => spendApproval(approval, need)).toThrow(expect.objectContaining({ name: 'Bug' }))
  })

  test('is worth nothing for changed arguments, another principal, session start, context, configuration, or later [P1]', async () => {
    const changes: readonly Partial<Parameters<typeof spendApproval>[1]>[] = [
      { fingerprint: pay({ amount: 6 }).call.fingerprint },
      { binding: authorizationBinding({ ...pay().run, started_at: '2026-01-01T00:00:01Z' as never }) },
      { binding: authorizationBinding({ ...pay().run, trusted_context: { more: 1 } }) },
      { binding: authorizationBinding({ ...pay().run, config: { ...pay().run.config, max_iterations: 3 } }) },
      { agent_id: '22222222-2222-4222-8222-222222222222' as never },
      { nowMs: 30_000 },
    ]
    for (const change of changes) {
      const { queue, world, nextHeld } = await desk()
      const question = pay()
      const asked = escalationGate(open, queue).approve(question, never)
      await queue.resolve((await nextHeld()).id, APPROVE, OPERATOR)
      const need = {
        agent_id: question.run.agent_id,
        fingerprint: question.call.fingerprint,
        binding: authorizationBinding(question.run),
        nowMs: world.clock.monotonicMs(),
      }
      const approval = approvalOf(await asked)
      expect(() => spendApproval(approval, { ...need, ...change })).toThrow(
        expect.objectContaining({ code: 'GRANT_REFUSED' }),
      )
    }
  })

  test('is still judged by the inner gate, which may deny it', async () => {
    const { queue, nextHeld } = await desk()
    const { preview: _, ...changing } = failClosedGate() // as if it had allowed when it was asked before
    const gate = escalationGate(changing, queue)
    const question = pay()
    const asked = gate.approve(question, never)
    await queue.resolve((await nextHeld()).id, APPROVE, OPERATOR)
    expect(await reasonOf(gate, { ...question, approval: approvalOf(await asked) })).toContain(
      'no policy is configured',
    )
  })
})

describe('a call that policy denies even when it is approved', () => {
  const approved = 'permit(principal, action, resource) when { context.has_human_approval };'
  test('is shown to nobody, and the policies that decided are named', async () => {
    const { queue, changes } = await desk()
    using inner = cedarGate({
      policies: [entry('approved', approved), entry('never', 'forbid(principal, action, resource);')],
      default: 'deny',
    })
    const answer = await escalationGate(inner, queue).approve(pay(), never)
    expect(answer).toEqual({
      kind: 'Refused',
      reason: expect.stringContaining('policy does not allow'),
      policies: ['never'],
      errors: [],
      by_policy: true,
    })
    expect(await heldGate(inner, queue).approve(pay(), never)).toEqual(answer)
    expect(changes).toEqual([])
  })

  test('is not meant when policy only waits for the approval, and then it sees that one and no other', async () => {
    const { queue, nextHeld } = await desk()
    using inner = cedarGate({ policies: [entry('approved', approved)], default: 'deny' })
    const gate = escalationGate(inner, queue)
    const question = pay()
    const asked = gate.approve(question, never)
    await queue.resolve((await nextHeld()).id, APPROVE, OPERATOR)
    expect((await gate.decide({ ...question, approval: approvalOf(await asked) }, never)).kind).toBe('Allow')
    expect((await gate.decide(question, never)).kind).toBe('Deny') // a preview has given nothing
  })
})

describe('a call that is not approved', () => {
  test('is refused with the operator’s reason, or a plain one', async () => {
    for (const [given, reason] of [
      [DENY, 'the approval was denied: not today'],
      [{ decision: 'deny' }, 'the approval was denied'],
    ] as const) {
      const { queue, nextHeld } = await desk()
      const asked = escalationGate(open, queue).approve(pay(), never)
      await queue.resolve((await nextHeld()).id, given, OPERATOR)
      expect(refused(await asked)).toBe(reason)
    }
  })

  test('is denied at the deadline as "timeout", and can be resolved no more [Q1]', async () => {
    const { queue, world, nextHeld, changes } = await desk()
    const asked = escalationGate(open, queue).approve(pay(), never)
    const { id } = await nextHeld()
    await world.advance(119_999)
    expect(queue.list()).toHaveLength(1)
    await world.advance(1)
    expect(refused(await asked)).toBe('timeout')
    expect(queue.list()).toEqual([])
    expect(queue.find(id)).toMatchObject({ status: 'expired' })
    await expect(queue.resolve(id, APPROVE, OPERATOR)).rejects.toMatchObject({ code: 'APPROVAL_EXPIRED' })
    expect(changes.map(({ kind }) => kind)).toEqual(['held', 'expired'])
  })

  test('is denied when the deadline passes while the decision is being written: the deadline wins over it [Q1]', async () => {
    const world = testWorld()
    const disk = faultyWorld(world)
    const { queue, nextHeld } = await deskIn(place.path('approvals'), {}, disk)
    const asked = escalationGate(open, queue).approve(pay(), never)
    const { id } = await nextHeld()
    const slow = fileGate()
    disk.add({ on: 'link', path: '.decision.json', gate: slow })
    const resolved = queue.resolve(id, APPROVE, OPERATOR).catch((error: unknown) => error)
    await slow.reached
    await world.advance(120_000)
    expect(refused(await asked)).toBe('timeout')
    slow.open()
    expect(await resolved).toMatchObject({ code: 'APPROVAL_EXPIRED' })
    expect(queue.find(id)).toMatchObject({ status: 'expired' })
  })

  test('is denied when the wall clock alone passed the deadline [Q1]', async () => {
    const real = testWorld()
    let ahead = false
    const wall = () => (ahead ? ('2026-06-01T00:00:00Z' as never) : real.clock.wall())
    const world = { ...real, clock: { ...real.clock, wall } }
    const { queue, nextHeld } = await deskIn(place.path('approvals'), {}, world)
    const asked = escalationGate(open, queue).approve(pay(), never)
    const { id } = await nextHeld()
    ahead = true
    await expect(queue.resolve(id, APPROVE, OPERATOR)).rejects.toMatchObject({ code: 'APPROVAL_EXPIRED' })
    expect(refused(await asked)).toBe('timeout')
  })

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300])(
    'is denied at once with a timeout of %d, and nobody is told [Q1]',
    async (timeoutMs) => {
      let told = 0
      const notifier = {
        name: 'count',
        notify: async () => {
          told += 1
        },
      }
      const { queue, changes } = await desk({ notifiers: [notifier] })
      const gate = escalationGate(open, queue, { timeoutMs })
      expect(refused(await gate.approve(pay(), never))).toBe('timeout')
      expect({ told, changes }).toEqual({ told: 0, changes: [] })
    },
  )

  test('has no more time than the run', async () => {
    const { queue, world, nextHeld } = await desk()
    const asked = escalationGate(open, queue).approve(pay({}, { remainingMs: 5_000 }), never)
    await nextHeld()
    await world.advance(5_000)
    expect(refused(await asked)).toBe('timeout')
  })

  test('is removed at once when nobody waits any more, and then nobody finds it [Q1]', async () => {
    const { queue, nextHeld, changes, folder } = await desk()
    const leaving = new AbortController()
    const asked = escalationGate(open, queue).approve(pay(), leaving.signal)
    const { id } = await nextHeld()
    leaving.abort(new Error('gone'))
    expect(queue.list()).toEqual([])
    expect(queue.find(id)).toBeNull()
    await expect(queue.resolve(id, APPROVE, OPERATOR)).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' })
    expect((await asked).kind).toBe('Refused')
    expect(changes.map(({ kind }) => kind)).toEqual(['held', 'withdrawn'])
    await queue[Symbol.asyncDispose]()
    expect(settledIn(folder)).toMatchObject([{ ended: 'withdrawn' }])
  })

  test('is never shown when its asker left before it was written', async () => {
    const { queue, changes } = await desk()
    const leaving = new AbortController()
    const { call, run } = pay()
    const asked = queue.hold({ call, run, reason: 'r', use: 'waits', lifetimeMs: 1_000 }, leaving.signal)
    leaving.abort(new Error('gone'))
    const held = await asked
    expect(held.kind === 'Held' && (await held.ended)).toEqual({ kind: 'Withdrawn' })
    expect(changes).toEqual([])
  })
})

describe('notifiers', () => {
  test('run side by side: one that stalls and one that throws block neither the others nor the decision [Q1]', async () => {
    const reports: string[] = []
    const dropped: string[] = []
    const stalled = {
      name: 'stalled',
      notify: (_: unknown, signal: AbortSignal) =>
        new Promise<void>(() => signal.addEventListener('abort', () => dropped.push('stalled'))),
    }
    const broken = { name: 'broken', notify: () => Promise.reject(new Error('no pager')) }
    const thrower = {
      name: 'thrower',
      notify: (): Promise<void> => {
        throw new Error('at once')
      },
    }
    const approving = {
      name: 'approving',
      notify: async ({ resolve }: Asked) => void (await resolve(APPROVE, OPERATOR)),
    }
    const notifiers = [stalled, broken, thrower, approving]
    const { queue } = await desk({ notifiers, report: (what) => void reports.push(what) })
    const gate = escalationGate(open, queue)
    expect((await gate.approve(pay(), never)).kind).toBe('Approved')
    expect(dropped).toEqual(['stalled'])
    expect(reports.sort()).toEqual(['the notifier "broken" failed: no pager', 'the notifier "thrower" failed: at once'])
  })

  test('are dropped at the deadline, which covers them', async () => {
    const begun = deferred<AbortSignal>()
    const stalled = {
      name: 'stalled',
      notify: (_: unknown, signal: AbortSignal) => {
        begun.resolve(signal)
        return new Promise<void>(() => undefined)
      },
    }
    const { queue, world } = await desk({ notifiers: [stalled] })
    const asked = escalationGate(open, queue, { timeoutMs: 50 }).approve(pay(), never)
    const signal = await begun.promise
    await world.advance(50)
    expect(refused(await asked)).toBe('timeout')
    expect(signal.reason).toMatchObject({ message: 'The wait for an approval is over' })
  })

  test('are told of a call that nobody waits for, too, once, until it is decided elsewhere', async () => {
    const told: { readonly asked: Asked; readonly signal: AbortSignal }[] = []
    const notifier = {
      name: 'pager',
      notify: async (asked: Asked, signal: AbortSignal) => void told.push({ asked, signal }),
    }
    const { queue } = await desk({ notifiers: [notifier] })
    const gate = heldGate(open, queue)
    const first = await gate.approve(pay(), never)
    if (first.kind !== 'Pending') throw new Error(first.kind)
    await gate.approve(pay(), never)
    expect(told.map(({ asked, signal }) => [asked.action.id, signal.aborted])).toEqual([[first.approval_id, false]])
    await queue.resolve(first.approval_id, DENY, OPERATOR)
    expect(told[0]?.signal.reason).toMatchObject({ message: 'The wait for an approval is over' })
    await expect(told[0]?.asked.resolve(APPROVE, OPERATOR)).rejects.toMatchObject({ code: 'APPROVAL_RESOLVED' })
  })

  test('may decide a call that nobody waits for: it is made when it comes back', async () => {
    const approving = { name: 'pager', notify: async ({ resolve }: Asked) => void (await resolve(APPROVE, OPERATOR)) }
    const { queue, changes } = await desk({ notifiers: [approving] })
    const resolved = new Promise<void>((done) => void queue.subscribe(({ kind }) => kind === 'resolved' && done()))
    const gate = heldGate(open, queue)
    const first = await gate.approve(pay(), never)
    if (first.kind !== 'Pending') throw new Error(first.kind)
    await resolved
    expect(changes.map(({ kind }) => kind)).toEqual(['held', 'resolved'])
    expect((await gate.approve(pay({ amount: 5 }, { presented: first.approval_id }), never)).kind).toBe('Approved')
  })
})

test('a disk that cannot keep the request is a failure of the gate, and nothing was shown', async () => {
  const disk = faultyWorld(testWorld())
  const { queue, changes } = await deskIn(place.path('approvals'), {}, disk)
  disk.add({ on: 'append', errno: 'ENOSPC' })
  await expect(escalationGate(open, queue).approve(pay(), never)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  expect(changes).toEqual([])
  expect(queue.list()).toEqual([])
})

test('a disk that cannot keep the decision makes it a no', async () => {
  const disk = faultyWorld(testWorld())
  const { queue, nextHeld } = await deskIn(place.path('approvals'), {}, disk)
  const asked = escalationGate(open, queue).approve(pay(), never)
  const { id } = await nextHeld()
  disk.add({ on: 'append', errno: 'ENOSPC' })
  await expect(queue.resolve(id, APPROVE, OPERATOR)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
  expect(refused(await asked)).toBe('timeout')
  await expect(queue.resolve(id, APPROVE, OPERATOR)).rejects.toMatchObject({ code: 'APPROVAL_EXPIRED' })
})
