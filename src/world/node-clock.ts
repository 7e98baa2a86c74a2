/** Real time. Timers are chained below 2^31 ms, because a longer one fires at once in Node. */
import { setImmediate as immediate } from 'node:timers/promises'
import { assert, type Timestamp, timestampOf } from '../core/index.ts'
import type { Clock } from './world.ts'

const TIMER_MS_MAX = 2_000_000_000
/** How far the fine clock may stray from the wall before it follows it: after a suspend, or when somebody set the time. */
const STRAY_MS_MAX = 100

export function nodeClock(): Clock {
  let origin = performance.timeOrigin
  let last = 0
  return {
    wall(): Timestamp {
      const wall = Date.now()
      if (Math.abs(origin + performance.now() - wall) > STRAY_MS_MAX) origin = wall - performance.now()
      const now = Math.floor((origin + performance.now()) * 1000)
      last = Math.max(now, last + 1) // an adjusted clock and two calls in one microsecond both move forward
      return timestampOf(last)
    },
    monotonicMs: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const stop = (): void => {
          cancel()
          reject(signal.reason)
        }
        const cancel = timer(ms, () => {
          signal.removeEventListener('abort', stop)
          resolve()
        })
        signal.addEventListener('abort', stop, { once: true })
      }),
    timer,
    yield: () => immediate(),
  }
}

/** Fires when the monotonic clock has reached the end, and not a fraction of a millisecond earlier as Node's timers may. */
function timer(ms: number, callback: () => void, keepAlive = true): () => void {
  assert(Number.isFinite(ms), 'a timer has a finite length')
  const end = performance.now() + ms
  let handle: NodeJS.Timeout
  const arm = (): void => {
    const left = Math.max(0, Math.ceil(end - performance.now()))
    handle = setTimeout(fire, Math.min(left, TIMER_MS_MAX))
    if (!keepAlive) handle.unref()
  }
  const fire = (): void => {
    if (performance.now() < end) arm()
    else callback()
  }
  arm()
  return () => clearTimeout(handle)
}
