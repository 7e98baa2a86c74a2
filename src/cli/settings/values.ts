/**
 * What the value of a setting may look like, whether a person typed it (text) or a file holds it (a TOML value). A reader
 * gives the typed value, or throws `Unfit` with what it must be; whoever asked knows the place and makes the Fault.
 */
import { isAbsolute, join } from 'node:path'

export class Unfit extends Error {
  override readonly name = 'Unfit'
}

/** `base` is the folder that relative paths of this source mean; null leaves them to the current folder. */
export type Reader<T> = (given: unknown, base: string | null) => T

export const word: Reader<string> = (given) => {
  const text = typeof given === 'string' ? given.trim() : ''
  if (text !== '' && text.isWellFormed() && !/\p{Cc}/u.test(text)) return text
  throw new Unfit('must be a text that is not empty')
}

export const path: Reader<string> = (given, base) => {
  const text = word(given, base)
  return base === null || isAbsolute(text) ? text : join(base, text)
}

/** `scripted:FILE` names a file; the other forms name a model. */
export const provider: Reader<string> = (given, base) => {
  const text = word(given, base)
  const file = /^scripted:(.*)$/s.exec(text)?.[1]?.trim()
  return file === undefined || file === '' ? text : `scripted:${path(file, base)}`
}

export function whole(min: number, max: number): Reader<number> {
  return (given) => {
    const value = typeof given === 'string' && /^\d{1,15}$/.test(given.trim()) ? Number(given) : given
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    throw new Unfit(`must be a whole number from ${min} to ${max}`)
  }
}

/** A limit that can be lifted only by saying so: 0 is no limit that anybody means. */
export function wholeOrOff(max: number): Reader<number | null> {
  const inner = whole(1, max)
  return (given, base) => {
    if (given === 'off') return null
    try {
      return inner(given, base)
    } catch {
      throw new Unfit(`must be a whole number from 1 to ${max}, or "off"`)
    }
  }
}

export function oneOf<const T extends string>(...values: readonly T[]): Reader<T> {
  return (given) => {
    const value = values.find((known) => known === given)
    if (value !== undefined) return value
    throw new Unfit(`must be ${values.map((known) => `"${known}"`).join(', ')}`)
  }
}

/** A switch that stands in the way of danger takes no guess: what is neither yes nor no is refused. */
export const yes: Reader<boolean> = (given) => {
  if (typeof given === 'boolean') return given
  const text = typeof given === 'string' ? given.trim().toLowerCase() : null
  if (text === '1' || text === 'true') return true
  if (text === '0' || text === 'false') return false
  throw new Unfit('must be 1, true, 0 or false')
}

/** A comma list, or an array in a file; "none" is the empty list. */
export function list(item: (text: string) => boolean, what: string): Reader<readonly string[]> {
  return (given) => {
    if (given === 'none') return []
    const parts = typeof given === 'string' ? given.split(',') : given
    if (!Array.isArray(parts)) throw new Unfit(`must be a list of ${what}, or "none"`)
    return parts.map((part: unknown) => {
      const text = typeof part === 'string' ? part.trim() : ''
      if (text !== '' && item(text)) return text
      throw new Unfit(`must be a list of ${what}, or "none"`)
    })
  }
}

/** A name that no tool can have would wait in a list for calls that never come. */
export function isToolName(text: string): boolean {
  return /^[\x21-\x7e]{1,128}$/.test(text)
}

/** As a browser sends it: scheme, host and port, nothing behind. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}
