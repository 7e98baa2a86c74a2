/**
 * What a grant and an approval are bound to: the run as the runtime knows it. A changed principal, session start,
 * iteration, trusted context or configuration makes every earlier authority void (law 9).
 */
import {
  type AgentId,
  canonical,
  canonicalOnce,
  digest,
  digestOfCanonical,
  type Hash,
  type JsonObject,
  type Timestamp,
} from '../core/index.ts'
import type { LoopConfig } from '../events/index.ts'

export interface RunContext {
  readonly agent_id: AgentId
  readonly started_at: Timestamp
  readonly iteration: number
  /** Written only by the runtime or its embedding code, never by a model, a tool or a client. */
  readonly trusted_context: JsonObject
  readonly config: LoopConfig
}

/** `<agent_id>:<started_at>`: names the run to executors. Timestamps of one process never repeat. */
export function runKeyOf(context: Pick<RunContext, 'agent_id' | 'started_at'>): string {
  return `${context.agent_id}:${context.started_at}`
}

const bindings = new WeakMap<RunContext, Hash>()

/**
 * Binds an approval or a grant to one iteration of one run. Asked several times a call, so a context that cannot change
 * any more is digested once.
 */
export function authorizationBinding(context: RunContext): Hash {
  const known = bindings.get(context)
  if (known !== undefined) return known
  const { agent_id, started_at, iteration, trusted_context, config } = context
  if (![context, trusted_context, config].every(Object.isFrozen))
    return digest({ agent_id, started_at, iteration, trusted_context, config })
  // configuration and trusted context are most of the text, and stay the same in every iteration of a run
  const binding = digestOfCanonical(
    `{"agent_id":${canonical(agent_id)},"config":${canonicalOnce(config)},"iteration":${canonical(iteration)},` +
      `"started_at":${canonical(started_at)},"trusted_context":${canonicalOnce(trusted_context)}}`,
  )
  bindings.set(context, binding)
  return binding
}

/** Binds to a run over all its iterations. */
export function sessionBinding(context: RunContext): Hash {
  return digest({ run: runKeyOf(context), trusted_context: context.trusted_context, config: context.config })
}
