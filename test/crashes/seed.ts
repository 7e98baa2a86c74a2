/** Chance that repeats itself: the same numbers for the same seed. */
export interface Dice {
  /** From 0 up to, and without, this number. */
  below(count: number): number
  uuid(): string
}

export function diceOf(seed: number): Dice {
  let state = (seed * 2654435761 + 1) >>> 0 || 1
  const below = (count: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % count
  }
  const hex = (count: number): string => Array.from({ length: count }, () => below(16).toString(16)).join('')
  return { below, uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}` }
}

export function shuffled<T>({ below }: Dice, list: readonly T[]): readonly T[] {
  const left = [...list]
  for (let index = left.length - 1; index > 0; index -= 1) {
    const other = below(index + 1)
    ;[left[index], left[other]] = [left[other] as T, left[index] as T]
  }
  return left
}
