export { ESCALATION_TIMEOUT_MS, type EscalationOptions, escalationGate } from './approvals/escalation-gate.ts'
export { type ApprovalParts, giveApproval } from './approvals/give-approval.ts'
export {
  type Approver,
  type GivenDecision,
  type HeldAction,
  heldActionShape,
  type Presented,
  type QueueChange,
  type WaitEnd,
} from './approvals/held-action.ts'
export { type HeldCounts, heldCounts } from './approvals/held-counts.ts'
export { HELD_LIFETIME_MS, type HeldOptions, heldGate } from './approvals/held-gate.ts'
export type { Asked, Notifier } from './approvals/notifier.ts'
export { ApprovalQueue } from './approvals/queue.ts'
export type { HoldAnswer, HoldRequest, PresentedCall, QueueOptions } from './approvals/queue-calls.ts'
export { QUEUE_LIMITS, type QueueLimits } from './approvals/queue-limits.ts'
export { reviewDigest, reviewText, terminalReview } from './approvals/review-text.ts'
export { unattendedGate } from './approvals/unattended-gate.ts'
export { CedarEngine, sharedEngine } from './cedar/cedar-engine.ts'
export { type CedarGate, type CedarGateOptions, cedarGate } from './cedar/cedar-gate.ts'
export { approvalFits, type Judged } from './cedar/cedar-request.ts'
export type { PolicyEntry } from './cedar/policy-set.ts'
export { describe as describeProblem, type Problem } from './cedar/problems.ts'
export { denyEverythingGate, failClosedGate, permissiveGate, toolFilterGate } from './fixed-gates.ts'
export { type LoadedPolicies, type LoadOptions, loadPolicies } from './folder/load-policies.ts'
export { isPlainName, readPolicyFile, SURFACE } from './folder/policy-folder.ts'
export { type PolicyNews, type WatchedGate, type WatchOptions, watchedGate } from './folder/watched-gate.ts'
export {
  type ApprovalAnswer,
  ASSUMED_APPROVAL,
  type Decision,
  deny,
  type Gate,
  type GateQuestion,
  heldBinding,
  mayAllow,
  NO_APPROVER,
  withoutApprover,
} from './gate.ts'
export {
  type BlockTrace,
  evaluateInline,
  type InlineQuestion,
  type InlineRuling,
  questionOf,
  type RuleTrace,
  showRead,
} from './inline/evaluate-inline.ts'
export { type Read, Unanswerable } from './inline/inline-condition.ts'
export { restrictedBy } from './inline/inline-toolbox.ts'
export { type Candidate, type CandidateOptions, openCandidate } from './offline/candidate.ts'
export { checkPolicies, checkPolicyText, type PolicyCheck, surfacesOf } from './offline/check-policies.ts'
export { type EvaluateOptions, evaluatePolicy, type PolicyEvaluation } from './offline/evaluate-policy.ts'
export type { PolicyPlace } from './offline/policy-place.ts'
export { recordedCall } from './offline/recorded-call.ts'
