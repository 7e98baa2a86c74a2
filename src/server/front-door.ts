/**
 * The front door: what happens to every request and every upgrade before its route is known. Client address, then rate
 * limit, then the list of origins. Nothing here looks at credentials, and nothing here does work worth attacking.
 */
import type { IncomingMessage } from 'node:http'
import { Fault } from '../core/index.ts'
import type { Clock } from '../world/index.ts'
import { type Block, chargedUnit, clientAddress, isLoopback, parseBlocks } from './address.ts'
import { malformed } from './http-faults.ts'
import { type RateLimit, RateLimiter } from './rate-limiter.ts'

export type FrontDoorSettings = {
  readonly trustedProxies: readonly string[]
  /** Null switches the limiter off. */
  readonly rateLimit: RateLimit | null
  /** Exact origins of web pages that may ask. Empty: none may. */
  readonly corsOrigins: readonly string[]
  /** Where the server listens. */
  readonly host: string
}

const PROBES = new Set(['/api/v1/health', '/api/v1/health/live', '/api/v1/health/ready'])
const PREFLIGHT_SECONDS = 600

export class FrontDoor {
  readonly #trusted: readonly Block[]
  readonly #origins: ReadonlySet<string>
  /** True where every honest client names this machine, because no other can reach it and no proxy stands in front. */
  readonly #isLocal: boolean
  readonly #limiter: RateLimiter | null
  /** Apart, so that a busy client behind the same proxy cannot make the probes fail. */
  readonly #probes: RateLimiter | null

  constructor(settings: FrontDoorSettings, clock: Clock) {
    this.#trusted = parseBlocks(settings.trustedProxies)
    this.#origins = new Set(settings.corsOrigins)
    this.#isLocal = isLoopback(settings.host) && this.#trusted.length === 0
    this.#limiter = settings.rateLimit && new RateLimiter(settings.rateLimit, clock)
    this.#probes = settings.rateLimit && new RateLimiter(settings.rateLimit, clock)
  }

  /** The client's address, charged with one request; or `UNKNOWN_ADDRESS` or `RATE_LIMITED`. */
  admit(request: IncomingMessage): string {
    const address = clientAddress(request.socket.remoteAddress, request.headers, this.#trusted)
    if (address === null) {
      throw new Fault('UNKNOWN_ADDRESS', {
        message: 'Cannot serve the request: the address of the client cannot be determined',
        hint: 'A trusted proxy must send X-Forwarded-For or X-Real-IP with plain addresses',
      })
    }
    const limiter = PROBES.has(pathOf(request)) ? this.#probes : this.#limiter
    const seconds = limiter?.take(chargedUnit(address)) ?? 0
    if (seconds === 0) {
      if (request.httpVersion === '1.1' && request.headers.host === undefined)
        throw malformed('header, which names no host,')
      return address
    }
    throw new Fault('RATE_LIMITED', {
      message: 'Cannot serve the request: this address sent too many',
      hint: `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}`,
      facts: { retry_after_seconds: seconds },
    })
  }

  /** The headers that let a listed page read the answer. Credentials are never allowed, and "*" is never said. */
  corsHeaders(request: IncomingMessage): { readonly [name: string]: string } {
    if (this.#origins.size === 0) return {}
    const { origin } = request.headers
    if (origin === undefined || !this.#origins.has(origin)) return { vary: 'Origin' }
    const common = {
      vary: 'Origin',
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'idempotency-key, idempotency-replayed',
    }
    if (!isPreflight(request)) return common
    return {
      ...common,
      'access-control-allow-methods': 'GET, POST, PUT, DELETE',
      'access-control-allow-headers': 'authorization, content-type, idempotency-key',
      'access-control-max-age': String(PREFLIGHT_SECONDS),
    }
  }

  /**
   * A page of a foreign origin, and on a local server a request under a foreign name: a page whose own name was made to
   * point here would otherwise be of our origin (DNS rebinding).
   */
  refuseForeignPage(request: IncomingMessage): void {
    this.refuseForeignOrigin(request)
    if (!this.#isLocal || isLoopback(hostIn(request.headers.host ?? ''))) return
    throw new Fault('ORIGIN_REFUSED', {
      message: 'Cannot serve the request: it names another host, and this server is for this machine only',
      hint: 'Reach it as 127.0.0.1 or localhost, or name the proxy in front of it in SYMBIONT_TRUSTED_PROXIES',
    })
  }

  /** A page may open a socket only from a listed origin, because browsers do not ask before they connect. */
  refuseForeignOrigin(request: IncomingMessage): void {
    const { origin } = request.headers
    if (origin === undefined || this.#origins.has(origin)) return
    throw new Fault('ORIGIN_REFUSED', {
      message: 'Cannot open the connection: the origin of the page is not allowed',
      hint: 'Add the origin to SYMBIONT_CORS_ORIGINS, exactly as the browser sends it',
    })
  }
}

/** The host of a Host header, without port and brackets. */
function hostIn(header: string): string {
  return /^\[([^\]]*)\](?::\d*)?$/.exec(header)?.[1] ?? header.replace(/:\d*$/, '')
}

export function isPreflight(request: IncomingMessage): boolean {
  return (
    request.method === 'OPTIONS' &&
    request.headers.origin !== undefined &&
    request.headers['access-control-request-method'] !== undefined
  )
}

export function isProbe(request: IncomingMessage): boolean {
  return PROBES.has(pathOf(request))
}

/** The path as it was sent, without the query, which may hold a credential. */
export function pathOf(request: IncomingMessage): string {
  const url = request.url ?? '/'
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

export function queryOf(request: IncomingMessage): URLSearchParams {
  const url = request.url ?? '/'
  const query = url.indexOf('?')
  return new URLSearchParams(query === -1 ? '' : url.slice(query + 1))
}
