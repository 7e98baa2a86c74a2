/** RFC 3339 in UTC. Only order and equality matter, and they are compared as instants, never as text. */
declare const timestampBrand: unique symbol
export type Timestamp = string & { readonly [timestampBrand]: true }

const RFC3339 =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?(Z|\+00:00)$/

export function isTimestamp(text: unknown): text is Timestamp {
  return typeof text === 'string' && RFC3339.test(text)
}

/** Microseconds since the epoch become text with six digits after the point. */
export function timestampOf(epochMicroseconds: number): Timestamp {
  const ms = Math.floor(epochMicroseconds / 1000)
  const micros = String(Math.floor(epochMicroseconds) % 1000).padStart(3, '0')
  return `${new Date(ms).toISOString().slice(0, -1)}${micros}Z` as Timestamp
}

/** Nanoseconds since the epoch, so that every digit of the text counts. */
export function instantOf(timestamp: Timestamp): bigint {
  const point = timestamp.indexOf('.')
  const end = timestamp.endsWith('Z') ? timestamp.length - 1 : timestamp.length - 6
  const whole = Date.parse(`${timestamp.slice(0, point === -1 ? end : point)}Z`)
  const fraction = point === -1 ? '' : timestamp.slice(point + 1, end)
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}
