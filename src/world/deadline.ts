/**
 * Racing work against a deadline and a cancellation. Giving up does not stop the work: it gets the abort signal, and its
 * late result or rejection is swallowed. Cancellation wins ties, then the deadline (now >= deadline), then the work.
 */
import type { Clock } from './world.ts'

export interface DeadlineRace {
  readonly clock: Clock
  /** Monotonic. */
  readonly deadlineMs: number
  /** Made only when the deadline is the winner. */
  readonly late: () => Error
}

export async function raceDeadline<T>(
  race: DeadlineRace,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const leftMs = race.deadlineMs - race.clock.monotonicMs()
  if (leftMs <= 0) throw race.late()
  const inner = new AbortController()
  let stopTimer = (): void => undefined
  let stopListening = (): void => undefined
  const lost = new Promise<never>((_, reject) => {
    const give = (reason: unknown): void => {
      reject(reason)
      inner.abort(reason)
    }
    const cancelled = (): void => give(signal.reason)
    signal.addEventListener('abort', cancelled, { once: true })
    stopListening = () => signal.removeEventListener('abort', cancelled)
    stopTimer = race.clock.timer(leftMs, () => give(race.late()))
  })
  try {
    return await Promise.race([lost, work(inner.signal)])
  } finally {
    stopTimer()
    stopListening()
  }
}

/** A signal that nobody gives. One for each wait: many that listen on one signal look like a leak, and the platform warns of it. */
export function neverStopped(): AbortSignal {
  return new AbortController().signal
}
