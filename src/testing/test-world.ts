/**
 * A World for tests: the files, sockets and processes of this machine, with time that moves only when the test says so and
 * randomness that comes from a seed. The same seed and the same steps give the same ids, keys and timestamps, down to the
 * bytes of a journal. Nothing made with it is secret: never use it outside tests.
 *
 * Time stands still, so no deadline passes and no heartbeat comes until `advance`. The exception are waits of at most
 * 100 ms: they poll for something outside, such as a lock, which a clock that stands still would never let go of. They end
 * after their real length, and the hands stay where they are.
 */
import { createHash } from 'node:crypto'
import { assert, timestampOf } from '../core/index.ts'
import { type Clock, nodeWorld, type Random, type World } from '../world/index.ts'

export interface TestWorldOptions {
  /** Default 1. */
  readonly seed?: number
  /** Milliseconds since the epoch. Default: the beginning of 2026. A time that lies ahead of the machine's own hides quick changes of policy files. */
  readonly startMs?: number
}

export interface TestWorld extends World {
  /** Moves the hands forward and fires what becomes due, in the order of the ends. Resolves when everything due was told. */
  advance(ms: number): Promise<void>
}

const START_MS = Date.UTC(2026, 0, 1)
const POLL_MS_MAX = 100

export function testWorld({ seed = 1, startMs = START_MS }: TestWorldOptions = {}): TestWorld {
  assert(Number.isSafeInteger(seed), 'a seed is an integer')
  const real = nodeWorld()
  const { clock, advance } = stillClock(real.clock, startMs)
  return { ...real, clock, random: seededRandom(seed), advance }
}

interface Timer {
  readonly endMs: number
  readonly fire: () => void
}

function stillClock(real: Clock, startMs: number): { readonly clock: Clock; advance(ms: number): Promise<void> } {
  let nowMs = 0
  let lastMicros = 0
  const timers = new Set<Timer>()
  const timer = (ms: number, callback: () => void): (() => void) => {
    assert(Number.isFinite(ms), 'a timer has a finite length')
    const entry = { endMs: nowMs + Math.max(0, ms), fire: callback }
    timers.add(entry)
    return () => void timers.delete(entry)
  }
  const clock: Clock = {
    wall: () => {
      lastMicros = Math.max((startMs + nowMs) * 1000, lastMicros + 1) // every call is later than the one before
      return timestampOf(lastMicros)
    },
    monotonicMs: () => nowMs,
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason)
        const poll = new AbortController()
        const settle = (done: () => void) => (): void => {
          cancel()
          poll.abort()
          signal.removeEventListener('abort', stop)
          done()
        }
        const end = settle(resolve)
        const stop = settle(() => reject(signal.reason))
        const cancel = timer(ms, end)
        signal.addEventListener('abort', stop, { once: true })
        if (ms <= POLL_MS_MAX) real.sleep(ms, poll.signal).then(end, () => undefined)
      }),
    yield: () => real.yield(),
  }
  const advance = async (ms: number): Promise<void> => {
    assert(Number.isFinite(ms) && ms >= 0, 'time moves forward')
    const untilMs = nowMs + ms
    for (let next = soonest(timers, untilMs); next !== null; next = soonest(timers, untilMs)) {
      timers.delete(next)
      nowMs = next.endMs
      next.fire()
      await real.yield() // what it woke may arm the next timer
    }
    nowMs = untilMs
    await real.yield()
  }
  return { clock, advance }
}

function soonest(timers: ReadonlySet<Timer>, untilMs: number): Timer | null {
  let found: Timer | null = null
  for (const timer of timers) {
    if (timer.endMs <= untilMs && (found === null || timer.endMs < found.endMs)) found = timer
  }
  return found
}

/** The digests of seed and counter, one after the other: the same bytes however they are asked for. */
function seededRandom(seed: number): Random {
  let left = Buffer.alloc(0)
  let counter = 0
  return {
    bytes: (count) => {
      const blocks = [left]
      for (let length = left.length; length < count; length += 32) {
        blocks.push(createHash('sha256').update(`${seed}:${counter++}`).digest())
      }
      const all = Buffer.concat(blocks)
      left = all.subarray(count)
      return new Uint8Array(all.subarray(0, count))
    },
  }
}
