/**
 * Headers of a call. A call may set those of a short list and no other: one that is not on it could carry a credential, name
 * another host, change the framing of the request, or make a GET into something else on its way.
 */
export const SETTABLE: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'cache-control',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'prefer',
  'range',
])

/** What nobody sets: it belongs to the connection, and the port writes it. */
export const WRITTEN_BY_US: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What an answer may hold and a model does not get: cookies are credentials. */
const KEPT_BACK: ReadonlySet<string> = new Set(['set-cookie', 'set-cookie2'])

const VALUE_MAX = 4096

export function isHeaderName(name: string): boolean {
  return /^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(name)
}

export function isHeaderValue(value: unknown): value is string {
  return typeof value === 'string' && value.length <= VALUE_MAX && /^[\x20-\x7e]*$/.test(value)
}

/** The headers of an answer, as a model may see them. */
export function shownHeaders(pairs: readonly (readonly [string, string])[]): Readonly<Record<string, string>> {
  const shown = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (KEPT_BACK.has(name)) continue
    const before = shown.get(name)
    shown.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(shown)
}
