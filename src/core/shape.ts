/**
 * Shapes: what a JSON value must look like, as data. A shape checks a value and gives it a type; the types of events,
 * claims and messages are derived from their shapes, so the two cannot drift apart.
 *
 * Objects are exact (an unknown member is refused) unless they are made with `open`.
 */
import {
  kindWriter,
  listWriter,
  objectWriter,
  taggedWriter,
  type Writer,
  writeJson,
  writePlain,
  writeText,
} from './canonical-shape.ts'
import type { Hash, HexHash } from './digest.ts'
import type { Duration } from './duration.ts'
import { assert, Fault } from './fault.ts'
import { type Id, type IdKind, isStoredId } from './ids.ts'
import type { Json, JsonObject } from './json.ts'
import { isTimestamp, type Timestamp } from './timestamp.ts'

/** Why a value does not fit, with the path of the place, or null. */
export type Misfit = { readonly path: string; readonly reason: string }
export interface Shape<T> {
  readonly check: (value: unknown, path: string) => Misfit | null
  /** The canonical text of a value that fits. A Bug when the strict reader would refuse it. */
  readonly write: Writer
  /** Set on members that may be absent. */
  readonly optional?: true
  readonly _type?: T
}
export type TypeOf<S> = S extends Shape<infer T> ? T : never

/** The value, typed; or a Fault (`INVALID_REQUEST` unless another code is named) that says where it does not fit. */
export function fit<T>(
  shape: Shape<T>,
  value: unknown,
  what: string,
  code:
    | 'INVALID_REQUEST'
    | 'EVIDENCE_INVALID'
    | 'CLAIM_INVALID'
    | 'CONFIG_INVALID'
    | 'REVIEW_INVALID'
    | 'KEY_FILE_INVALID'
    | 'POLICY_INVALID' = 'INVALID_REQUEST',
): T {
  if (fits(shape, value)) return value
  const misfit = shape.check(value, '')
  assert(misfit !== null, 'a value that does not fit has a place where it does not')
  const place = misfit.path === '' ? 'the value' : `"${misfit.path}"`
  throw new Fault(code, {
    message: `Cannot use ${what}: ${place} ${misfit.reason}`,
    hint: 'Correct the named member and try again',
    facts: { path: misfit.path },
  })
}

export function fits<T>(shape: Shape<T>, value: unknown): value is T {
  return shape.check(value, UNTOLD) === null
}

/** A path that is not kept: most values fit, and then nobody asks where. */
const UNTOLD = '\u0000 untold'

const shape = <T>(check: Shape<T>['check'], write: Writer = writeJson): Shape<T> => ({ check, write })
const test = <T>(accepts: (value: unknown) => boolean, reason: string, write?: Writer): Shape<T> =>
  shape((value, path) => (accepts(value) ? null : { path, reason }), write)

export const text: Shape<string> = test((value) => typeof value === 'string', 'must be a string', writeText)
export const bool: Shape<boolean> = test((value) => typeof value === 'boolean', 'must be true or false', writePlain)
export const uint: Shape<number> = test(
  (value) => isUint(value, Number.MAX_SAFE_INTEGER),
  'must be a whole number, 0 or more',
  writePlain,
)
export const u32: Shape<number> = test(
  (value) => isUint(value, 0xffffffff),
  'must be a whole number up to 4294967295',
  writePlain,
)
export const u16: Shape<number> = test(
  (value) => isUint(value, 0xffff),
  'must be a whole number up to 65535',
  writePlain,
)
export const real: Shape<number> = test(
  (value) => typeof value === 'number' && Number.isFinite(value),
  'must be a number',
)
export const hash: Shape<Hash> = test(
  (value) => typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value),
  'must be "sha256:" and 64 hex digits',
  writeText,
)
export const hexHash: Shape<HexHash> = test(
  (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value),
  'must be 64 hex digits',
  writeText,
)
export const timestamp: Shape<Timestamp> = test(isTimestamp, 'must be an RFC 3339 time in UTC', writeText)
export const json: Shape<Json> = shape(() => null)
export const jsonObject: Shape<JsonObject> = test((value) => isObject(value), 'must be an object')
export const duration: Shape<Duration> = test(
  (value) =>
    isObject(value) &&
    Object.keys(value).length === 2 &&
    isUint(value.secs, Number.MAX_SAFE_INTEGER) &&
    isUint(value.nanos, 999_999_999),
  'must be {"secs","nanos"}',
  (value) => `{"nanos":${(value as Duration).nanos},"secs":${(value as Duration).secs}}`,
)

export function id<K extends IdKind>(_kind: K): Shape<Id<K>> {
  return test(isStoredId, 'must be a lower-case UUID that is not nil', writeText)
}

export function literal<const T extends string | number | boolean>(...values: readonly T[]): Shape<T> {
  return test(
    (value) => values.includes(value as T),
    `must be ${values.map((value) => JSON.stringify(value)).join(' or ')}`,
  )
}

/** Text whose UTF-8 length lies in the bounds. */
export function boundedText(bytesMin: number, bytesMax: number): Shape<string> {
  return test((value) => {
    if (typeof value !== 'string') return false
    const bytes = Buffer.byteLength(value)
    return bytes >= bytesMin && bytes <= bytesMax
  }, `must be a string of ${bytesMin} to ${bytesMax} bytes`)
}

export function nullable<T>(inner: Shape<T>): Shape<T | null> {
  return shape(
    (value, path) => (value === null ? null : inner.check(value, path)),
    (value) => (value === null ? 'null' : inner.write(value)),
  )
}

