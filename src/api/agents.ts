/** Agents on the wire. Members are spelled as sent; an optional member is absent rather than null. */
import type { AgentId, Duration, Json, Timestamp } from '../core/index.ts'

export type AgentState =
  | 'Created'
  | 'Initializing'
  | 'Ready'
  | 'Running'
  | 'Suspended'
  | 'Waiting'
  | 'Completed'
  | 'Failed'
  | 'Terminating'
  | 'Terminated'
  | 'Unreachable'

export type AgentSummary = { readonly id: AgentId; readonly name: string; readonly state: AgentState }

export type ExecutionMode =
  | 'Persistent'
  | 'Ephemeral'
  | 'EventDriven'
  | { readonly Scheduled: { readonly interval: Duration } }
  | { readonly CronScheduled: { readonly cron_expression: string; readonly timezone: string } }
  | {
      readonly External: {
        readonly endpoint?: string
        readonly agentpin_domain?: string
        readonly heartbeat_interval_secs: number
      }
    }

export type CreateAgent = {
  readonly name: string
  /** Agent source; only an external agent may do without. */
  readonly dsl?: string
  readonly execution_mode?: ExecutionMode
  readonly capabilities?: readonly string[]
  readonly metadata?: { readonly [name: string]: string }
}

/** At least one member, and not empty. */
export type UpdateAgent = { readonly name?: string; readonly dsl?: string }

/** The answer to create, update and delete: `ready`, `updated` or `deleted`. */
export type AgentAcknowledged = { readonly id: AgentId; readonly status: string }

export type ResourceUsage = {
  readonly memory_bytes: number | null
  readonly cpu_percent: number | null
  readonly active_tasks: number
}

export type AgentEvent = {
  readonly event_type: 'RunStarted' | 'RunCompleted' | 'RunFailed'
  readonly payload: Json
  readonly timestamp: Timestamp
}

export type AgentStatus = {
  readonly agent_id: AgentId
  readonly state: AgentState
  readonly last_activity: Timestamp
  readonly resource_usage: ResourceUsage
  readonly metadata?: { readonly [name: string]: string }
  readonly last_result?: string
  readonly recent_events?: readonly AgentEvent[]
  readonly execution_mode?: string
}

export type ExecuteAgent = { readonly input?: Json }
export type ExecutionStarted = { readonly execution_id: string; readonly status: string }

export type AgentExecutionRecord = {
  readonly execution_id: string
  readonly status: string
  readonly timestamp: Timestamp
}
export type AgentHistory = { readonly history: readonly AgentExecutionRecord[] }

/** What an external agent says of itself. */
export type Heartbeat = {
  readonly state: AgentState
  /** Merged into what is stored. */
  readonly metadata?: { readonly [name: string]: string }
  readonly last_result?: string
  readonly agentpin_jwt?: string
}

export type PushEvent = {
  readonly event_type: AgentEvent['event_type']
  readonly payload: Json
  readonly agentpin_jwt?: string
}

/** `workflow_id` is agent source text, despite its name. */
export type ExecuteWorkflow = {
  readonly workflow_id: string
  readonly parameters: Json
  readonly agent_id?: AgentId
}
