/**
 * A call as the journal holds it, read back to be judged again: the very members that policy saw. Its fingerprint must be
 * theirs, so a record that lacks one, or was put together from two, is nothing that was ever judged.
 *
 * The result was read and not prepared: no toolbox stands behind it, and no grant can be made of it (law 8).
 */
import { fingerprintOf, type PreparedCall } from '../../calls/index.ts'
import { deepFreeze, fits, shapes, type TypeOf } from '../../core/index.ts'
import { actionShape } from '../../events/index.ts'

const { open, text, bool, hash, jsonObject, nullable, optional } = shapes

const contractShape = open({
  name: text,
  version: text,
  digest: hash,
  action_type: text,
  action_id: text,
  resource_type: text,
  resource_id: text,
  requires_approval: bool,
})
const viewShape = open({
  fingerprint: hash,
  action: actionShape,
  arguments: nullable(jsonObject),
  contract: nullable(contractShape),
  resolved: jsonObject,
  source_policy: optional(jsonObject),
})

/** Null for what is no complete record of a call. */
export function recordedCall(view: unknown): PreparedCall | null {
  if (!fits<TypeOf<typeof viewShape>>(viewShape, view)) return null
  const { fingerprint, action, arguments: value, contract, resolved, source_policy = null } = view
  if (fingerprintOf(action, contract, resolved, source_policy) !== fingerprint) return null
  return deepFreeze({ action, arguments: value, contract, resolved, source_policy, fingerprint })
}
