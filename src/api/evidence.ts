/**
 * What an operator may look at: one run as its journal tells it, and the capacity of the sandbox. Looking never starts,
 * releases or reconciles anything.
 */
import type { AgentId, HexHash, Json, JsonObject, RunId, Timestamp } from '../core/index.ts'
import type { AuditReference, BudgetSnapshot } from '../events/index.ts'

/** Which run, and the key that the asker trusts. No path: the file name follows from the two ids. */
export type RunQuestion = { readonly agent_id: AgentId; readonly run_id: RunId; readonly public_key: HexHash }

export type RunLink = {
  readonly agent_id: AgentId
  readonly audit: AuditReference
  readonly target?: string
  readonly parent_recorded_outcome?: Json
}

export type RunPermission = {
  readonly sequence: number
  readonly decision: string
  readonly tool_name: string | null
  readonly action_type: string | null
  readonly target: string | null
  readonly contract: JsonObject | null
  readonly reason: string | null
  readonly grants: JsonObject
}

export type RunRecovery = {
  readonly journal_complete: boolean
  readonly requires_reconciliation: boolean
  readonly verified_records: number
  readonly unverified_tail_bytes: number
  readonly warnings: readonly string[]
  readonly recovered_budget?: JsonObject
  readonly effects: readonly {
    readonly identity: JsonObject
    readonly outcome: string
    readonly start_sequence: number
    readonly finish_sequence: number | null
  }[]
}

export type RunView = {
  readonly audit: AuditReference
  readonly agent_id: AgentId
  readonly snapshot_sha256: HexHash
  readonly status: string
  readonly first_record_at: Timestamp
  readonly last_record_at: Timestamp
  readonly parent: RunLink | null
  readonly parent_context: Json
  readonly children: readonly RunLink[]
  readonly budget: {
    readonly recorded_at: Timestamp
    readonly sequence: number
    readonly snapshot: BudgetSnapshot
  } | null
  readonly budget_root?: RunLink | null
  readonly permissions: readonly RunPermission[]
  readonly recovery: RunRecovery
  readonly terminal: Json
  readonly limits: Json
  readonly source: Json
  readonly invocation: { readonly status: string; readonly error?: string; readonly resolution?: JsonObject } | null
}

type Reserved = {
  readonly workers: number
  readonly memory_bytes: number | null
  readonly cpu_nanos: number | null
}

export type Capacity = {
  readonly observed_at_unix_ms: number
  readonly state_dir: string
  readonly limits: { readonly max_workers: number; readonly memory_bytes: number; readonly cpu_nanos: number }
  readonly reserved: Reserved
  readonly available: Reserved
  readonly unknown_resource_leases: number
  readonly admission_blocked: boolean
  readonly workers: readonly {
    readonly lease: string
    readonly backend: string
    readonly phase: string
    readonly resources: { readonly memory_bytes: number; readonly cpu_nanos: number } | null
    readonly origin: {
      readonly agent_id: AgentId
      readonly run_id: RunId
      readonly public_key: HexHash
      readonly dispatch_id: string
      readonly call_fingerprint: string
      readonly tool_name: string
      readonly iteration: number
    } | null
  }[]
  readonly staging: JsonObject | null
  readonly staging_error: string | null
}
