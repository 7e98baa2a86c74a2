/**
 * Refusal: what a client sees of a failure. One envelope for every route, every status and every malformed request:
 * `{"error","code","details"}`, where `details` carries the hint and the facts, or is null.
 *
 * A Fault shows its own message below 500 and the public sentence of its code from 500 on, or where the code has a spelling
 * that clients know; anything else is a failure of
 * ours and shows nothing of itself. No stack leaves here, and no text that looks like a path of this machine.
 */
import type { Duplex } from 'node:stream'
import { CODES, type Code, Fault } from '../core/index.ts'

export type Refusal = {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: { readonly error: string; readonly code: string; readonly details: object | null }
}

export const SECURITY_HEADERS: { readonly [name: string]: string } = {
  'strict-transport-security': 'max-age=63072000; includeSubDomains; preload',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'self'; frame-ancestors 'none'",
}

/** The refusal for whatever was thrown. `as` names the code of the route, and keeps the truthful status. */
export function refusalOf(error: unknown, as?: Code): Refusal {
  if (!(error instanceof Fault)) {
    const code = as ?? 'INTERNAL'
    return refusal(
      code,
      CODES[code].http,
      CODES[code].says,
      'Try again; if it stays, the log of the server says why',
      {},
    )
  }
  const status = CODES[error.code].http
  const says = status < 500 ? publicText(error.message) : null
  const hint = error.hint === undefined ? null : publicText(error.hint)
  const code = as ?? error.code
  if (CODES[code].wire !== undefined) return refusal(code, status, CODES[code].says, hint, error.facts)
  return refusal(
    code,
    as === undefined || status !== 500 ? status : CODES[as].http,
    says ?? CODES[code].says,
    hint,
    error.facts,
  )
}

function refusal(code: Code, status: number, error: string, hint: string | null, facts: Fault['facts']): Refusal {
  const details: Record<string, unknown> = hint === null ? {} : { hint }
  for (const [name, fact] of Object.entries(facts)) {
    if (typeof fact !== 'string' || publicText(fact) !== null) details[name] = fact
  }
  return {
    status,
    headers: headersOf(code, facts),
    body: { error, code: CODES[code].wire ?? code, details: Object.keys(details).length === 0 ? null : details },
  }
}

function headersOf(code: Code, facts: Fault['facts']): { [name: string]: string } {
  switch (code) {
    case 'UNAUTHORIZED':
      return { 'www-authenticate': 'Bearer' }
    case 'RATE_LIMITED':
      return { 'retry-after': String(facts.retry_after_seconds ?? 1) }
    case 'METHOD_NOT_ALLOWED':
      return { allow: String(facts.allow ?? '') }
    case 'UPGRADE_REQUIRED':
      return { upgrade: 'websocket' }
    case 'OVERLOADED':
      return { 'retry-after': '2' }
    case 'SHUTTING_DOWN':
      return { 'retry-after': '10' }
    default:
      return {}
  }
}

/** Two or more steps from a root that is not one of our own routes, or a drive letter. */
const HOST_PATH = /(?:^|[\s"'`(=:])(?:\/(?!api\/|ws\/)[\w.@~+-]+){2,}|\b[A-Za-z]:\\/

function publicText(text: string): string | null {
  return HOST_PATH.test(text) ? null : text
}

/** Answers on a socket that has no response object, and ends the connection. */
export function refuseSocket(socket: Duplex, error: unknown): void {
  if (socket.destroyed) return
  socket.once('finish', () => socket.destroy())
  socket.end(bytesOf(refusalOf(error)))
}

function bytesOf({ status, headers, body }: Refusal): string {
  const text = JSON.stringify(body)
  const lines = Object.entries({
    ...SECURITY_HEADERS,
    ...headers,
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${PHRASES[status] ?? 'Refused'}\r\n${lines.join('')}\r\n${text}`
}

const PHRASES: { readonly [status: number]: string } = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}
