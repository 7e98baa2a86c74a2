/** RFC 3339 in UTC. Only order and equality matter, and they are compared as instants, never as text. */
declare const timestampBrand: unique symbol
export type Timestamp = string & { readonly [timestampBrand]: true }

const RFC3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?(?:Z|\+00:00)$/

export function isTimestamp(text: unknown): text is Timestamp {
  if (typeof text !== 'string' || !RFC3339.test(text)) return false
  const day = Number(text.slice(8, 10)) // the places are fixed, and every month has 28 days
  return day <= 28 || day <= daysOf(Number(text.slice(0, 4)), Number(text.slice(5, 7)))
}

/** The second that was spelled last: a run asks for many times within one. */
const spelled = { second: Number.NaN, text: '' }

/** Microseconds since the epoch become text with six digits after the point. */
export function timestampOf(epochMicroseconds: number): Timestamp {
  const whole = Math.floor(epochMicroseconds)
  const second = Math.floor(whole / 1_000_000)
  if (second !== spelled.second) {
    spelled.text = new Date(second * 1000).toISOString().slice(0, -5)
    spelled.second = second
  }
  return `${spelled.text}.${String(whole - second * 1_000_000).padStart(6, '0')}Z` as Timestamp
}

/** Nanoseconds since the epoch, so that every digit of the text counts. */
export function instantOf(timestamp: Timestamp): bigint {
  const point = timestamp.indexOf('.')
  const end = timestamp.endsWith('Z') ? timestamp.length - 1 : timestamp.length - 6
  const whole = timestamp.slice(0, point === -1 ? end : point)
  const leap = whole.endsWith(':60') // Date knows no leap second: it is the second after :59
  const ms = Date.parse(`${leap ? `${whole.slice(0, -2)}59` : whole}Z`) + (leap ? 1000 : 0)
  const fraction = point === -1 ? '' : timestamp.slice(point + 1, end)
  return BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
}

function daysOf(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28
}
