/** The answer to handing one identified execution to the runtime: each way it can end, for a caller that retries. */
import type { AgentId, JsonObject, RunId } from '../core/index.ts'
import type { AuditReference } from '../events/index.ts'

/** Who asks, by which route and under which id. All of it is bound into the claim, so it is never taken from a model. */
export type ExecutionIdentity = {
  readonly invocation_id: string
  readonly route: 'agent.execute' | 'workflow.execute' | 'schedule.trigger'
  /** The caller's fingerprint. */
  readonly caller: string
}

type Saved = {
  readonly execution_id: RunId
  readonly agent_id: AgentId
  readonly audit: AuditReference
  readonly result: JsonObject
  readonly replayed: true
}

export type Admission =
  | {
      readonly status: 'queued'
      readonly execution_id: RunId
      readonly agent_id: AgentId
      readonly audit: AuditReference
      readonly replayed: false
    }
  | ({ readonly status: 'completed' } & Saved)
  | ({ readonly status: 'failed' } & Saved)
  | {
      readonly status: 'unresolved'
      readonly audit: AuditReference | null
      readonly error?: string
      readonly replayed: false
    }
  | {
      readonly status: 'reconciled'
      readonly audit: AuditReference | null
      readonly resolution: JsonObject
      readonly replayed: false
    }
  | { readonly status: 'in_progress' | 'conflict' | 'not_found'; readonly replayed: false }
  | {
      readonly status: 'invalid_request' | 'forbidden' | 'unavailable'
      readonly error: string
      readonly replayed: false
    }
