import { describe, expect, test } from 'vitest'
import {
  type Approval,
  authorizationBinding,
  defaultContract,
  invocationView,
  type RunContext,
  sessionBinding,
  type Toolbox,
} from '../../src/calls/index.ts'
import { digest, Fault, type Hash, newId, type Timestamp } from '../../src/core/index.ts'
import {
  type Authority,
  authorise,
  authoriseBatch,
  type Denied,
  type Granted,
  misfitOf,
} from '../../src/dispatch/index.ts'
import { DEFAULT_LOOP_CONFIG, type ProposedAction, Recorder } from '../../src/events/index.ts'
import { type ApprovalAnswer, deny, type Gate, type GateQuestion, giveApproval } from '../../src/policy/index.ts'
import { testWorld } from '../../src/testing/index.ts'
import { toolbox } from '../../src/tools/index.ts'
import { allowAll, gateOf } from '../support/gates.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { toolOf } from '../support/tools.ts'

const never = new AbortController().signal
const TIMEOUT_MS = 30_000
const RUN_MS = 60_000

const call = (call_id: string, args = '{}'): ProposedAction => ({
  ToolCall: { call_id, name: 'look', arguments: args },
})
const SAY: ProposedAction = { Respond: { content: 'hello' } }

/** An authority in a World whose time stands still, with 60 s left, and tools that may take 30 s. */
function deskOf(
  parts: { gate?: Gate; box?: (inner: Toolbox) => Toolbox; more?: Partial<Authority>; needsApproval?: boolean } = {},
) {
  const world = testWorld()
  const contract = { ...defaultContract(toolOf('look').definition), requires_approval: parts.needsApproval === true }
  const inner = toolbox({ tools: [toolOf('look', async () => 'seen', contract)] }, world)
  const box = parts.box?.(inner) ?? inner
  const run: RunContext = {
    agent_id: newId('agent', world.random),
    started_at: world.clock.wall(),
    iteration: 3,
    trusted_context: { team: 'ops' },
    config: { ...DEFAULT_LOOP_CONFIG, tool_timeout: { secs: TIMEOUT_MS / 1000, nanos: 0 } },
  }
  const deadlineMs = world.clock.monotonicMs() + RUN_MS
  const offered = box.definitions()
  const authority: Authority = { world, gate: parts.gate ?? allowAll, toolbox: box, offered, deadlineMs, ...parts.more }
  const judge = (action = call('a'), signal = never) => authorise(authority, action, run, signal)
  return { world, box, run, authority, judge }
}

function granted(verdict: Granted | Denied): Granted {
  if (verdict.kind === 'Denied') throw new Error(`it was denied: ${verdict.reason}`)
  return verdict
}

function denial(verdict: Granted | Denied): Denied {
  if (verdict.kind === 'Granted') throw new Error('it was granted')
  return verdict
}

/** A gate that answers the question about approval, and allows what is asked after it. */
const answering = (approve: (question: GateQuestion) => ApprovalAnswer): Gate => ({
  ...allowAll,
  approve: async (question) => approve(question),
})

describe('a grant', () => {
  test('says what was allowed, by which policies, for which run and for how long', async () => {
    const { box, run, authority, judge } = deskOf({ gate: gateOf(() => ({ kind: 'Allow', policies: ['one', 'two'] })) })
    const { grant, evidence } = granted(await judge(call('a', '{"b":1, "a":2}')))
    expect(grant.toolbox).toBe(box)
    expect(grant.binding).toBe(authorizationBinding(run))
    expect(grant.deadlineMs).toBe(authority.world.clock.monotonicMs() + TIMEOUT_MS)
    expect(evidence).toEqual({
      ...invocationView(grant.call),
      approval: null,
      authorization_binding: authorizationBinding(run),
      determining_policies: ['one', 'two'],
    })
  })

  test('of a tool ends with the run, where that ends before the tool would have to', async () => {
    const { world, authority, judge } = deskOf()
    await world.advance(RUN_MS - TIMEOUT_MS + 1)
    expect(granted(await judge()).grant.deadlineMs).toBe(authority.deadlineMs)
  })

  test('of an answer has all the time of the run, and belongs to no toolbox', async () => {
    const { authority, judge } = deskOf()
    const { grant } = granted(await judge(SAY))
    expect([grant.deadlineMs, grant.toolbox]).toEqual([authority.deadlineMs, null])
  })

  test('fits its own run until its time is over, and no other run', async () => {
    const { run, judge } = deskOf()
    const { grant } = granted(await judge())
    expect(misfitOf(grant, run, grant.deadlineMs - 1)).toBeNull()
    expect(misfitOf(grant, run, grant.deadlineMs)).toBe('the grant has expired')
    expect(misfitOf(grant, { ...run, iteration: 4 }, 0)).toBe('the run changed after the call was granted')
  })

  test('is refused where a tool has no time at all', async () => {
    const { run, authority } = deskOf()
    const hurried = { ...run, config: { ...run.config, tool_timeout: { secs: 0, nanos: 0 } } }
    expect(denial(await authorise(authority, call('a'), hurried, never))).toMatchObject({
      reason: 'Cannot grant the call: no time is left for it',
      evidence: { denied_by: 'runtime' },
    })
  })
})

