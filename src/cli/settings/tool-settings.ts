/**
 * The settings of the ready-made tools. They stand in `symbiont.toml`, which is shared, so no credential stands in them: an
 * origin names variables of the environment instead. Only variables that were made for this can be named, because who may
 * change the file could otherwise send any key of the environment anywhere.
 */
import { Fault } from '../../core/index.ts'
import type { ReadyMadeTools } from '../../runtime/index.ts'
import { path, type Reader, Unfit, word } from './values.ts'

export interface RootSetting {
  readonly name: string
  readonly path: string
  readonly hidden: boolean
}

export interface OriginSetting {
  readonly origin: string
  readonly methods?: readonly string[]
  readonly private: boolean
  /** From the name of a header to the variable that holds its value. */
  readonly headersEnv: Readonly<Record<string, string>>
}

/** Variables that an origin may name. */
export const HEADER_VARIABLE = /^SYMBI_HTTP_[A-Z0-9_]{1,100}$/

const ROOTS = 'must be a table such as { docs = "docs", notes = { path = "notes", hidden = true } }'

export const fileRoots: Reader<readonly RootSetting[]> = (given, base) => {
  return Object.entries(tableOf(given, ROOTS)).map(([name, value]) => {
    const { path: place, hidden = false } =
      typeof value === 'string' ? { path: value } : membersOf(value, ['path', 'hidden'], ROOTS)
    if (typeof hidden !== 'boolean') throw new Unfit(ROOTS)
    return { name, path: path(place, base), hidden }
  })
}

const ORIGINS =
  'must be a list of origins such as "https://api.example.org" or { origin = "https://api.example.org", methods = ["GET", "POST"], ' +
  'private = false, headers_env = { Authorization = "SYMBI_HTTP_API" } }'

export const httpOrigins: Reader<readonly OriginSetting[]> = (given, base) => {
  if (!Array.isArray(given)) throw new Unfit(ORIGINS)
  return given.map((value: unknown) => {
    if (typeof value === 'string') return { origin: word(value, base), private: false, headersEnv: {} }
    const members = membersOf(value, ['origin', 'methods', 'private', 'headers_env'], ORIGINS)
    const { origin, methods, private: own = false, headers_env = {} } = members
    if (typeof own !== 'boolean' || (methods !== undefined && !isListOfTexts(methods))) throw new Unfit(ORIGINS)
    return {
      origin: word(origin, base),
      ...(methods === undefined ? {} : { methods }),
      private: own,
      headersEnv: variablesIn(headers_env),
    }
  })
}

function variablesIn(given: unknown): Readonly<Record<string, string>> {
  const table = tableOf(given, ORIGINS)
  for (const name of Object.values(table)) {
    if (typeof name === 'string' && HEADER_VARIABLE.test(name)) continue
    throw new Unfit('may take headers only from variables that are called SYMBI_HTTP_…')
  }
  return table as Readonly<Record<string, string>>
}

/** What the runtime is given. Null for the variables: nothing is sent, and the values do not matter. */
export function readyMadeOf(
  settings: { readonly fileRoots: readonly RootSetting[]; readonly httpOrigins: readonly OriginSetting[] },
  variables: Readonly<Record<string, string | undefined>> | null,
): ReadyMadeTools {
  return {
    fileRoots: settings.fileRoots,
    httpOrigins: settings.httpOrigins.map(({ origin, methods, private: own, headersEnv }) => ({
      origin,
      ...(methods === undefined ? {} : { methods: methods as [] }), // checked with the origin, as for a program
      private: own,
      headers: Object.fromEntries(
        Object.entries(headersEnv).map(([name, variable]) => [
          name,
          variables === null ? '' : variableValue(variable, variables, origin),
        ]),
      ),
    })),
  }
}

function variableValue(
  variable: string,
  variables: Readonly<Record<string, string | undefined>>,
  origin: string,
): string {
  const value = variables[variable]
  if (value !== undefined && value !== '') return value
  throw new Fault('CONFIG_INVALID', {
    message: `Cannot use the HTTP origin "${origin.slice(0, 200)}": the variable "${variable}" is not set`,
    hint: 'Set it in the environment or in .env, or remove it from "headers_env"',
  })
}

function tableOf(given: unknown, must: string): Readonly<Record<string, unknown>> {
  const table = typeof given === 'object' && given !== null && !Array.isArray(given) && !(given instanceof Date)
  if (table) return given as Readonly<Record<string, unknown>>
  throw new Unfit(must)
}

function membersOf(given: unknown, known: readonly string[], must: string): Readonly<Record<string, unknown>> {
  const table = tableOf(given, must)
  if (Object.keys(table).some((name) => !known.includes(name))) throw new Unfit(must)
  return table
}

function isListOfTexts(given: unknown): given is readonly string[] {
  return Array.isArray(given) && given.every((one) => typeof one === 'string')
}
