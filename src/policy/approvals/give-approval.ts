/**
 * Making approvals: the one place that does, for the escalation gate that asked a person.
 *
 * An approval is bound to one fingerprint and one iteration of one run, and it ends with the first of: the lifetime that
 * was asked for, what is left of the run, and the longest time a tool may take. Using it up is `spendApproval` in calls.
 */

import { makeApproval } from '../../calls/approval.ts'
import {
  type Approval,
  type ApprovalResolution,
  authorizationBinding,
  type PreparedCall,
  type RunContext,
} from '../../calls/index.ts'
import { assert, Fault, instantOf, millisecondsOf, timestampOf } from '../../core/index.ts'
import type { World } from '../../world/index.ts'

export interface ApprovalParts {
  /** The id under which the request was held. */
  readonly id: string
  readonly call: PreparedCall
  readonly run: RunContext
  /** Who decided what, and when. */
  readonly resolution: ApprovalResolution
  /** How long the approval was asked to last. */
  readonly lifetimeMs: number
  /** What is left of the run. */
  readonly remainingMs: number
}

/** Throws `GRANT_REFUSED` when no time is left to use it. */
export function giveApproval(parts: ApprovalParts, clock: Pick<World['clock'], 'monotonicMs' | 'wall'>): Approval {
  const { id, call, run, resolution } = parts
  assert(resolution.decision === 'approve', 'an approval is made only of a decision to approve')
  assert(resolution.agent_id === run.agent_id, 'an approval is made for the principal that was shown')
  const lifeMs = Math.min(parts.lifetimeMs, parts.remainingMs, millisecondsOf(run.config.tool_timeout))
  if (!(lifeMs > 0)) {
    throw new Fault('GRANT_REFUSED', {
      message: `Cannot give the approval "${id}": no time is left to use it`,
      hint: 'Ask for a new approval in a run that has time left',
    })
  }
  const wallMicroseconds = Number(instantOf(clock.wall()) / 1000n)
  return makeApproval({
    id,
    fingerprint: call.fingerprint,
    binding: authorizationBinding(run),
    expires_at_utc: timestampOf(wallMicroseconds + Math.floor(lifeMs * 1000)),
    expiresAtMs: clock.monotonicMs() + lifeMs,
    resolution: Object.freeze({ ...resolution }),
  })
}
