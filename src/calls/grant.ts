/**
 * Grants: single-use authority, in memory, to dispatch one prepared call through one toolbox. Guarded: only `dispatch`
 * issues them. `spend` turns a grant into an authorised call, which is all that a toolbox executes; a cast, a copy and a
 * second use end in a Bug, and no grant outlives the process (law 8).
 */
import { assert, type Hash } from '../core/index.ts'
import type { PreparedCall } from './prepared-call.ts'
import type { Toolbox } from './toolbox.ts'

declare const granted: unique symbol // not exported, so no object literal can be a Grant
export interface Grant {
  readonly [granted]: true
  readonly call: PreparedCall
  /** The toolbox instance that prepared the call; another one must refuse the grant. Null for terminal actions. */
  readonly toolbox: Toolbox | null
  readonly binding: Hash
  /** Monotonic; passed means now >= deadlineMs. */
  readonly deadlineMs: number
}

declare const authorised: unique symbol
/** A call whose grant was spent, and that may therefore be executed. */
export interface AuthorisedCall {
  readonly [authorised]: true
  readonly call: PreparedCall
}

const unspent = new WeakSet<object>()
const spent = new WeakSet<object>()

export function issue(parts: Omit<Grant, typeof granted>): Grant {
  const grant = Object.freeze({ ...parts }) as Grant
  unspent.add(grant)
  return grant
}

export function spend(grant: Grant): AuthorisedCall {
  assert(unspent.delete(grant), 'a grant is spent once, and only dispatch issues one')
  const call = Object.freeze({ call: grant.call }) as AuthorisedCall
  spent.add(call)
  return call
}

/** For toolboxes: refuses a call that no spent grant stands behind. */
export function assertAuthorised(call: AuthorisedCall): void {
  assert(spent.has(call), 'a call is executed only when its grant was spent')
}
