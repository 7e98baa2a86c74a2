/**
 * Caller: who a credential speaks for, after it was verified.
 *
 * Owns the fingerprint that every claim binds (11.2 of the core specification, C13.1): a digest over the token text and
 * what the key file says of it, so a rotated secret or an edited scope is another caller. Only the digest is ever kept.
 */
import { type AgentId, digest, type Hash } from '../core/index.ts'

export type Caller = {
  /** The public part of an API key, or null for the legacy token. */
  readonly key_id: string | null
  /** The agents this key is limited to; null is an admin. */
  readonly agent_scope: readonly AgentId[] | null
  readonly fingerprint: Hash
}

/** A caller who came with a token. `key` is null for the legacy token, which has no record. */
export function networkCaller(
  token: string,
  key: { readonly key_id: string; readonly agent_scope: readonly AgentId[] | null } | null,
): Caller {
  return {
    key_id: key?.key_id ?? null,
    agent_scope: key?.agent_scope ?? null,
    fingerprint: digest(['runtime-api', token, key === null ? null : [key.key_id, key.agent_scope]]),
  }
}

/** The in-process caller. Its digest has another shape than a network caller's, so no token text can produce it. */
export const SDK_FINGERPRINT: Hash = digest(['trusted-sdk', 'coordinator'])

export function isAdmin(caller: Caller): boolean {
  return caller.agent_scope === null
}

export function mayUse(caller: Caller, agent: AgentId): boolean {
  return caller.agent_scope === null || caller.agent_scope.includes(agent)
}
