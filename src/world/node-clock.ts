/** Real time. Timers are chained below 2^31 ms, because a longer one fires at once in Node. */
import { setImmediate as immediate } from 'node:timers/promises'
import { assert, type Timestamp, timestampOf } from '../core/index.ts'
import type { Clock } from './world.ts'

const TIMER_MS_MAX = 2_000_000_000

export function nodeClock(): Clock {
  let last = 0
  return {
    wall(): Timestamp {
      const now = Math.floor((performance.timeOrigin + performance.now()) * 1000)
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

function timer(ms: number, callback: () => void, keepAlive = true): () => void {
  assert(Number.isFinite(ms), 'a timer has a finite length')
  const end = performance.now() + ms
  let handle: NodeJS.Timeout
  const arm = (): void => {
    const left = end - performance.now()
    handle = setTimeout(left > TIMER_MS_MAX ? arm : callback, Math.min(Math.max(0, left), TIMER_MS_MAX))
    if (!keepAlive) handle.unref()
  }
  arm()
  return () => clearTimeout(handle)
}
