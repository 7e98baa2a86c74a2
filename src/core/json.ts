/** JSON as a value. What comes from outside is `unknown` until `strict-json.ts` or a shape has made it one of these. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const frozenThrough = new WeakSet<object>()

/**
 * Freezes a JSON value and everything in it: what was judged cannot be changed afterwards (law 8). An object that is frozen
 * only at its top is walked all the same; one that was frozen through here before is not walked again.
 */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !frozenThrough.has(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
    frozenThrough.add(value)
  }
  return value
}

/** True of what `deepFreeze` went through: nothing in it can change any more. */
export function isFrozenThrough(value: object): boolean {
  return frozenThrough.has(value)
}