describe('an approval', () => {
  const approvalFor = (run: RunContext, world: ReturnType<typeof testWorld>, lifetimeMs: number) => {
    return ({ call: shown, remainingMs }: GateQuestion): ApprovalAnswer => {
      const approver = { surface: 'terminal', id: 'ada', display: 'Ada' }
      const at = world.clock.wall()
      const resolution = { escalation_id: 'e1', agent_id: run.agent_id, decision: 'approve', approver, at } as const
      const parts = { id: 'e1', call: shown, run, resolution, lifetimeMs, remainingMs }
      return { kind: 'Approved', approval: giveApproval(parts, world.clock) }
    }
  }

  test('is shown to policy, stands in the evidence, and ends the grant with itself', async () => {
    const desk = deskOf({ needsApproval: true })
    const seen: (Approval | null)[] = []
    const gate: Gate = {
      ...answering(approvalFor(desk.run, desk.world, 5000)),
      decide: async ({ approval }) => {
        seen.push(approval)
        return { kind: 'Allow', policies: [] }
      },
    }
    const verdict = await authorise({ ...desk.authority, gate }, call('a'), desk.run, never)
    const { grant, evidence } = granted(verdict)
    expect(grant.deadlineMs).toBe(desk.world.clock.monotonicMs() + 5000)
    expect(evidence.approval).toMatchObject({ escalation_id: 'e1', approver: { id: 'ada' } })
    expect(seen).toMatchObject([{ id: 'e1', fingerprint: grant.call.fingerprint }])
  })

  test('serves one call: the second that comes with the same one is a failure of the gate, and denied', async () => {
    const desk = deskOf({ needsApproval: true })
    let kept: ApprovalAnswer | null = null
    const gate = answering((question) => {
      kept ??= approvalFor(desk.run, desk.world, 5000)(question)
      return kept
    })
    const judge = () => authorise({ ...desk.authority, gate }, call('a'), desk.run, never)
    expect((await judge()).kind).toBe('Granted')
    expect(denial(await judge())).toMatchObject({
      reason: 'the policy gate failed',
      evidence: { denied_by: 'runtime', policy_errors: [expect.stringContaining('spent once')] },
    })
  })

  test('that nobody gave yet, or that the gate waived, is a denial by approval', async () => {
    const expires_at = '2030-01-01T00:00:00Z' as Timestamp
    const pending = { kind: 'Pending', reason: 'later', approval_id: '0123456789abcdef', expires_at } as const
    const held = denial(await deskOf({ gate: answering(() => pending), needsApproval: true }).judge())
    const waived = denial(await deskOf({ gate: answering(() => ({ kind: 'NotNeeded' })), needsApproval: true }).judge())
    expect([held, waived].map(({ evidence }) => evidence.denied_by)).toEqual(['approval', 'approval'])
    expect(held).toMatchObject({ reason: 'later', pending: { approval_id: '0123456789abcdef', expires_at } })
    expect(waived.reason).toBe('the tool needs an approval and nobody gave one')
  })

  test('that policy was the one to refuse is denied by policy, as if somebody had approved', async () => {
    const refusal = { kind: 'Refused', reason: 'never', policies: ['no-pay'], errors: ['odd'] } as const
    const byPolicy = deskOf({ gate: answering(() => ({ ...refusal, by_policy: true })) })
    expect(denial(await byPolicy.judge()).evidence).toMatchObject({
      denied_by: 'policy',
      approval: 'assumed',
      determining_policies: ['no-pay'],
      policy_errors: ['odd'],
    })
    const byPerson = deskOf({ gate: answering(() => refusal) })
    const { evidence } = denial(await byPerson.judge())
    expect(evidence).toMatchObject({ denied_by: 'approval', determining_policies: ['no-pay'] })
    expect(evidence).not.toHaveProperty('approval')
  })
})

