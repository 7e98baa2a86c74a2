/**
 * Approvals: single-use, in memory, bound to one fingerprint and one iteration of one run. Guarded: only `policy` makes
 * them. They cannot be built from JSON; a copy, a cast and a second use are refused at run time.
 */
import { type AgentId, assert, Fault, type Hash, type JsonObject, type Timestamp } from '../core/index.ts'

declare const approved: unique symbol
export interface Approval {
  readonly [approved]: true
  readonly id: string
  readonly fingerprint: Hash
  readonly binding: Hash
  readonly expires_at_utc: Timestamp
  /** Monotonic; passed means now >= expiresAtMs. */
  readonly expiresAtMs: number
  readonly resolution: ApprovalResolution
}

/** The event of 8.6: who decided what, and when. */
export interface ApprovalResolution {
  readonly escalation_id: string
  readonly agent_id: AgentId
  readonly decision: 'approve' | 'deny'
  readonly approver: JsonObject
  readonly at: Timestamp
}

const unspent = new WeakSet<object>()

export function makeApproval(parts: Omit<Approval, typeof approved>): Approval {
  const approval = Object.freeze({ ...parts }) as Approval
  unspent.add(approval)
  return approval
}

/** What an approval must fit to be worth anything. */
export interface ApprovalNeed {
  readonly agent_id: AgentId
  readonly fingerprint: Hash
  readonly binding: Hash
  readonly nowMs: number
}

/** Uses the approval up. Throws `GRANT_REFUSED` when it does not fit; a forged or spent one is a Bug. */
export function spendApproval(approval: Approval, need: ApprovalNeed): void {
  assert(unspent.delete(approval), 'an approval is spent once, and only policy makes one')
  const misfit =
    approval.fingerprint !== need.fingerprint
      ? 'it was given for another call'
      : approval.binding !== need.binding
        ? 'the run changed since it was given'
        : need.nowMs >= approval.expiresAtMs
          ? 'it has expired'
          : approval.resolution.decision !== 'approve' || approval.resolution.agent_id !== need.agent_id
            ? 'its resolution is not an approval for this principal'
            : null
  if (misfit === null) return
  throw new Fault('GRANT_REFUSED', {
    message: `Cannot use the approval "${approval.id}": ${misfit}`,
    hint: 'Ask for a new approval of the call as it is now',
  })
}
