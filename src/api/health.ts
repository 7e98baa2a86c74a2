/** Health and metrics on the wire: member names exactly as they are sent. Null means "not sampled", never zero. */
import type { Json, Timestamp } from '../core/index.ts'

export type HealthStatus = 'healthy' | 'degraded' | 'unhealthy'

/** The public probe: that the process answers, and nothing an outsider could use. */
export type HealthResponse = {
  readonly status: 'healthy'
  readonly uptime_seconds: number
  readonly timestamp: Timestamp
  readonly version: string
}

export type StatusResponse = {
  readonly version: string
  readonly healthy: boolean
  readonly agent_count: number
  readonly schedule_count: number
  readonly channel_count: number
}

export type ComponentHealth = {
  readonly status: HealthStatus
  readonly message: string | null
  /** Seconds since the epoch. */
  readonly last_check: number
  readonly uptime_seconds: number
  readonly metrics: { readonly [name: string]: Json }
}

export type SystemHealth = {
  /** The worst of the components. */
  readonly status: HealthStatus
  /** Seconds since the epoch. */
  readonly timestamp: number
  readonly components: {
    readonly scheduler: ComponentHealth
    readonly lifecycle: ComponentHealth
    readonly resource_manager: ComponentHealth
    readonly communication: ComponentHealth
  }
}

/** Published clients decode this into a fixed record, so these thirteen members are all there will ever be. */
export type SchedulerHealth = {
  readonly is_running: boolean
  readonly store_accessible: boolean
  readonly jobs_total: number
  readonly jobs_active: number
  readonly jobs_paused: number
  readonly jobs_dead_letter: number
  readonly global_active_runs: number
  readonly max_concurrent: number
  readonly runs_total: number
  readonly runs_succeeded: number
  readonly runs_failed: number
  readonly average_execution_time_ms: number
  readonly longest_run_ms: number
}

/** What is measured in every process, and what published clients read beside it. */
export type Metrics = {
  readonly timestamp: Timestamp
  readonly agents: {
    readonly total: number
    readonly running: number
    /** `max(0, total - running - error)`. */
    readonly idle: number
    readonly error: number
  }
  readonly system: {
    readonly uptime_seconds: number
    /** The older names of the two below. */
    readonly memory_usage: number | null
    readonly cpu_usage: number | null
    readonly memory_usage_bytes: number | null
    readonly memory_usage_percent: number | null
    readonly cpu_usage_percent: number | null
    readonly disk_usage_bytes: number | null
    readonly disk_usage_percent: number | null
  }
  readonly scheduler: {
    readonly jobs_total: number | null
    readonly jobs_active: number | null
    readonly jobs_paused: number | null
    readonly runs_total: number | null
    readonly runs_succeeded: number | null
    readonly runs_failed: number | null
  }
  readonly task_manager: {
    readonly tasks_active: number | null
    readonly tasks_queued: number | null
    readonly tasks_completed: number | null
    readonly tasks_failed: number | null
    /** Runs whose outcome cannot be proved: unknown is not failed. */
    readonly tasks_unresolved: number | null
  }
  readonly load_balancer: {
    readonly total_requests: number | null
    readonly active_connections: number | null
    readonly backends_healthy: number | null
    readonly backends_total: number | null
  }
  readonly uptime_seconds: number
  readonly memory_usage_bytes: number | null
  readonly memory_usage_percent: number | null
  readonly cpu_usage_percent: number | null
  readonly disk_usage_bytes: number | null
  readonly disk_usage_percent: number | null
  readonly active_agents: number
  readonly total_agents: number
  readonly secrets_count: number | null
  readonly mcp_connections: number | null
  readonly vector_db_items: number | null
}
