/** What the broker asks of the rest of the runtime; `runtime` fills it. */
import type { InvocationId, Timestamp } from '../core/index.ts'
import type { BrokerCall, CallOptions, GovernedToolSession, IdentifiedOutcome } from '../session/index.ts'

/** The part of a governed session that a client can reach. The admission of the host's own action is not in it. */
export type ClientSession = Pick<
  GovernedToolSession,
  'definitions' | 'permitted' | 'principal' | 'ended' | 'failureReason' | 'call' | 'close'
>

/** Calls that come with an id of the caller, each of which happens at most once. */
export interface IdentifiedCalls {
  call(id: InvocationId, call: BrokerCall, signal: AbortSignal, options?: CallOptions): Promise<IdentifiedOutcome>
}

/** Where the client of a session may ask how far a held call of its own is. */
export interface HeldCalls {
  find(approvalId: string): HeldCall | null
  /** True of an approval that a call has used up: `find` still says that it was approved. */
  isSpent(approvalId: string): boolean
}

export interface HeldCall {
  readonly status: 'pending' | 'approved' | 'denied' | 'expired'
  readonly expires_at: Timestamp
}
