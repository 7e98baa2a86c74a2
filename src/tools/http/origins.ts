/**
 * Origins that `http_request` may ask: each one listed, exactly, by whoever runs this. What an origin may be asked for, where
 * its name may lead, and which headers it is sent beside those of a call stand with it; a call can change none of them.
 */
import { Fault } from '../../core/index.ts'
import { isAddress, reachOf } from '../../world/index.ts'
import { isHeaderName, isHeaderValue, WRITTEN_BY_US } from './headers.ts'

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type HttpMethod = (typeof METHODS)[number]

export interface HttpOrigin {
  /** Scheme, host and port, as a browser writes them: "https://api.example.org". */
  readonly origin: string
  /** Default: GET and HEAD. Each call of another method needs a person's approval. */
  readonly methods?: readonly HttpMethod[]
  /** Whether its name may lead to this machine or a private network. An origin that is written as an address says so itself. */
  readonly private?: boolean
  /** Sent with every request: credentials, for example. Policy, journal and model see the names only. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface Origin {
  readonly origin: string
  /** Without brackets. */
  readonly host: string
  readonly isAddress: boolean
  readonly methods: readonly HttpMethod[]
  readonly private: boolean
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
}

export type Origins = ReadonlyMap<string, Origin>

const ORIGINS_MAX = 256

/** Throws `CONFIG_INVALID` for an origin that cannot be meant. */
export function originsByName(given: readonly (string | HttpOrigin)[]): Origins {
  const origins = new Map<string, Origin>()
  if (given.length > ORIGINS_MAX) throw unusable('', `there are ${given.length} origins and ${ORIGINS_MAX} are allowed`)
  for (const one of given) {
    const origin = originOf(typeof one === 'string' ? { origin: one } : one)
    if (origins.has(origin.origin)) throw unusable(origin.origin, 'it is listed twice')
    origins.set(origin.origin, origin)
  }
  return origins
}

function originOf({ origin, methods = ['GET', 'HEAD'], private: own = false, headers = {} }: HttpOrigin): Origin {
  const url = URL.canParse(origin) ? new URL(origin) : null
  if (url === null || url.origin !== origin || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw unusable(origin, 'it is not scheme, host and port, written like "https://api.example.org"')
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const literal = isAddress(host)
  if (literal && reachOf(host) === 'never') throw unusable(origin, 'no server of anybody has this address')
  const stranger = methods.find((method) => !METHODS.includes(method))
  if (stranger !== undefined || methods.length === 0)
    throw unusable(origin, `its methods must be some of ${METHODS.join(', ')}`)
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  for (const [name, value] of lower) {
    if (!isHeaderName(name) || WRITTEN_BY_US.has(name))
      throw unusable(origin, `the header "${name.slice(0, 64)}" cannot be set`)
    if (!isHeaderValue(value)) throw unusable(origin, `the value of the header "${name}" cannot be sent`)
  }
  return Object.freeze({
    origin,
    host,
    isAddress: literal,
    methods: Object.freeze([...methods]),
    private: own || literal,
    headers: Object.freeze(Object.fromEntries(lower)),
  })
}

function unusable(origin: string, state: string): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot use the HTTP origin "${String(origin).slice(0, 200)}": ${state}`,
    hint: 'Correct "tools.http_origins"; docs/tools.md shows how origins are written',
  })
}
