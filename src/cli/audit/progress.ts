/** Progress of a verification, for a person who waits: only where somebody looks, and not more often than an eye can follow. */
import type { Cli } from '../cli.ts'
import { oneLine } from '../plain-text.ts'

export function progressOf({ console, world }: Cli, what: string): (done: number, all: number) => void {
  let nextMs = 0
  return (done, all) => {
    const nowMs = world.clock.monotonicMs()
    if (nowMs < nextMs) return
    nextMs = nowMs + 100
    console.progress(`verifying ${oneLine(what, 60)} ${all === 0 ? 100 : Math.floor((done / all) * 100)} %`)
  }
}
