/**
 * A watch over inputs that never end. A loop that does not end cannot tell of itself, so a thread of its own looks on: it
 * sees which input runs, and when that stays the same for too long it leaves the input in a file and ends the process.
 */
import { Worker } from 'node:worker_threads'

export interface Watchdog {
  before(input: Uint8Array): void
  stop(): Promise<unknown>
}

export interface WatchdogOptions {
  /** Where an input is left that did not end. */
  readonly file: string
  /** What the process says on stderr before it ends. */
  readonly says: string
  readonly bytesMax: number
  /** Default 20,000. An input may take at least so long, and not twice as long. */
  readonly patienceMs?: number
}

export function startWatchdog({ file, says, bytesMax, patienceMs = 20_000 }: WatchdogOptions): Watchdog {
  const head = new Int32Array(new SharedArrayBuffer(8)) // a number that changes with each input, and its length
  const bytes = new Uint8Array(new SharedArrayBuffer(Math.max(1, bytesMax)))
  const worker = new Worker(LOOK, { eval: true, workerData: { head, bytes, file, says, patienceMs } })
  worker.unref()
  return {
    before: (input) => {
      bytes.set(input.subarray(0, bytes.length))
      head[1] = Math.min(input.length, bytes.length)
      Atomics.add(head, 0, 1)
    },
    stop: () => worker.terminate(),
  }
}

const LOOK = `
const { workerData } = require('node:worker_threads')
const { writeFileSync, writeSync } = require('node:fs')
const { head, bytes, file, says, patienceMs } = workerData
let last = 0 // until the first input there is nothing to wait for
setInterval(() => {
  const now = Atomics.load(head, 0)
  if (now !== last || now === 0) return void (last = now)
  writeFileSync(file, Buffer.from(bytes.slice(0, head[1])))
  writeSync(2, says + '\\n')
  process.kill(process.pid, 'SIGKILL')
}, patienceMs)
`
