/**
 * The clock of a simulated process. Deadlines follow the machine's steps; the wall is set by whoever sets it, and may go back
 * from one process to the next. Within one process it only moves forward, as the port promises.
 */
import { assert, timestampOf } from '../../../core/index.ts'
import type { Clock } from '../../../world/index.ts'
import type { Owner, Turns } from './turns.ts'

/** What the wall of the machine shows beyond its steps; anybody may set it. */
export interface Wall {
  offsetMs: number
}

const START_MS = Date.UTC(2026, 0, 1)

export function simClock(turns: Turns, wall: Wall, owner: Owner): Clock {
  let lastMicros = 0
  const timer = (ms: number, callback: () => void): (() => void) => {
    assert(Number.isFinite(ms), 'a timer has a finite length')
    return turns.after(ms, owner, 'timer', callback)
  }
  return {
    wall: () => {
      lastMicros = Math.max(Math.floor((START_MS + turns.nowMs + wall.offsetMs) * 1000), lastMicros + 1)
      return timestampOf(lastMicros)
    },
    monotonicMs: () => turns.nowMs,
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const stop = (): void => {
          cancel()
          reject(signal.reason)
        }
        const cancel = turns.after(ms, owner, 'sleep', () => {
          signal.removeEventListener('abort', stop)
          resolve()
        })
        signal.addEventListener('abort', stop, { once: true })
      }),
    yield: () => turns.perform(0, owner, 'yield', () => undefined),
  }
}