describe('what a gate is asked', () => {
  async function asked(more: Partial<Authority>) {
    const questions: GateQuestion[] = []
    const gate: Gate = {
      name: 'asking',
      approve: async (question) => {
        questions.push(question)
        return { kind: 'NotNeeded' }
      },
      decide: async (question) => {
        questions.push(question)
        return { kind: 'Allow', policies: [] }
      },
    }
    const desk = deskOf({ gate, more })
    await desk.world.advance(1000)
    await desk.judge()
    return { questions, desk }
  }

  test('is twice the same: the call, the run, and how much of its time is left', async () => {
    const { questions, desk } = await asked({})
    expect(questions).toHaveLength(2)
    for (const question of questions) {
      expect(question).toMatchObject({ approval: null, presented: null, remainingMs: RUN_MS - 1000 })
      expect(question.run).toBe(desk.run)
      expect(question).not.toHaveProperty('session')
    }
    expect(questions[0]?.call).toBe(questions[1]?.call)
  })

  test('includes the handle that the caller presented, and the session that the run belongs to', async () => {
    const session = sessionBinding(deskOf().run)
    const { questions } = await asked({ presented: '0123456789abcdef', session })
    expect(questions).toMatchObject([
      { presented: '0123456789abcdef', session },
      { presented: '0123456789abcdef', session },
    ])
  })
})

describe('the time of a run', () => {
  const LATE = 'Cannot authorise the call: the run has no time left'
  const forever = () => new Promise<never>(() => undefined)

  test.each<[string, Partial<Gate>]>([
    ['about an approval', { approve: forever }],
    ['about policy', { decide: forever }],
  ])('that ends while the gate thinks %s denies the call', async (_, slow) => {
    const { world, judge } = deskOf({ gate: { ...allowAll, ...slow } })
    const judged = judge()
    await world.clock.yield()
    await world.advance(RUN_MS)
    expect(denial(await judged)).toMatchObject({ reason: LATE, evidence: { denied_by: 'runtime' } })
  })

  test('that is over already denies without asking anybody', async () => {
    let questions = 0
    const { world, judge } = deskOf({
      gate: answering(() => {
        questions += 1
        return { kind: 'NotNeeded' }
      }),
    })
    await world.advance(RUN_MS)
    expect(denial(await judge()).reason).toBe(LATE)
    expect(questions).toBe(0)
  })

  test('that was cut short by its owner is no verdict at all, whatever the gate threw', async () => {
    const leaving = new AbortController()
    const { judge } = deskOf({
      gate: {
        ...allowAll,
        decide: () => {
          leaving.abort(new Error('somebody left'))
          return Promise.reject(new Error('confused'))
        },
      },
    })
    await expect(judge(call('a'), leaving.signal)).rejects.toThrow('somebody left')
  })
})

