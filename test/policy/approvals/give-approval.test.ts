import { describe, expect, test } from 'vitest'
import { type Approval, authorizationBinding, type RunContext, spendApproval } from '../../../src/calls/index.ts'
import { type AgentId, instantOf, type Timestamp } from '../../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG } from '../../../src/events/index.ts'
import { type ApprovalParts, cedarGate, giveApproval } from '../../../src/policy/index.ts'
import { AGENT, decide, entry, OTHER_AGENT, reasonOf, run, toolQuestion } from '../support.ts'

const clock = { monotonicMs: () => 1000, wall: () => '2026-01-01T00:00:00.000000Z' as Timestamp }
const CALL = toolQuestion('pay', { arguments: { amount: 5 } }).call

function resolution(agent_id: AgentId = AGENT) {
  return {
    escalation_id: '0123456789abcdef',
    agent_id,
    decision: 'approve' as const,
    approver: { surface: 'terminal', id: 'operator', display: 'Operator' },
    at: '2026-01-01T00:00:00.000000Z' as Timestamp,
  }
}

const give = (parts: Partial<ApprovalParts> = {}): Approval =>
  giveApproval(
    { id: 'ap1', call: CALL, run: run(), resolution: resolution(), lifetimeMs: 120_000, remainingMs: 60_000, ...parts },
    clock,
  )

const spend = (approval: Approval, context: RunContext = run(), fingerprint = CALL.fingerprint, nowMs = 1001): void =>
  spendApproval(approval, { agent_id: context.agent_id, fingerprint, binding: authorizationBinding(context), nowMs })

describe('spending an approval', () => {
  test('works once for the same call of the same run, and is a Bug the second time [P1]', () => {
    const approval = give()
    expect(() => spend(approval)).not.toThrow()
    expect(() => spend(approval)).toThrow(expect.objectContaining({ name: 'Bug' }))
  })

  test.each<[string, RunContext]>([
    ['another principal', run({ agent_id: OTHER_AGENT })],
    ['another session start', run({ started_at: '2026-01-01T00:00:00.000002Z' as Timestamp })],
    ['another iteration', run({ iteration: 2 })],
    ['another trusted context', run({ trusted_context: { budget: 1 } })],
    ['another configuration', run({ config: { ...DEFAULT_LOOP_CONFIG, max_iterations: 26 } })],
  ])('is refused under %s, and is used up by the attempt [P1]', (_, context) => {
    const approval = give()
    expect(() => spend(approval, context)).toThrow(expect.objectContaining({ code: 'GRANT_REFUSED' }))
    expect(() => spend(approval)).toThrow(expect.objectContaining({ name: 'Bug' }))
  })

  test('is refused for changed arguments [P1]', () => {
    const changed = toolQuestion('pay', { arguments: { amount: 50 } }).call
    expect(() => spend(give(), run(), changed.fingerprint)).toThrow('it was given for another call')
  })

  test('is refused at its expiry, equality included [P1]', () => {
    const approval = give({ lifetimeMs: 10 })
    expect(approval.expiresAtMs).toBe(1010)
    expect(() => spend(approval, run(), CALL.fingerprint, 1010)).toThrow('it has expired')
    expect(() => spend(give({ lifetimeMs: 10 }), run(), CALL.fingerprint, 1009.9)).not.toThrow()
  })

  test('a forged one, a copy and one that went through JSON are Bugs [P1, trap:approval-from-client]', () => {
    const approval = give()
    for (const fake of [{ ...approval }, structuredClone(approval), JSON.parse(JSON.stringify(approval))]) {
      expect(() => spend(fake as Approval)).toThrow(expect.objectContaining({ name: 'Bug' }))
    }
    expect(Object.isFrozen(approval) && Object.isFrozen(approval.resolution)).toBe(true)
    expect(() => spend(approval)).not.toThrow()
  })
})

describe('giving an approval', () => {
  test.each([
    ['the lifetime', { lifetimeMs: 5_000, remainingMs: 60_000 }, 5_000],
    ['what is left of the run', { lifetimeMs: 120_000, remainingMs: 7_000 }, 7_000],
    ['the longest time of a tool', { lifetimeMs: 120_000, remainingMs: 60_000 }, 30_000],
  ])('it ends with the shortest: %s', (_, parts, lifeMs) => {
    const approval = give(parts)
    expect(approval.expiresAtMs).toBe(1000 + lifeMs)
    expect(instantOf(approval.expires_at_utc) - instantOf(clock.wall())).toBe(BigInt(lifeMs) * 1_000_000n)
  })

  test.each([0, -1, Number.NaN])('a remaining time of %d gives none', (remainingMs) => {
    expect(() => give({ remainingMs })).toThrow(expect.objectContaining({ code: 'GRANT_REFUSED' }))
  })

  test('a decision to deny, or one for another principal, is never made into an approval', () => {
    expect(() => give({ resolution: { ...resolution(), decision: 'deny' } })).toThrow(
      expect.objectContaining({ name: 'Bug' }),
    )
    expect(() => give({ resolution: resolution(OTHER_AGENT) })).toThrow(expect.objectContaining({ name: 'Bug' }))
  })
})

test('the gate sees the approval of this very call, and denies with any other', async () => {
  const source =
    'permit(principal, action, resource) when { context.has_human_approval && context.approved_fingerprint == resource.call_fingerprint };'
  using gate = cedarGate({ policies: [entry('approved', source)], default: 'deny' })
  const question = toolQuestion('pay', { arguments: { amount: 5 } })
  expect((await decide(gate, question)).kind).toBe('Deny')
  expect((await decide(gate, { ...question, approval: give() })).kind).toBe('Allow')
  const other = toolQuestion('pay', { arguments: { amount: 6 }, approval: give() })
  expect(await reasonOf(gate, other)).toBe('the approval was given for another call')
})

test('an approval never overrides a forbid', async () => {
  const source =
    'permit(principal, action, resource); forbid(principal, action, resource) when { context.invocation.arguments.amount > 1 };'
  using gate = cedarGate({ policies: [entry('p', source)], default: 'deny' })
  expect((await decide(gate, toolQuestion('pay', { arguments: { amount: 5 }, approval: give() }))).kind).toBe('Deny')
})
