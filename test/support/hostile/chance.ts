/** Numbers by chance, the same for the same seed. */
export type Chance = (below: number) => number

/** xorshift. */
export function chanceOf(seed: number): Chance {
  let state = (seed * 2654435761 + 1) | 0 || 1
  const next = (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
  for (let round = 0; round < 8; round += 1) next() // seeds that are neighbours begin alike
  return (below) => next() % below
}

export function oneOf<T>(chance: Chance, choices: readonly T[]): T {
  return choices[chance(choices.length)] as T
}

export function shuffled<T>(chance: Chance, items: readonly T[]): T[] {
  const left = [...items]
  return items.map(() => left.splice(chance(left.length), 1)[0] as T)
}

export function uuidOf(chance: Chance): string {
  const hex = (count: number): string => Array.from({ length: count }, () => chance(16).toString(16)).join('')
  return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`
}
