export { ESCALATION_TIMEOUT_MS, type EscalationOptions, escalationGate } from './approvals/escalation-gate.ts'
export {
  type Approver,
  type GivenDecision,
  type HeldAction,
  heldActionShape,
  type Presented,
  type QueueChange,
  type WaitEnd,
} from './approvals/held-action.ts'
export { HELD_LIFETIME_MS, type HeldOptions, heldGate } from './approvals/held-gate.ts'
export type { Asked, Notifier } from './approvals/notifier.ts'
export { ApprovalQueue } from './approvals/queue.ts'
export type { HoldAnswer, HoldRequest, PresentedCall, QueueOptions } from './approvals/queue-calls.ts'
export { QUEUE_LIMITS, type QueueLimits } from './approvals/queue-limits.ts'
export { reviewDigest, reviewText, terminalReview } from './approvals/review-text.ts'
export { unattendedGate } from './approvals/unattended-gate.ts'
export { type ApprovalParts, giveApproval } from './approvals.ts'
export { type Candidate, type CandidateOptions, openCandidate } from './candidate.ts'
export { CedarEngine, sharedEngine } from './cedar-engine.ts'
export { type CedarGate, type CedarGateOptions, cedarGate } from './cedar-gate.ts'
export { approvalFits, type Judged } from './cedar-request.ts'
export { checkPolicies, checkPolicyText, type PolicyCheck } from './check-policies.ts'
export {
  type BlockTrace,
  evaluateInline,
  type InlineQuestion,
  type InlineRuling,
  questionOf,
  type RuleTrace,
  showRead,
} from './evaluate-inline.ts'
export { type EvaluateOptions, evaluatePolicy, type PolicyEvaluation } from './evaluate-policy.ts'
export { denyEverythingGate, failClosedGate, permissiveGate, toolFilterGate } from './fixed-gates.ts'
export {
  type ApprovalAnswer,
  type Decision,
  deny,
  type Gate,
  type GateQuestion,
  heldBinding,
  withoutApprover,
} from './gate.ts'
export { type Read, Unanswerable } from './inline-condition.ts'
export { restrictedBy } from './inline-toolbox.ts'
export { type LoadedPolicies, type LoadOptions, loadPolicies } from './load-policies.ts'
export { isPlainName, readPolicyFile, SURFACES } from './policy-folder.ts'
export type { PolicyPlace } from './policy-place.ts'
export type { PolicyEntry } from './policy-set.ts'
export { describe as describeProblem, type Problem } from './problems.ts'
export { recordedCall } from './recorded-call.ts'
export { type PolicyNews, type WatchedGate, type WatchOptions, watchedGate } from './watched-gate.ts'
