/**
 * Chance: every choice of a simulated life comes from one of these, and these come from the seed. Streams with different
 * names are independent, so that one more choice in one place changes nothing elsewhere.
 */
import { assert } from '../../core/index.ts'

export interface Chance {
  /** At least 0, below 1. */
  fraction(): number
  /** An integer from 0 to `below - 1`. */
  index(below: number): number
  /** An integer from `min` to `max`, both included. */
  between(min: number, max: number): number
  /** True in this share of cases. */
  happens(share: number): boolean
  pick<T>(from: readonly T[]): T
  bytes(count: number): Uint8Array
}

export function chanceOf(seed: number, stream: string): Chance {
  let state = hashOf(`${seed} ${stream}`)
  const next = (): number => {
    // a Weyl sequence, mixed: small, fast, and good enough to choose with
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
  const fraction = (): number => next() / 0x1_0000_0000
  const index = (below: number): number => Math.floor(fraction() * below)
  return {
    fraction,
    index,
    between: (min, max) => min + index(max - min + 1),
    happens: (share) => fraction() < share,
    pick: <T>(from: readonly T[]): T => {
      assert(from.length > 0, 'there is something to choose from')
      return from[index(from.length)] as T
    },
    bytes: (count) => Uint8Array.from({ length: count }, () => next() & 0xff),
  }
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash | 0
}
