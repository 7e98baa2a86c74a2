/**
 * Where an input went: the counters of code that was compiled to count (`scripts/instrument.mjs`). Code that does not count
 * gives no coverage, and the fuzzer then tries inputs without being guided.
 */
import { COUNTERS } from '../../scripts/instrument.mjs'

export interface Trail {
  /** A number for each way that was taken, and about how often: eight bits a counter. */
  readonly marks: readonly number[]
  /** Counters that moved. */
  readonly edges: readonly number[]
  /** All that was counted. */
  readonly steps: number
}

const NOWHERE: Trail = { marks: [], edges: [], steps: 0 }

function counters(): Uint32Array | undefined {
  return (globalThis as { [COUNTERS]?: Uint32Array })[COUNTERS]
}

export function isCounting(): boolean {
  return counters() !== undefined
}

export function startTrail(): void {
  counters()?.fill(0)
}

export function trail(): Trail {
  const counts = counters()
  if (counts === undefined) return NOWHERE
  const marks: number[] = []
  const edges: number[] = []
  let steps = 0
  for (let at = 0; at < counts.length; at += 1) {
    const count = counts[at] as number
    if (count === 0) continue
    steps += count
    edges.push(at)
    marks.push(at * 8 + bucket(count))
  }
  return { marks, edges, steps }
}

/** Once, twice, three times, and then powers of two: a loop that runs 41 times instead of 40 is nothing new. */
function bucket(count: number): number {
  if (count <= 3) return count - 1
  if (count < 8) return 3
  if (count < 16) return 4
  if (count < 32) return 5
  return count < 128 ? 6 : 7
}

/** The first way that was never taken before is where a corpus grows. */
export class Seen {
  readonly #marks = new Set<number>()
  readonly #edges = new Set<number>()

  get edges(): number {
    return this.#edges.size
  }

  isNew({ marks }: Trail): boolean {
    return marks.some((mark) => !this.#marks.has(mark))
  }

  /** The marks that are new, in the order of their counters. */
  news({ marks }: Trail): readonly number[] {
    return marks.filter((mark) => !this.#marks.has(mark))
  }

  add({ marks, edges }: Trail): void {
    for (const mark of marks) this.#marks.add(mark)
    for (const edge of edges) this.#edges.add(edge)
  }
}
