/** What the queue is told and asked, as data. */
import type { ApprovalResolution } from '../../calls/index.ts'
import type { GateQuestion } from '../gate.ts'
import type { HeldAction, WaitEnd } from './held-action.ts'
import type { Notifier } from './notifier.ts'
import type { QueueLimits } from './queue-limits.ts'

export interface QueueOptions {
  /** Sees each resolution after it was made. */
  readonly audit?: (resolution: ApprovalResolution) => void | Promise<void>
  /** Told of each action from when it is held to when it is decided, or over. */
  readonly notifiers?: readonly Notifier[]
  /** Told what went wrong where no caller can be told. */
  readonly report?: (what: string, error: unknown) => void
  /** Overrides of `QUEUE_LIMITS`. */
  readonly limits?: Partial<QueueLimits>
}

export interface HoldRequest extends PresentedCall {
  /** Why it needs an approval. */
  readonly reason: string
  /** `waits`: somebody waits for the decision. `presented`: the asker comes back with the handle (design 5). */
  readonly use: 'waits' | 'presented'
  /** How long it may stay without having been decided and, where it is presented, used. */
  readonly lifetimeMs: number
}

export type HoldAnswer =
  | {
      readonly kind: 'Held'
      readonly action: HeldAction
      /** Resolves with the decision, or with why there is none; never rejects. */
      readonly ended: Promise<WaitEnd>
    }
  | { readonly kind: 'NotHeld'; readonly reason: string }

/** Which call, of which run, and of which session where the run is not the session's own. */
export type PresentedCall = Pick<GateQuestion, 'call' | 'run' | 'session'>
