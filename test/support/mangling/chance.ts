/** Choices from a seed: the same seed makes the same choices, in the same order. */
export interface Chance {
  /** 0 up to, and without, the bound. */
  below(bound: number): number
  /** From the first up to, and without, the last. */
  between(from: number, to: number): number
  pick<T>(list: readonly T[]): T
  bytes(count: number): Buffer
}

/** Seeds that lie side by side have nothing in common. The generator is mulberry32. */
export function chanceOf(seed: number): Chance {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const below = (bound: number): number => {
    if (!(bound > 0)) throw new Error(`nothing can be chosen below ${bound}`)
    return next() % bound
  }
  return {
    below,
    between: (from, to) => from + below(to - from),
    pick: <T>(list: readonly T[]): T => list[below(list.length)] as T,
    bytes: (count) => Buffer.from(Array.from({ length: count }, () => below(256))),
  }
}
