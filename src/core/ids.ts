/**
 * Ids have a kind. The brand stops a mix-up at compile time, and text becomes an id only through `parseId`, which
 * refuses the nil id. All ids of ours are UUIDs in lower case with hyphens.
 */
import { createHash } from 'node:crypto'
import { Fault } from './fault.ts'

export const ID_KINDS = ['agent', 'dispatch', 'invocation', 'publication', 'reservation', 'root', 'run'] as const
export type IdKind = (typeof ID_KINDS)[number]
declare const kindOf: unique symbol
export type Id<K extends IdKind> = string & { readonly [kindOf]: K }
export type AgentId = Id<'agent'>
export type RunId = Id<'run'>
export type InvocationId = Id<'invocation'>

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const NIL = '00000000-0000-0000-0000-000000000000'

/** Upper case is brought to lower case first; everything else that is not a hyphenated, non-nil UUID is refused. */
export function parseId<K extends IdKind>(kind: K, text: unknown): Id<K> {
  const id = idOrNull(kind, text)
  if (id !== null) return id
  throw new Fault('INVALID_REQUEST', {
    message: `Cannot read the ${kind} id ${JSON.stringify(String(text).slice(0, 80))}: it is not a UUID of 36 characters, or it is nil`,
    hint: 'Give a lower-case, hyphenated UUID such as the one printed by crypto.randomUUID()',
  })
}

export function idOrNull<K extends IdKind>(_kind: K, text: unknown): Id<K> | null {
  if (typeof text !== 'string' || text.length !== 36) return null
  const lower = text.toLowerCase()
  return UUID.test(lower) && lower !== NIL ? (lower as Id<K>) : null
}

/** True only for the form written on disk: lower case, and not nil. */
export function isStoredId(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text) && text !== NIL
}

/** A version 4 id from 16 random bytes. */
export function newId<K extends IdKind>(_kind: K, random: { bytes(count: number): Uint8Array }): Id<K> {
  return spell(random.bytes(16), 4) as Id<K>
}

/** A version 5 id: the same name in the same namespace gives the same id in every process. */
export function derivedId<K extends IdKind>(_kind: K, namespace: string, name: string): Id<K> {
  const space = Buffer.from(namespace.replaceAll('-', ''), 'hex')
  return spell(createHash('sha1').update(space).update(name, 'utf8').digest(), 5) as Id<K>
}

const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

function spell(bytes: Uint8Array, version: 4 | 5): string {
  const pair = (at: number): string => PAIRS[bytes[at] as number] as string
  const marked = (at: number, mask: number, bits: number): string =>
    PAIRS[((bytes[at] as number) & mask) | bits] as string
  return (
    `${pair(0)}${pair(1)}${pair(2)}${pair(3)}-${pair(4)}${pair(5)}-` +
    `${marked(6, 0x0f, version << 4)}${pair(7)}-${marked(8, 0x3f, 0x80)}${pair(9)}-` +
    `${pair(10)}${pair(11)}${pair(12)}${pair(13)}${pair(14)}${pair(15)}`
  )
}