describe('what the tools refuse', () => {
  test('is denied before anybody is asked, by the agent’s own restriction', async () => {
    let questions = 0
    const { judge } = deskOf({
      box: (inner) => ({ ...inner, restrict: () => 'not this one' }),
      gate: answering(() => {
        questions += 1
        return { kind: 'NotNeeded' }
      }),
    })
    const denied = denial(await judge())
    expect(denied).toMatchObject({ reason: 'not this one', evidence: { denied_by: 'restriction' } })
    expect(denied.evidence.determining_policies).toEqual([]) // no policy was asked, and none failed
    expect(denied.evidence).not.toHaveProperty('policy_errors')
    expect(questions).toBe(0)
  })

  test('is asked again when the grant is issued, and refuses it then as well', async () => {
    const answers = [null, 'not any more']
    const { judge } = deskOf({ box: (inner) => ({ ...inner, restrict: () => answers.shift() ?? null }) })
    expect(denial(await judge())).toMatchObject({ reason: 'not any more', evidence: { denied_by: 'runtime' } })
    expect(answers).toEqual([])
  })

  test('is a refusal where it cannot be found out', async () => {
    const { judge } = deskOf({
      box: (inner) => ({
        ...inner,
        restrict: () => {
          throw new Error('lost')
        },
      }),
    })
    expect(denial(await judge())).toMatchObject({
      reason: 'the restrictions of the agent could not be checked: lost',
      evidence: { denied_by: 'restriction' },
    })
  })

  test.each([
    ['with its own words', { code: 'RATE_LIMITED', hint: 'In a minute' }, 'In a minute'],
    ['with ours where it has none', { code: 'RATE_LIMITED' }, 'Try again later'],
  ] as const)('because it takes no call now says so with a code, %s', async (_, { code, ...options }, hint) => {
    const cause = new Fault(code, { message: 'Cannot look: too often', ...options })
    const { judge } = deskOf({
      box: (inner) => ({
        ...inner,
        prepare: () => {
          throw new Fault('CALL_INVALID', { message: 'Cannot prepare the call of "look": too often', cause })
        },
      }),
    })
    const denied = denial(await judge())
    expect(denied).toMatchObject({
      reason: 'Cannot prepare the call of "look": too often',
      refusal: { code, hint },
      evidence: { denied_by: 'preparation' },
    })
    expect(denied.evidence).not.toHaveProperty('call')
  })

  test.each([
    ['a fault about the arguments', new Fault('CALL_INVALID', { message: 'Cannot use "path"' })],
    ['no fault of ours', new Error('lost')],
  ])('for %s has no code: the arguments are to blame, and another call may fit', async (_, cause) => {
    const { judge } = deskOf({
      box: (inner) => ({
        ...inner,
        prepare: () => {
          throw new Fault('CALL_INVALID', { message: 'Cannot prepare the call', cause })
        },
      }),
    })
    expect(denial(await judge())).not.toHaveProperty('refusal')
  })
})

describe('a modification', () => {
  const modifying = (modified_action: ProposedAction) =>
    gateOf(() => ({ kind: 'Modify', modified_action, reason: 'other', policies: [] }))

  test.each<[string, ProposedAction]>([
    ['the id', call('b')],
    ['the kind', { Delegate: { call_id: 'a', target: 'worker', message: 'go' } }],
  ])('of %s is denied by the runtime, and the denial is of what was proposed', async (_, other) => {
    expect(denial(await deskOf({ gate: modifying(other) }).judge())).toMatchObject({
      action: call('a'),
      reason: 'the policy changed the kind or the id of the call',
      evidence: { denied_by: 'runtime', action: call('a') },
    })
  })

  test('that never comes to an end is denied, and the denial is of what was proposed', async () => {
    const { judge } = deskOf({ gate: modifying(call('a', '{"safe":true}')) })
    expect(denial(await judge())).toMatchObject({
      action: call('a'),
      reason: 'the policy kept modifying the call and did not come to an end',
      evidence: { denied_by: 'runtime' },
    })
  })

  test('may be made three times', async () => {
    let rounds = 0
    const gate = gateOf(({ arguments: args }) => {
      rounds += 1
      return rounds === 4
        ? { kind: 'Allow', policies: [String(args?.round)] }
        : { kind: 'Modify', modified_action: call('a', `{"round":${rounds}}`), reason: 'again', policies: [] }
    })
    const { evidence } = granted(await deskOf({ gate }).judge())
    expect(evidence.determining_policies).toEqual(['3'])
  })
})

