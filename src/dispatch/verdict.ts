/** The verdict on one proposed action, and what the journal is told of it: who denied, and what can be judged again. */
import type { Grant } from '../calls/grant.ts'
import { type Approval, invocationView, type PreparedCall } from '../calls/index.ts'
import { type Code, cutText, type Json, type JsonObject } from '../core/index.ts'
import type { ProposedAction } from '../events/index.ts'
import { type ApprovalAnswer, approvalFits, type Decision, type GateQuestion } from '../policy/index.ts'

export type Verdict = Granted | Denied

export interface Granted {
  readonly kind: 'Granted'
  readonly grant: Grant
  /** What `PolicyEvaluated.approved_calls` records of it. */
  readonly evidence: JsonObject
}

export interface Denied {
  readonly kind: 'Denied'
  readonly action: ProposedAction
  /** What the model sees. */
  readonly reason: string
  /** Set when the call only waits for a person: the same call may be proposed again under this handle. */
  readonly pending?: PendingApproval
  /** Set when the arguments are not to blame: why the tool takes no call now. */
  readonly refusal?: Refusal
  /** What `PolicyEvaluated.denied_calls` records of it. */
  readonly evidence: JsonObject
}

export interface Refusal {
  readonly code: Code
  readonly hint: string
}

export type PendingApproval = Pick<Extract<ApprovalAnswer, { kind: 'Pending' }>, 'approval_id' | 'expires_at'>

/**
 * The step that denied. Only what policy judged can be judged again from the evidence, and only with the approval that
 * policy was shown: so a denial by policy records both, as an allowed call does.
 */
export interface Denier {
  readonly step: 'preparation' | 'restriction' | 'approval' | 'policy' | 'runtime'
  readonly policies: readonly string[]
  readonly errors: readonly string[]
  /** What policy was shown; null for no approval. */
  readonly approval?: Json
}

export function by(step: Denier['step']): Denier {
  return { step, policies: [], errors: [] }
}

/** A gate that is shown the approval of another call denies for that, whatever its policies say. */
export function judgedBy({ policies, errors }: Decision & { kind: 'Deny' }, asked: GateQuestion): Denier {
  if (!approvalFits(asked)) return { step: 'approval', policies, errors }
  return { step: 'policy', policies, errors, approval: resolutionOf(asked.approval) }
}

export function resolutionOf(approval: Approval | null): Json {
  return approval === null ? null : (approval.resolution as unknown as Json)
}

/** What a gate or a tool says is foreign text, and all decisions of a batch share one entry. */
const REASON_UNITS_MAX = 4096

export function denied(action: ProposedAction, why: string, call: PreparedCall | null, denier: Denier): Denied {
  const { step, policies, errors, approval } = denier
  const reason = cutText(why, REASON_UNITS_MAX)
  return {
    kind: 'Denied',
    action,
    reason,
    evidence: {
      action: action as unknown as Json,
      reason,
      denied_by: step,
      determining_policies: policies,
      ...(errors.length === 0 ? {} : { policy_errors: errors.map((error) => cutText(error, REASON_UNITS_MAX)) }),
      ...(approval === undefined ? {} : { approval }),
      ...(call === null ? {} : { call: invocationView(call) }),
    },
  }
}

/** A call that nobody decided about is denied like any other, and says under which handle it may come back. */
export function held(denial: Denied, { approval_id, expires_at }: PendingApproval): Denied {
  return {
    ...denial,
    pending: { approval_id, expires_at },
    evidence: { ...denial.evidence, pending_approval: { approval_id, expires_at } },
  }
}
