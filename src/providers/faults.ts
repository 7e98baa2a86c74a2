/**
 * The ways in which an inference fails, as Faults. Owns the mapping from statuses, error objects and broken connections
 * to the `PROVIDER_*` codes.
 *
 * No message repeats what the other side wrote, what we sent, or a key: bodies echo prompts and gateways echo headers. Only
 * our own words, the status, and system error names get in; and no foreign error is kept as a cause, because those of an
 * SDK hold the whole request.
 */
import { type Code, Fault, type FaultDetails, instantOf, isJsonObject, type Json } from '../core/index.ts'
import type { World } from '../world/index.ts'

/** Whom we asked for what: both names come from our own configuration. */
export interface Target {
  readonly provider: string
  readonly model: string
}

type Facts = NonNullable<FaultDetails['facts']>

export function providerFault(code: Code, target: Target, state: string, hint: string, facts: Facts = {}): Fault {
  return new Fault(code, {
    message: `Cannot get a reply from model ${JSON.stringify(target.model)} of ${JSON.stringify(target.provider)}: ${state}`,
    hint,
    facts: { provider: target.provider, model: target.model, ...facts },
  })
}

/** A reply that proposes nothing: cut, malformed, or not what the protocol says. */
export function unusable(
  target: Target,
  state: string,
  hint = 'Ask again; nothing was proposed and nothing ran',
): Fault {
  return providerFault('PROVIDER_PARSE_ERROR', target, state, hint)
}

export interface Refusal {
  readonly status: number
  /** The body or the error object, as text. It is searched for known words, and never shown. */
  readonly text: string
  readonly retryAfterMs: number | null
}

/** An answer that is not a reply: a status, or an error object inside a stream, which is given the status it stands for. */
export function refused(target: Target, { status, text, retryAfterMs }: Refusal): Fault {
  const facts = { status }
  if (status === 429) {
    return providerFault(
      'PROVIDER_RATE_LIMITED',
      target,
      retryAfterMs === null
        ? 'it asks to slow down or the quota is used up (429)'
        : `it asks to wait ${retryAfterMs} ms (429)`,
      'Wait, or check the quota of the account',
      { ...facts, retry_after_ms: retryAfterMs },
    )
  }
  if (status === 413 || (isClientError(status) && TOO_LONG.test(text))) {
    return providerFault(
      'PROVIDER_CONTEXT_OVERFLOW',
      target,
      `the conversation is too long for the model (${status})`,
      'Shorten the conversation, or lower context_token_budget',
      facts,
    )
  }
  if (status === 404 || status === 503 || status === 529 || (isClientError(status) && NO_MODEL.test(text))) {
    return providerFault(
      'PROVIDER_MODEL_UNAVAILABLE',
      target,
      status === 503 || status === 529 ? `it is overloaded (${status})` : `it does not know the model (${status})`,
      'Check the model name and the base URL (most end in /v1), or try again later',
      facts,
    )
  }
  if (status === 408 || status === 504) {
    return providerFault('PROVIDER_TIMEOUT', target, `it gave up waiting (${status})`, 'Try again later', facts)
  }
  if (status === 401 || status === 403) {
    return providerFault(
      'PROVIDER_INVALID_REQUEST',
      target,
      `the API key is missing, wrong or not allowed to do this (${status})`,
      'Check the API key and its rights',
      facts,
    )
  }
  if (isClientError(status)) {
    return providerFault(
      'PROVIDER_INVALID_REQUEST',
      target,
      `it refuses the request (${status})`,
      'Check the model name and whether the model supports tools and the options in use',
      facts,
    )
  }
  if (status >= 300 && status < 400) {
    return providerFault(
      'PROVIDER_INVALID_REQUEST',
      target,
      `it redirects to another address (${status})`,
      'Set the final address as base URL: a redirect is not followed, because it would carry the key and the conversation elsewhere',
      facts,
    )
  }
  return providerFault('PROVIDER_ERROR', target, `it failed (${status})`, 'Try again later', facts)
}

const isClientError = (status: number): boolean => status >= 400 && status < 500

const TOO_LONG =
  /context[ _-]?(?:length|window|size)|maximum context|prompt is too long|input (?:is )?too long|too many (?:input )?tokens|reduce the length|request_too_large/i
const NO_MODEL =
  /model_not_found|model[^.]{0,120}?(?:not found|does not exist|not exist|not available|unavailable|not a valid model)|(?:not a valid|unknown|invalid) model/i

/** The status that an error object in a stream stands for: its number where it has one, else what its type means. */
export function statusOfError(error: Json): number {
  if (!isJsonObject(error)) return 500
  for (const number of [error.status, error.code]) {
    if (typeof number === 'number' && Number.isInteger(number) && number >= 400 && number < 600) return number
  }
  for (const word of [error.type, error.code]) {
    const status = typeof word === 'string' ? STATUS_OF_TYPE.get(word) : undefined
    if (status !== undefined) return status
  }
  return 500
}

const STATUS_OF_TYPE: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['context_length_exceeded', 400],
  ['authentication_error', 401],
  ['invalid_api_key', 401],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['model_not_found', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['rate_limit_exceeded', 429],
  ['insufficient_quota', 429],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

/** From `retry-after-ms`, or `retry-after` in seconds or as an HTTP date. Null when there is none that can be read. */
export function retryAfterMs(headers: Headers, world: World): number | null {
  const exact = numberOf(headers.get('retry-after-ms'))
  if (exact !== null) return exact
  const text = headers.get('retry-after')
  const seconds = numberOf(text)
  if (seconds !== null) return seconds * 1000
  const date = text === null ? Number.NaN : Date.parse(text)
  if (Number.isNaN(date)) return null
  return Math.max(0, date - Number(instantOf(world.clock.wall()) / 1_000_000n))
}

function numberOf(text: string | null): number | null {
  return text !== null && /^\d{1,9}(?:\.\d+)?$/.test(text.trim()) ? Math.ceil(Number(text)) : null
}

/** A connection that failed. `begun` once an answer had started: then it is a broken stream, and proposes nothing. */
export function connectionFault(target: Target, error: unknown, begun: boolean): Fault {
  const errno = errnoOf(error)
  const named = errno === null ? '' : ` (${errno})`
  if (errno !== null && TIMEOUTS.has(errno)) {
    return providerFault('PROVIDER_TIMEOUT', target, `it did not answer in time${named}`, 'Try again later', { errno })
  }
  if (begun) return unusable(target, `the connection broke before the reply was complete${named}`)
  return providerFault(
    'PROVIDER_ERROR',
    target,
    `the connection failed${named}`,
    'Check that the provider is running and that the base URL is right',
    { errno },
  )
}

const TIMEOUTS = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** The name of the system's error, wherever it stands in the chain of causes. */
function errnoOf(error: unknown): string | null {
  let current: unknown = error
  for (let depth = 0; depth < 8 && current instanceof Error; depth += 1) {
    const code = (current as { code?: unknown }).code
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) return code
    current = current.cause
  }
  return null
}
