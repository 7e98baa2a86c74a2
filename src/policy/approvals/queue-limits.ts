/** What the queue may hold, and for how long: the bounds of 8.6, and an expiry on both clocks. */
import { instantOf, type Timestamp, timestampOf } from '../../core/index.ts'
import type { Clock } from '../../world/index.ts'

export const QUEUE_LIMITS = {
  /** Held actions of one session that have not ended. */
  perSessionMax: 16,
  /** Of all sessions together. */
  heldMax: 1024,
  /** Canonical bytes of one snapshot. What is longer is reviewed by nobody. */
  snapshotBytesMax: 256 * 1024,
  /** Of all snapshots together. */
  snapshotsBytesMax: 64 * 1024 * 1024,
  /** Ended actions whose end is still told from memory. */
  recentMax: 1024,
}
export type QueueLimits = Readonly<typeof QUEUE_LIMITS>

export interface Expiry {
  readonly created_at: Timestamp
  readonly expires_at: Timestamp
  /** Monotonic. */
  readonly deadlineMs: number
}

/** Null for a lifetime that is over before it begins, is no number, or ends where no timestamp reaches. */
export function expiryOf(clock: Clock, lifetimeMs: number): Expiry | null {
  if (!(lifetimeMs > 0)) return null
  const created_at = clock.wall()
  const endMicros = Number(instantOf(created_at) / 1000n) + Math.floor(lifetimeMs * 1000)
  if (!Number.isSafeInteger(endMicros)) return null
  return { created_at, expires_at: timestampOf(endMicros), deadlineMs: clock.monotonicMs() + lifetimeMs }
}

/** Either clock ends it: a wall clock that was set forward, as well as time that passed. */
export function hasLapsed(
  clock: Clock,
  { expires_at, deadlineMs }: Pick<Expiry, 'expires_at' | 'deadlineMs'>,
): boolean {
  return clock.monotonicMs() >= deadlineMs || instantOf(clock.wall()) >= instantOf(expires_at)
}
