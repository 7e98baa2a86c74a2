/** Inputs from inputs: small changes to bytes, words of the format, and pieces of other inputs. The same chance, the same input. */
import type { Chance } from '../support/hostile/chance.ts'

export interface Material {
  /** Never empty. */
  readonly inputs: readonly Uint8Array[]
  readonly words: readonly Uint8Array[]
  readonly bytesMax: number
}

type Mutation = (input: Uint8Array, material: Material, chance: Chance) => Uint8Array

/** The input after one to sixteen changes; at most `bytesMax` bytes. */
export function mutate(input: Uint8Array, material: Material, chance: Chance): Uint8Array {
  let changed = input
  for (let left = chance(2) === 0 ? 1 : 1 << chance(5); left > 0; left -= 1) {
    const mutation = MUTATIONS[chance(MUTATIONS.length)] as Mutation
    changed = mutation(changed, material, chance)
  }
  return changed.length > material.bytesMax ? changed.slice(0, material.bytesMax) : changed
}

/** Bytes that formats of text are made of, and some that they are not. */
const TELLING = Buffer.from('{}[]():;,."\'\\/\n\r\t 0159-+eE_aZ*&|!=<>#@\u0000\u007f\u0080\u00c0\u00ed\u00ff', 'latin1')

const MUTATIONS: readonly Mutation[] = [
  (input, _, chance) => withByte(input, chance, (byte) => byte ^ (1 << chance(8))),
  (input, _, chance) => withByte(input, chance, () => chance(256)),
  (input, _, chance) => withByte(input, chance, () => TELLING[chance(TELLING.length)] as number),
  (input, _, chance) => withByte(input, chance, (byte) => byte + chance(9) - 4),
  (input, _, chance) =>
    spliced(input, place(input, chance), 0, TELLING.subarray(chance(TELLING.length)).subarray(0, 1)),
  (input, _, chance) =>
    spliced(input, place(input, chance), 0, Uint8Array.of(chance(2) === 0 ? chance(256) : 0x20 + chance(95))),
  (input, _, chance) => spliced(input, place(input, chance), 1 + chance(8), NOTHING),
  (input, _, chance) => spliced(input, place(input, chance), chance(input.length + 1), NOTHING),
  (input, _, chance) => input.slice(0, place(input, chance)),
  (input, _, chance) => spliced(input, place(input, chance), 0, piece(input, chance)),
  (input, { words }, chance) =>
    words.length === 0 ? input : spliced(input, place(input, chance), 0, words[chance(words.length)] as Uint8Array),
  (input, { words }, chance) => {
    const word = words.length === 0 ? NOTHING : (words[chance(words.length)] as Uint8Array)
    return spliced(input, place(input, chance), word.length, word)
  },
  overWord,
  (input, { inputs }, chance) => {
    const other = inputs[chance(inputs.length)] as Uint8Array
    return spliced(input, place(input, chance), chance(16), piece(other, chance))
  },
  (input, { inputs }, chance) => {
    const other = inputs[chance(inputs.length)] as Uint8Array
    return Buffer.concat([input.subarray(0, place(input, chance)), other.subarray(place(other, chance))])
  },
  repeated,
]

const NOTHING = new Uint8Array()

function place(input: Uint8Array, chance: Chance): number {
  return chance(input.length + 1)
}

function piece(input: Uint8Array, chance: Chance): Uint8Array {
  const from = place(input, chance)
  return input.subarray(from, from + 1 + chance(chance(4) === 0 ? 256 : 16))
}

function spliced(input: Uint8Array, at: number, gone: number, added: Uint8Array): Uint8Array {
  return Buffer.concat([input.subarray(0, at), added, input.subarray(Math.min(input.length, at + gone))])
}

function withByte(input: Uint8Array, chance: Chance, change: (byte: number) => number): Uint8Array {
  if (input.length === 0) return input
  const changed = Uint8Array.from(input)
  const at = chance(input.length)
  changed[at] = change(changed[at] as number)
  return changed
}

/** A run of letters and digits of the input becomes a word of the format, or one of another place. */
function overWord(input: Uint8Array, { words }: Material, chance: Chance): Uint8Array {
  let from = place(input, chance)
  while (from > 0 && isLetter(input[from - 1])) from -= 1
  let to = from
  while (isLetter(input[to])) to += 1
  const word =
    words.length === 0 || chance(3) === 0
      ? Buffer.from(NUMBERS[chance(NUMBERS.length)] as string)
      : words[chance(words.length)]
  return spliced(input, from, to - from, word as Uint8Array)
}

const NUMBERS = [
  '0',
  '-1',
  '1',
  '255',
  '65536',
  '4294967296',
  '9007199254740991',
  '9007199254740992',
  '1e999',
  '-0',
  '0.1',
  '',
]

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 48 && byte <= 57) || byte === 95 || ((byte | 32) >= 97 && (byte | 32) <= 122))
}

/** What is repeated often shows what costs too much, or nests too deeply. */
function repeated(input: Uint8Array, { bytesMax }: Material, chance: Chance): Uint8Array {
  const part = piece(input, chance)
  const times = Math.min(
    1 + chance(chance(8) === 0 ? 2000 : 40),
    Math.floor((bytesMax - input.length) / Math.max(1, part.length)),
  )
  if (times <= 0 || part.length === 0) return input
  return spliced(input, place(input, chance), 0, Buffer.concat(Array.from({ length: times }, () => part)))
}
