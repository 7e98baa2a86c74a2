/** Progress: how a client that asked for it hears that its call still waits or runs. At a bounded rate, and never after the end. */
import type { Clock } from '../world/index.ts'

export interface Progress {
  say(message: string): void
  stop(): void
}

/** A client with a time-out of its own counts from the last word. */
const EVERY_MS = 5_000
const AT_MOST_EVERY_MS = 1_000

export function progressTo(send: (step: number, message: string) => void, clock: Clock): Progress {
  let step = 0
  let last = ''
  let saidAtMs = Number.NEGATIVE_INFINITY
  let cancel = (): void => undefined
  const tell = (): void => {
    step += 1
    saidAtMs = clock.monotonicMs()
    send(step, last)
    arm(EVERY_MS)
  }
  const arm = (ms: number): void => {
    cancel()
    cancel = clock.timer(ms, tell)
  }
  return {
    say: (message) => {
      last = message
      const waitMs = saidAtMs + AT_MOST_EVERY_MS - clock.monotonicMs()
      if (waitMs > 0) arm(waitMs)
      else tell()
    },
    stop: () => cancel(),
  }
}

export const SILENT: Progress = { say: () => undefined, stop: () => undefined }