/** A member that may be absent. */
export function optional<T>(inner: Shape<T>): Shape<T> & { readonly optional: true } {
  return { ...inner, optional: true }
}

export function list<T>(inner: Shape<T>, countMax = Number.MAX_SAFE_INTEGER): Shape<readonly T[]> {
  return shape((value, path) => {
    if (!Array.isArray(value)) return { path, reason: 'must be an array' }
    if (value.length > countMax) return { path, reason: `must hold at most ${countMax} items` }
    for (let index = 0; index < value.length; index += 1) {
      const misfit = inner.check(value[index], path === UNTOLD ? UNTOLD : `${path}[${index}]`)
      if (misfit !== null) return misfit
    }
    return null
  }, listWriter(inner))
}

export function record<T>(inner: Shape<T>): Shape<{ readonly [name: string]: T }> {
  return shape((value, path) => {
    if (!isObject(value)) return { path, reason: 'must be an object' }
    for (const name of Object.keys(value)) {
      const misfit = inner.check(value[name], join(path, name))
      if (misfit !== null) return misfit
    }
    return null
  })
}

export type Members = { readonly [name: string]: Shape<unknown> }
type OptionalNames<M extends Members> = {
  [K in keyof M]: M[K] extends { readonly optional: true } ? K : never
}[keyof M]
export type ObjectOf<M extends Members> = {
  readonly [K in Exclude<keyof M, OptionalNames<M>>]: TypeOf<M[K]>
} & { readonly [K in OptionalNames<M>]?: TypeOf<M[K]> }

/** An object with exactly these members. */
export function object<M extends Members>(members: M): Shape<ObjectOf<M>> {
  return objectShape(members, true)
}

/** An object with at least these members; others are ignored. */
export function open<M extends Members>(members: M): Shape<ObjectOf<M>> {
  return objectShape(members, false)
}

function objectShape<M extends Members>(members: M, exact: boolean): Shape<ObjectOf<M>> {
  const names = Object.keys(members)
  const inner = Object.values(members)
  const known = new Set(names)
  return shape((value, path) => {
    if (!isObject(value)) return { path, reason: 'must be an object' }
    let present = 0
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] as string
      const member = inner[index] as Shape<unknown>
      const found = Object.hasOwn(value, name) ? value[name] : undefined
      if (found === undefined) {
        if (member.optional === true) continue
        return { path: join(path, name), reason: 'is missing' }
      }
      present += 1
      const misfit = member.check(found, join(path, name))
      if (misfit !== null) return misfit
    }
    if (!exact) return null
    const own = Object.keys(value)
    if (own.length === present) return null // each of them was looked at
    for (const name of own) {
      if (!known.has(name)) return { path: join(path, name.slice(0, 64)), reason: 'is not a known member' }
    }
    return null
  }, objectWriter(members))
}

type VariantTable = { readonly [variant: string]: Members }
/** The externally tagged form on disk: a bare string where a variant has no members, else one member named for it. */
export type TaggedOf<T extends VariantTable> = {
  [K in keyof T]: keyof T[K] extends never ? K : { readonly [P in K]: ObjectOf<T[K]> }
}[keyof T]

/** `others: 'allowed'` ignores unknown members inside a variant: evidence of a newer writer stays readable. */
export function tagged<T extends VariantTable>(
  table: T,
  others: 'refused' | 'allowed' = 'refused',
): Shape<TaggedOf<T>> {
  const inside = others === 'refused' ? object : open
  const shapes = new Map(
    Object.entries(table).map(([name, members]) => [
      name,
      { bare: Object.keys(members).length === 0, inner: inside(members) },
    ]),
  )
  return shape((value, path) => {
    if (typeof value === 'string') {
      return shapes.get(value)?.bare === true ? null : { path, reason: 'is not a known variant' }
    }
    if (!isObject(value)) return { path, reason: 'must be a string or an object with one member' }
    const names = Object.keys(value)
    const name = names[0]
    const row = name === undefined || names.length !== 1 ? undefined : shapes.get(name)
    if (name === undefined || row === undefined || row.bare) return { path, reason: 'is not a known variant' }
    return row.inner.check(value[name], join(path, name))
  }, taggedWriter(shapes))
}

/**
 * The values of `tagged(table, 'allowed')` as they are in memory: the variant is named by the member `kind`, and its members
 * stand beside that. Written in the tagged form.
 */
export function kinded<T extends VariantTable>(table: T): Shape<KindedOf<T>> {
  const shapes = new Map(Object.entries(table).map(([name, members]) => [name, open(members)]))
  const asTagged = tagged(table, 'allowed')
  return shape(
    (value, path) => {
      const row = isObject(value) ? shapes.get(value.kind as string) : undefined
      return row === undefined ? { path, reason: 'is not a known variant' } : row.check(value, path)
    },
    kindWriter(new Map(Object.entries(table)), (value) => {
      const { kind, ...members } = value as { readonly kind: string }
      return asTagged.write({ [kind]: members })
    }),
  )
}
export type KindedOf<T extends VariantTable> = {
  [K in keyof T]: { readonly kind: K } & ObjectOf<T[K]>
}[keyof T]

export function either<A, B>(left: Shape<A>, right: Shape<B>): Shape<A | B> {
  return shape((value, path) => (left.check(value, path) === null ? null : right.check(value, path)))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isUint(value: unknown, max: number): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= max
}

function join(path: string, name: string): string {
  if (path === UNTOLD) return UNTOLD
  return path === '' ? name : `${path}.${name}`
}
