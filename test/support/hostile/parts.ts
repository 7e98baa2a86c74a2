/** What a hostile frame is, and what whoever makes one may use. */
import type { Chance } from './chance.ts'

export type RequestId = string | number

export interface HostileFrame {
  readonly what: string
  /** Without the end of its line. */
  readonly bytes: Uint8Array
  readonly mark: string
  /** How often the effect with its mark may happen because of it. Null: it was changed at random. */
  readonly effects: 0 | 1 | null
  readonly answer: Owed
}

export type Owed =
  | { readonly kind: 'Nothing' }
  /** One answer under this id. */
  | { readonly kind: 'Answer'; readonly id: RequestId }
  /** One error, of the protocol or of the call, under an id that can be made out or under null. */
  | { readonly kind: 'Error' }

export interface Call {
  readonly name: string
  readonly arguments: { readonly [name: string]: unknown }
}

/** What the calls are about. Each makes a call whose effect would have the mark. */
export interface Bait {
  permitted(mark: string): Call
  /** Policy forbids it. */
  denied(mark: string): Call
  /** It needs a person. */
  held(mark: string): Call
}

/** What clients may learn of each other. */
export interface Loot {
  /** Calls under an invocation id that were answered. */
  readonly invocations: { readonly client: string; readonly id: string; readonly mark: string }[]
  readonly handles: { readonly client: string; readonly handle: string; readonly mark: string }[]
}

/** Whoever makes a frame may use this. */
export interface Maker {
  readonly chance: Chance
  readonly client: string
  readonly bait: Bait
  readonly loot: Loot
  /** Ids of requests that were answered, and are not used again. */
  readonly finished: readonly string[]
  readonly invocations: readonly Invocation[]
  /** A new invocation, known to later waves. */
  invoke(mark: string, member: string, id: string): void
  anyId(): RequestId
  mark(): string
}

export interface Invocation {
  readonly id: string
  readonly member: string
  readonly mark: string
}

export type Made = Omit<HostileFrame, 'what' | 'bytes'> & { readonly bytes: Uint8Array | string }
export type Recipe = (maker: Maker) => Made
export type Recipes = Readonly<Record<string, Recipe>>

export const OWN_MEMBER = 'symbi/invocationId'

/** Few, so that clients use the same ones, and each of them again and again. */
export const IDS: readonly RequestId[] = [1, 1, 2, 0, -7, '1', '', 'päivä', 2 ** 53 - 1, 'x'.repeat(256), '__proto__']

export function callText(id: RequestId, call: Call, params: object = {}, around: object = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...call, ...params }, ...around })
}

export const NOTHING: Owed = { kind: 'Nothing' }
export const ERROR: Owed = { kind: 'Error' }

/** A call that is strictly read, and answered under its id. */
export function asked(
  maker: Maker,
  of: (mark: string) => Call,
  { effects = 0, params = {} }: { readonly effects?: 0 | 1; readonly params?: object } = {},
): Made {
  const [id, mark] = [maker.anyId(), maker.mark()]
  return { bytes: callText(id, of(mark), params), mark, effects, answer: { kind: 'Answer', id } }
}

/** A frame that asks for no effect. */
export function plain(maker: Maker, message: object, answer: Owed = NOTHING): Made {
  return { bytes: JSON.stringify({ jsonrpc: '2.0', ...message }), mark: maker.mark(), effects: 0, answer }
}
