/** JSON as a value. What comes from outside is `unknown` until `strict-json.ts` or a shape has made it one of these. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The bytes of a value's JSON text, or up to some six times as many: for a bound that is seldom near. The value is plain data. */
export function jsonBytesAtMost(value: unknown): number {
  if (typeof value === 'string') return 2 + 6 * value.length // a control character takes six, and no other unit more
  if (typeof value !== 'object' || value === null) return 25 // the longest number
  let bytes = 2
  if (Array.isArray(value)) {
    for (const item of value) bytes += 1 + jsonBytesAtMost(item)
    return bytes
  }
  for (const name of Object.keys(value)) {
    bytes += 4 + 6 * name.length + jsonBytesAtMost((value as Record<string, unknown>)[name])
  }
  return bytes
}

const frozenThrough = new WeakSet<object>()

/**
 * Freezes a JSON value and everything in it: what was judged cannot be changed afterwards (law 8). An object that is frozen
 * only at its top is walked all the same; one that was given here before is not walked again. What lies inside is not kept in
 * mind: most of it is small, and each object that is costs the collector more than a second walk.
 */
export function deepFreeze<T>(value: T): T {
  if (isOpen(value)) {
    freezeThrough(value)
    frozenThrough.add(value)
  }
  return value
}

function freezeThrough(value: object): void {
  Object.freeze(value)
  for (const member of Object.values(value)) if (isOpen(member)) freezeThrough(member)
}

function isOpen(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !frozenThrough.has(value)
}

/** True of what was given to `deepFreeze`: nothing in it can change any more. */
export function isFrozenThrough(value: object): boolean {
  return frozenThrough.has(value)
}
