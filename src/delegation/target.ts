/** What a run may be delegated to: one declared agent, frozen when the registry was built. */
import type { AgentId, Fault, Hash, JsonObject } from '../core/index.ts'
import type { InlinePolicy } from '../dsl/index.ts'

/** The tools of a delegated run: the six that only look at the runtime. */
export const DELEGATION_MODE = 'coordinator_monitoring'

export interface DelegationTarget {
  /** The declared name: what policy, audit and the prompt see. */
  readonly name: string
  /** Derived from the name, so the same target has the same principal in every process. */
  readonly principal: AgentId
  readonly description: string
  /** The text of the declaration, and nothing else of the file. */
  readonly declaration: string
  readonly source_hash: Hash
  readonly declaration_hash: Hash
  readonly timeout_seconds: number | null
  readonly sandbox_tier: string | null
  readonly policy: InlinePolicy
}

/** What the journals of both runs record of a target (10.2). */
export function targetMetadata(target: DelegationTarget): JsonObject {
  const { name, principal, source_hash, declaration_hash, timeout_seconds, sandbox_tier, policy } = target
  return {
    name,
    principal,
    source_hash,
    declaration_hash,
    timeout_seconds,
    sandbox_tier,
    mode: DELEGATION_MODE,
    policy_names: policy.metadata.policies,
  }
}

export interface AgentRegistry {
  /** In the order of their names. */
  readonly targets: readonly DelegationTarget[]
  /** Names and aliases that somebody meant and that cannot be used, each with why, for people. */
  readonly unavailable: ReadonlyMap<string, string>
  /** `REGISTRY_LIMIT` where files were left out, or where there are so many that no name can be used; null where all fit. */
  readonly problem: Fault | null
  /** By declared name or alias. */
  resolve(name: string): ResolvedName
}

export type ResolvedName =
  | { readonly kind: 'Target'; readonly target: DelegationTarget }
  | { readonly kind: 'Unavailable'; readonly reason: string }
  | { readonly kind: 'Unknown' }
