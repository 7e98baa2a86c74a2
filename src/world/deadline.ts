/**
 * Racing work against a deadline and a cancellation. Giving up does not stop the work: it gets the abort signal, and its
 * late result or rejection is swallowed. Cancellation wins ties, then the deadline (now >= deadline), then the work.
 *
 * Much of what is raced ends before anything else could have its turn: a gate that only computes, a tool that has its answer.
 * So nothing is armed for the first few turns of the microtask queue, in which no timer can fire and no signal can come from
 * outside. And a race inside another one that ends no later is watched by the clock of the outer.
 */
import type { Clock } from './world.ts'

export interface DeadlineRace {
  readonly clock: Clock
  /** Monotonic. */
  readonly deadlineMs: number
  /** Made only when the deadline is the winner. */
  readonly late: () => Error
  /** Whose signal the work gets, for a caller that has reasons of its own to stop it. Aborting it loses the race with that reason. */
  readonly stop?: AbortController
  /** The work is known to take longer than a few microtasks: all is armed at once. */
  readonly long?: true
}

/** The signals of the races that go on, each with the clock and the end by which it is given. */
const running = new WeakMap<AbortSignal, Running>()

export async function raceDeadline<T>(
  race: DeadlineRace,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const { clock, deadlineMs, late, stop, long } = race
  if (clock.monotonicMs() >= deadlineMs) throw late()
  if (stop === undefined && isWithin(race, running.get(signal))) {
    const working = Promise.resolve(work(signal))
    return await firstOf(signal, working, await endsSoon(working))
  }
  const inner = stop ?? new AbortController()
  running.set(inner.signal, { clock, deadlineMs })
  const cancelled = (): void => inner.abort(signal.reason)
  let stopTimer = (): void => undefined
  try {
    const working = Promise.resolve(work(inner.signal))
    const soon = long !== true && (await endsSoon(working))
    if (signal.aborted) cancelled()
    else if (!soon) {
      const leftMs = deadlineMs - clock.monotonicMs()
      if (leftMs <= 0) inner.abort(late())
      else stopTimer = clock.timer(leftMs, () => inner.abort(late()))
      signal.addEventListener('abort', cancelled, { once: true })
    }
    return await firstOf(inner.signal, working, soon)
  } finally {
    stopTimer()
    signal.removeEventListener('abort', cancelled)
    running.delete(inner.signal)
  }
}

type Running = Pick<DeadlineRace, 'clock' | 'deadlineMs'>

function isWithin({ clock, deadlineMs }: Running, outer: Running | undefined): boolean {
  return outer !== undefined && outer.clock === clock && outer.deadlineMs <= deadlineMs
}

/** What the work comes to, or the reason of the signal where that is given first. */
function firstOf<T>(signal: AbortSignal, working: Promise<T>, ended: boolean): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason)
  if (ended) return working
  return new Promise((resolve, reject) => {
    const cancelled = (): void => reject(signal.reason)
    const leave = (): void => signal.removeEventListener('abort', cancelled)
    signal.addEventListener('abort', cancelled, { once: true })
    void working.then(resolve, reject).then(leave)
  })
}

/** Turns of the microtask queue: some more than a small tool takes on its way through its toolbox. */
const SOON_TURNS = 32

/** Whether this ends before anything but microtasks has its turn. Its rejection counts as an end, and as handled. */
export async function endsSoon(work: Promise<unknown>): Promise<boolean> {
  let over = false
  const ended = (): void => {
    over = true
  }
  work.then(ended, ended)
  for (let turn = 0; turn < SOON_TURNS && !over; turn += 1) await null
  return over
}

/** A signal that nobody gives. One for each wait: many that listen on one signal look like a leak, and the platform warns of it. */
export function neverStopped(): AbortSignal {
  return new AbortController().signal
}
