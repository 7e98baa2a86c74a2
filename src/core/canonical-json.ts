/**
 * Canonical JSON: compact, keys sorted by their UTF-8 bytes, minimal escapes. The text that is hashed and signed.
 *
 * Refuses what is not plain JSON (undefined, holes, NaN, functions, class instances, lone surrogates) instead of writing
 * something near it: two different values must never share a text, and no value may be changed on its way to evidence.
 */
import { Bug } from './fault.ts'

const DEPTH_MAX = 512

/** The canonical text of a JSON value. Throws a Bug on anything that is not JSON; check foreign values first. */
export function canonical(value: unknown): string {
  return write(value, 0)
}

/** Whether something was written that our own strict reader refuses. */
let isUnreadable = false

/** As `canonical`, and a Bug also on what our own strict reader refuses: an integer beyond 2^53-1, the name `__proto__`. */
export function canonicalToRead(value: unknown): string {
  isUnreadable = false
  const text = write(value, 0)
  if (isUnreadable) throw new Bug('what is written can be read back')
  return text
}

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return quote(value)
    case 'number':
      if (!Number.isFinite(value)) throw new Bug('canonical JSON has no NaN and no infinity')
      if (!Number.isSafeInteger(value) && Number.isInteger(value)) isUnreadable = true
      return Object.is(value, -0) ? '0' : String(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      break
    default:
      throw new Bug(`canonical JSON has no ${typeof value}`)
  }
  if (value === null) return 'null'
  if (depth >= DEPTH_MAX) throw new Bug(`canonical JSON is at most ${DEPTH_MAX} levels deep`)
  return Array.isArray(value) ? writeArray(value, depth + 1) : writeObject(value, depth + 1)
}

function writeArray(items: readonly unknown[], depth: number): string {
  let text = '['
  for (let index = 0; index < items.length; index += 1) {
    if (!(index in items)) throw new Bug('canonical JSON has no holes')
    text += index === 0 ? write(items[index], depth) : `,${write(items[index], depth)}`
  }
  return `${text}]`
}

function writeObject(members: object, depth: number): string {
  const prototype = Object.getPrototypeOf(members)
  if (prototype !== Object.prototype && prototype !== null) throw new Bug('canonical JSON has no class instances')
  const names = sortNames(Object.keys(members))
  let text = '{'
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string
    if (name === '__proto__') isUnreadable = true
    const member = write((members as Record<string, unknown>)[name], depth)
    text += index === 0 ? `${quote(name)}:${member}` : `,${quote(name)}:${member}`
  }
  return `${text}}`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what JSON escapes
const NEEDS_CARE = /[\u0000-\u001f"\\\ud800-\udfff]/

export function quote(text: string): string {
  if (!NEEDS_CARE.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new Bug('canonical JSON has no lone surrogates')
  return JSON.stringify(text) // for well-formed text its escapes are exactly the minimal, lower-case ones
}

/** Most objects have few members, often in order already: for those, inserting beats the engine's own sort. */
const INSERTED_MAX = 24
const SURROGATE = /[\ud800-\udfff]/

/** UTF-8 byte order equals code point order; UTF-16 order differs only where surrogates meet U+E000 and above. */
export function sortNames(names: string[]): string[] {
  if (names.length > INSERTED_MAX) return names.sort(byCodePoint)
  for (let index = 1; index < names.length; index += 1) {
    const name = names[index] as string
    let hole = index
    for (; hole > 0 && (names[hole - 1] as string) > name; hole -= 1) names[hole] = names[hole - 1] as string
    names[hole] = name
  }
  return names.some((name) => SURROGATE.test(name)) ? names.sort(byCodePoint) : names
}

export function byCodePoint(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index += 1) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a !== b) return rank(a) - rank(b)
  }
  return left.length - right.length
}

/** Surrogates stand for code points above U+FFFF, so they rank behind every other unit. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
