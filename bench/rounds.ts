/**
 * Rounds: everything is measured several times, and what is compared takes turns, so that a busy neighbour hurts both
 * sides. What is kept of the rounds is the median; a best case would be a promise nobody can keep.
 */
export interface Turns {
  /** At least five, except for a quick look. */
  readonly rounds: number
}

export type Sample = () => Promise<number> | number

export interface Compared {
  readonly value: number
  readonly floor: number
  readonly ratio: number
}

/** Both sides in turns, the second first in every other round. One round before the first is not counted. */
export async function compare({ rounds }: Turns, value: Sample, floor: Sample): Promise<Compared> {
  const values: number[] = []
  const floors: number[] = []
  const ratios: number[] = []
  for (let round = -1; round < rounds; round += 1) {
    const swapped = round % 2 === 0
    const first = await settled(swapped ? floor : value)
    const second = await settled(swapped ? value : floor)
    if (round < 0) continue
    const [ours, bare] = swapped ? [second, first] : [first, second]
    values.push(ours)
    floors.push(bare)
    ratios.push(ours / bare)
  }
  return { value: median(values), floor: median(floors), ratio: median(ratios) }
}

/** As `compare`, for what has no floor. */
export async function repeat({ rounds }: Turns, sample: Sample): Promise<number> {
  const values: number[] = []
  for (let round = -1; round < rounds; round += 1) {
    const value = await settled(sample)
    if (round >= 0) values.push(value)
  }
  return median(values)
}

export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/**
 * Starts without the garbage of the sample before, where the process was started with the collector in reach. Only the young
 * part of the heap is collected: a full collection on demand also throws away compiled code, which no server does 40 times a second.
 */
async function settled(sample: Sample): Promise<number> {
  await globalThis.gc?.({ type: 'minor', execution: 'async' })
  return await sample()
}

/** Milliseconds of the wall, and of all processors together, for one piece of work. */
export async function timed(work: () => Promise<unknown> | unknown): Promise<{ wallMs: number; cpuMs: number }> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await work()
  const wallMs = performance.now() - start
  const { user, system } = process.cpuUsage(cpu)
  return { wallMs, cpuMs: (user + system) / 1000 }
}
