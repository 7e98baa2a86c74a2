/**
 * What a gate answers, read once and strictly. A gate may be foreign code, and only a clear answer counts: what is neither
 * an allowance nor a denial, or cannot be written down as it was given, is a doubt, and a doubt never allows (law 5).
 */
import { canonical, copyOf, Fault, fits, type Shape, shapes } from '../core/index.ts'
import { actionShape } from '../events/index.ts'
import type { ApprovalAnswer, Decision } from '../policy/index.ts'

const { bool, list, literal, open, optional, text } = shapes

const DECISIONS: { readonly [K in Decision['kind']]: Shape<Extract<Decision, { kind: K }>> } = {
  Allow: open({ kind: literal('Allow'), policies: list(text) }),
  Deny: open({ kind: literal('Deny'), reason: text, policies: list(text), errors: list(text) }),
  Modify: open({ kind: literal('Modify'), modified_action: actionShape, reason: text, policies: list(text) }),
}

const refusedShape = open({
  kind: literal('Refused'),
  reason: text,
  policies: optional(list(text)),
  errors: optional(list(text)),
  by_policy: optional(bool),
})
const pendingShape = open({ kind: literal('Pending'), reason: text, approval_id: text, expires_at: shapes.timestamp })

/** A copy, so that what was judged is what is written, and what a getter says next time does not matter. */
export function decisionIn(answer: unknown): Decision {
  const decision: unknown = copyOf(answer)
  for (const shape of Object.values(DECISIONS)) {
    if (fits<Decision>(shape, decision)) {
      canonical(decision) // it goes into the journal, which takes no lone surrogate
      return decision
    }
  }
  throw unclear('a decision')
}

/** Not copied, because an approval is authority and exists once. */
export function approvalIn(answer: ApprovalAnswer): ApprovalAnswer {
  const { kind } = answer
  if (kind === 'NotNeeded') return { kind }
  if (kind === 'Approved') return { kind, approval: answer.approval }
  if (kind === 'Refused' && fits(refusedShape, { ...answer })) {
    const { reason, policies = [], errors = [], by_policy = false } = structuredClone({ ...answer })
    canonical([policies, errors])
    return { kind, reason: reason.toWellFormed(), policies, errors, by_policy }
  }
  if (kind === 'Pending' && fits(pendingShape, { ...answer })) {
    const { approval_id, expires_at } = answer
    return { kind, reason: answer.reason.toWellFormed(), approval_id, expires_at }
  }
  throw unclear('an answer about the approval')
}

function unclear(what: string): Fault {
  return new Fault('POLICY_ENGINE', {
    message: `Cannot judge the call: what the gate answered is not ${what}`,
    hint: 'Correct the gate; until then it denies',
  })
}
