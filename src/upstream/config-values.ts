/** What the members of a server's table may be. A reader gives the value or its default, or throws `Unfit` with what it must be. */
import { isAbsolute, normalize } from 'node:path'

export class Unfit extends Error {
  override readonly name = 'Unfit'
}

type Reader<T> = (given: unknown) => T

const TEXT_MAX = 4096
const LIST_MAX = 256
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
const TOOL = /^[^\p{Cc}\s]{1,128}$/u

export const word: Reader<string> = (given) => {
  if (isText(given) && given.trim() !== '') return given
  throw new Unfit('must be a text that is not empty')
}

export const texts: Reader<readonly string[]> = (given) => {
  if (given === undefined) return []
  if (Array.isArray(given) && given.length <= LIST_MAX && given.every(isText)) return given as string[]
  throw new Unfit(`must be a list of at most ${LIST_MAX} texts`)
}

/** No part of a name may look like the mark between the server's and the tool's, or two tools could have one name. */
export const serverName: Reader<string> = (given) => {
  if (typeof given === 'string' && /^[A-Za-z0-9_-]{1,32}$/.test(given) && !/__|_$/.test(given)) return given
  throw new Unfit('must be 1 to 32 letters, digits, "_" or "-", without "__" and without "_" at its end')
}

export const expose: Reader<readonly string[] | '*'> = (given) => {
  if (given === undefined) throw new Unfit('is missing: name the tools that may be used, or "*" for all of them')
  if (!Array.isArray(given) || given.length > LIST_MAX || !given.every((name) => isText(name) && TOOL.test(name))) {
    throw new Unfit(`must be a list of at most ${LIST_MAX} names of tools, or ["*"]`)
  }
  const names = given as string[]
  if (names.includes('*') && names.length > 1) throw new Unfit('must name tools, or be ["*"], not both')
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new Unfit(`names "${twice.slice(0, 64)}" twice`)
  return names[0] === '*' ? '*' : names
}

export function oneOf<const T extends string>(usual: T, ...values: readonly T[]): Reader<T> {
  return (given) => {
    if (given === undefined) return usual
    const value = values.find((known) => known === given)
    if (value !== undefined) return value
    throw new Unfit(`must be ${values.map((known) => `"${known}"`).join(' or ')}`)
  }
}

export const yes: Reader<boolean> = (given) => {
  if (given === undefined) return false
  if (typeof given === 'boolean') return given
  throw new Unfit('must be true or false')
}

export function seconds(usual: number, max: number): Reader<number> {
  return (given) => {
    if (given === undefined) return usual
    if (typeof given === 'number' && Number.isInteger(given) && given >= 1 && given <= max) return given
    throw new Unfit(`must be a whole number of seconds from 1 to ${max}`)
  }
}

export const names: Reader<readonly string[]> = (given) => {
  const list = texts(given)
  if (list.every((name) => VARIABLE.test(name)) && new Set(list).size === list.length) return list
  throw new Unfit('must be a list of different names of environment variables')
}

export const env: Reader<Readonly<Record<string, string>>> = (given) =>
  table(given, (name, value) => VARIABLE.test(name) && isText(value), 'names of variables with texts')

/** Headers that the protocol or the connection needs are ours. */
const OWN_HEADERS = /^(?:accept|connection|content-.*|host|last-event-id|mcp-.*|te|trailer|transfer-encoding|upgrade)$/i

export const headersEnv: Reader<Readonly<Record<string, string>>> = (given) =>
  table(
    given,
    (name, value) =>
      /^[A-Za-z0-9-]{1,64}$/.test(name) && !OWN_HEADERS.test(name) && isText(value) && VARIABLE.test(value),
    'names of headers with names of environment variables; the headers of the protocol itself are not among them',
  )

/** No credential has a place in it: it stands in journals and messages. */
export const url: Reader<string> = (given) => {
  const text = word(given)
  const at = text.length <= TEXT_MAX && URL.canParse(text) ? new URL(text) : null
  if (at === null || (at.protocol !== 'https:' && at.protocol !== 'http:')) {
    throw new Unfit('must be a URL that starts with https:// or http://')
  }
  if (at.username !== '' || at.password !== '' || at.search !== '' || at.hash !== '') {
    throw new Unfit('must be a URL without user, password, query and fragment; credentials go into "headers_env"')
  }
  return at.href
}

export const folder: Reader<string | null> = (given) => {
  if (given === undefined) return null
  const path = normalize(word(given))
  if (!isAbsolute(path) && !path.split('/').includes('..')) return path
  throw new Unfit('must be a folder of the project, relative to it')
}

function table(
  given: unknown,
  fits: (name: string, value: unknown) => boolean,
  what: string,
): Readonly<Record<string, string>> {
  if (given === undefined) return {}
  const entries = typeof given === 'object' && given !== null && !Array.isArray(given) ? Object.entries(given) : null
  if (entries === null || entries.length > LIST_MAX || !entries.every(([name, value]) => fits(name, value))) {
    throw new Unfit(`must be a table of ${what}`)
  }
  return Object.fromEntries(entries) as Record<string, string>
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TEXT_MAX && value.isWellFormed() && !value.includes('\0')
}
