/**
 * How long the event loop gave nothing else its turn, beside the same for a loop that only waits as long: on a shared
 * machine that is the scheduler's own share, and no work of ours can be below it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'

export async function longestBlock(work: () => Promise<unknown>): Promise<{ blockMs: number; waitingMs: number }> {
  const start = performance.now()
  const blockMs = await watch(work)
  const lasted = performance.now() - start
  return { blockMs, waitingMs: await watch(() => wait(lasted)) }
}

async function watch(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await work()
  await wait(5) // the last block is seen only when the loop turns once more
  delay.disable()
  return delay.max / 1e6
}