describe('the journal of a batch', () => {
  async function batch(actions: readonly ProposedAction[], gate: Gate, signal = never) {
    const { authority, run, world } = deskOf({ gate })
    const log = new MemoryLog()
    const recorder = new Recorder(log, run.agent_id, () => world.clock.wall())
    recorder.iteration = 3
    const verdicts = await authoriseBatch(authority, actions, run, recorder, signal)
    await recorder.commit()
    return { verdicts, entries: log.all('PolicyEvaluated') }
  }
  const denying = gateOf(() => deny('no'))

  test('says in one entry how many were decided and how each was, in their order', async () => {
    const gate = gateOf(({ action }) =>
      'ToolCall' in action && action.ToolCall.call_id === 'b' ? deny('no') : { kind: 'Allow', policies: [] },
    )
    const { verdicts, entries } = await batch([call('a'), call('b'), SAY, call('c')], gate)
    expect(entries).toMatchObject([
      {
        iteration: 3,
        action_count: 4,
        denied_count: 1,
        approved_calls: [{ action: call('a') }, { action: SAY }, { action: call('c') }],
        denied_calls: [{ action: call('b'), reason: 'no' }],
      },
    ])
    expect([verdicts.granted.length, verdicts.denied.length]).toEqual([3, 1])
  })

  test('takes several answers in one reply: only ids must differ, and answers have none', async () => {
    const { verdicts } = await batch([SAY, SAY], allowAll)
    expect(verdicts.granted).toHaveLength(2)
  })

  test('leaves out the judged call of a denial where there is no room for it, and keeps who denied and why', async () => {
    const long = call('a', `{"text":"${'x'.repeat(400 * 1024)}"}`)
    const { verdicts, entries } = await batch([long], denying)
    expect(entries[0]?.denied_calls).toEqual([
      { action: long, reason: 'no', denied_by: 'policy', determining_policies: [], approval: null },
    ])
    expect(verdicts.denied).toMatchObject([{ kind: 'Denied', action: long, reason: 'no' }])
  })

  test('holds at most 960 KiB of decisions: a batch beyond that is denied whole, and nothing of it is granted', async () => {
    const long = (id: string) => call(id, `{"text":"${'x'.repeat(300 * 1024)}"}`)
    const { verdicts } = await batch([long('a')], allowAll)
    expect(verdicts.granted).toHaveLength(1)
    const both = await batch([long('a'), long('b')], allowAll)
    expect(both.verdicts.granted).toEqual([])
    const reason = 'the decisions about one reply must fit into one journal entry: propose less at once'
    expect(both.verdicts.denied).toEqual(
      [long('a'), long('b')].map((action) => ({
        kind: 'Denied',
        action,
        reason,
        evidence: { action, reason, denied_by: 'runtime', determining_policies: [] },
      })),
    )
    expect(both.entries).toMatchObject([{ action_count: 2, denied_count: 2, approved_calls: [] }])
  })

  test('may fill 960 KiB to the last byte', async () => {
    const named = (length: number) => gateOf(() => ({ kind: 'Allow', policies: ['p'.repeat(length)] }))
    const bytesOf = ({ verdicts }: Awaited<ReturnType<typeof batch>>) =>
      Buffer.byteLength(JSON.stringify(verdicts.granted[0]?.evidence))
    const room = 960 * 1024 - bytesOf(await batch([call('a')], named(0)))
    const full = await batch([call('a')], named(room))
    expect([full.verdicts.granted.length, bytesOf(full)]).toEqual([1, 960 * 1024])
    expect((await batch([call('a')], named(room + 1))).verdicts.granted).toEqual([])
  })

  test('holds nothing of a batch whose run was left while it was judged', async () => {
    const leaving = new AbortController()
    const gate = gateOf(() => {
      leaving.abort(new Error('somebody left'))
      return { kind: 'Allow', policies: [] }
    })
    await expect(batch([call('a')], gate, leaving.signal)).rejects.toThrow('somebody left')
    await expect(batch([call('a'), call('a')], gate, leaving.signal)).rejects.toThrow('somebody left') // nobody was asked
    const { entries } = await batch([], allowAll)
    expect(entries).toMatchObject([{ action_count: 0 }])
  })

  test('keeps foreign words to 4096 units each', async () => {
    const { verdicts } = await batch(
      [call('a')],
      gateOf(() => deny('r'.repeat(5000), [], ['e'.repeat(5000)])),
    )
    const { reason, evidence } = verdicts.denied[0] as Denied
    expect([reason.length, String(evidence.reason).length]).toEqual([4096, 4096])
    expect((evidence.policy_errors as string[]).map(({ length }) => length)).toEqual([4096])
  })
})

test('an approval of another call is a denial by approval, with what its policies said', async () => {
  const desk = deskOf({ needsApproval: true })
  const gate: Gate = {
    ...answering(({ call: shown, remainingMs }) => {
      const resolution = {
        escalation_id: 'e1',
        agent_id: desk.run.agent_id,
        decision: 'approve',
        approver: {},
        at: desk.world.clock.wall(),
      } as const
      const other = { ...shown, fingerprint: digest('another call') as Hash }
      const parts = { id: 'e1', call: other, run: desk.run, resolution, lifetimeMs: 5000, remainingMs }
      return { kind: 'Approved', approval: giveApproval(parts, desk.world.clock) }
    }),
    decide: async () => deny('no', ['p'], ['e']),
  }
  const { evidence } = denial(await authorise({ ...desk.authority, gate }, call('a'), desk.run, never))
  expect(evidence).toMatchObject({ denied_by: 'approval', determining_policies: ['p'], policy_errors: ['e'] })
  expect(evidence).not.toHaveProperty('approval')
})
