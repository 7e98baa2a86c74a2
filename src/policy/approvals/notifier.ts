/** A surface that is told of an action while somebody waits for its decision: it shows it, and may resolve it. */
import type { ApprovalResolution } from '../../calls/index.ts'
import type { Approver, GivenDecision, HeldAction } from './held-action.ts'

export interface Asked {
  readonly action: HeldAction
  /** As `ApprovalQueue.resolve`, for this action. */
  resolve(given: GivenDecision, approver: Approver): Promise<ApprovalResolution>
}

export interface Notifier {
  /** For reports. */
  readonly name: string
  /** The signal is aborted when the wait ends; what has not ended by then is dropped. What it throws decides nothing. */
  notify(asked: Asked, signal: AbortSignal): Promise<void>
}
