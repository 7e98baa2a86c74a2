/** Canonical JSON by the written format alone, for a reader that shares no code with the writer. */

/** Of a value that came out of `JSON.parse`: keys in the order of their UTF-8 bytes, no spaces, shortest numbers. */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  const members = value as Readonly<Record<string, unknown>>
  const names = Object.keys(members).sort(byUtf8) // written by hand: an object would put keys that look like numbers first
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalText(members[name])}`).join(',')}}`
}

function byUtf8(left: string, right: string): number {
  // UTF-16 order is another one only where a surrogate is involved
  if (SURROGATE.test(left) || SURROGATE.test(right)) return Buffer.compare(Buffer.from(left), Buffer.from(right))
  return left < right ? -1 : left > right ? 1 : 0
}

const SURROGATE = /[\ud800-\udfff]/
