/**
 * What this process uses, measured. Memory is known at once; processor use needs two readings some time apart, and until
 * the second one it is null: a number that was not sampled is never shown as zero.
 */
import type { World } from '../world/index.ts'

/** Shorter spans say more about the garbage collector than about the load. */
const SPAN_MS_MIN = 1000

export type UsageReading = {
  readonly memory_bytes: number
  /** Of one processor, over the span since the reading before; several threads together may exceed 100. */
  readonly cpu_percent: number | null
}

export function usageMeter({ clock, processes }: Pick<World, 'clock' | 'processes'>): () => UsageReading {
  let sinceMs = clock.monotonicMs()
  let sinceMicros = processes.usage().cpuMicros
  let percent: number | null = null
  return () => {
    const { memoryBytes, cpuMicros } = processes.usage()
    const nowMs = clock.monotonicMs()
    if (nowMs - sinceMs >= SPAN_MS_MIN) {
      percent = Math.round(Math.max(0, cpuMicros - sinceMicros) / (nowMs - sinceMs)) / 10 // micros a ms are tenths of a percent
      sinceMs = nowMs
      sinceMicros = cpuMicros
    }
    return { memory_bytes: memoryBytes, cpu_percent: percent }
  }
}
