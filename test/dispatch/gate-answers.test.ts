import { describe, expect, test } from 'vitest'
import type { Approval } from '../../src/calls/index.ts'
import type { Timestamp } from '../../src/core/index.ts'
import { approvalIn, decisionIn } from '../../src/dispatch/gate-answers.ts'
import type { ApprovalAnswer } from '../../src/policy/index.ts'

const unclear = (what: string) =>
  expect.objectContaining({
    code: 'POLICY_ENGINE',
    message: `Cannot judge the call: what the gate answered is not ${what}`,
  })

describe('an answer about the approval', () => {
  const refused = { kind: 'Refused', reason: 'no' }
  const pending = {
    kind: 'Pending',
    reason: 'later',
    approval_id: '0123456789abcdef',
    expires_at: '2030-01-01T00:00:00Z' as Timestamp,
  }

  test('is read as it was given, with nothing beside what belongs to it', () => {
    const approval = {} as Approval
    const whole = { ...refused, policies: ['p'], errors: ['e'], by_policy: true }
    const read = (answer: object) => approvalIn({ ...answer, more: 1 } as unknown as ApprovalAnswer)
    expect(read({ kind: 'NotNeeded' })).toEqual({ kind: 'NotNeeded' })
    expect(read({ kind: 'Approved', approval })).toEqual({ kind: 'Approved', approval })
    expect(read(whole)).toEqual(whole)
    expect(read(refused)).toEqual({ ...refused, policies: [], errors: [], by_policy: false })
    expect(read(pending)).toEqual(pending)
  })

  test('keeps the approval itself, because a copy of one is worth nothing', () => {
    const approval = {} as Approval
    const answer = approvalIn({ kind: 'Approved', approval })
    expect(answer.kind === 'Approved' && answer.approval).toBe(approval)
  })

  test('is made fit for the journal where only its words are not', () => {
    expect(approvalIn({ ...refused, reason: 'a\ud800' } as ApprovalAnswer)).toMatchObject({ reason: 'a\ufffd' })
    expect(approvalIn({ ...pending, reason: 'a\ud800' } as ApprovalAnswer)).toMatchObject({ reason: 'a\ufffd' })
  })

  test.each<[string, object]>([
    ['of no kind', { reason: 'no' }],
    ['of a kind that nobody knows', { ...refused, kind: 'Perhaps' }],
    ['of a kind in other letters', { ...refused, kind: 'REFUSED' }],
    ['a refusal without a reason', { kind: 'Refused' }],
    ['a refusal whose policies are no names', { ...refused, policies: [1] }],
    ['a refusal whose errors are no texts', { ...refused, errors: 'odd' }],
    ['a refusal that says strangely by whom', { ...refused, by_policy: 'yes' }],
    ['a request without a handle', { ...pending, approval_id: undefined }],
    ['a request without an end', { ...pending, expires_at: 'soon' }],
    ['a request without a reason', { ...pending, reason: undefined }],
    ['a request that calls itself a refusal', { ...pending, kind: 'Refused', reason: undefined }],
    ['a refusal that calls itself a request', { ...refused, kind: 'Pending' }],
  ])('%s is a doubt', (_, answer) => {
    expect(() => approvalIn(answer as ApprovalAnswer)).toThrow(unclear('an answer about the approval'))
  })

  test.each([{ policies: ['\ud800'] }, { errors: ['\ud800'] }])(
    'with names that no journal can hold is a doubt: %j',
    (names) => {
      expect(() => approvalIn({ ...refused, ...names } as unknown as ApprovalAnswer)).toThrow()
    },
  )
})

describe('a decision', () => {
  test('is a copy: what the gate does with its own afterwards changes nothing', () => {
    const given = { kind: 'Allow', policies: ['p'] }
    const decision = decisionIn(given)
    given.policies.push('q')
    expect(decision).toEqual({ kind: 'Allow', policies: ['p'] })
  })

  test('that is none of the three is a doubt', () => {
    expect(() => decisionIn({ kind: 'Allow' })).toThrow(unclear('a decision'))
    expect(() => decisionIn(null)).toThrow(unclear('a decision'))
  })
})
