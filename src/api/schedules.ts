/**
 * Schedules on the wire. Published clients decode these answers into fixed records, so no member is ever added to them;
 * evidence travels in members of its own that a caller asks for.
 */
import type { Json, JsonObject, Timestamp } from '../core/index.ts'
import type { AuditReference } from '../events/index.ts'

export type JobStatus = 'Active' | 'Paused' | 'Completed' | 'Failed' | 'DeadLetter'
export type RunStatus =
  | 'Pending'
  | 'Running'
  | 'Succeeded'
  | 'Failed'
  | 'TimedOut'
  | 'Skipped'
  | 'Unresolved'
  | 'Reconciled'

export type CreateSchedule = {
  readonly name: string
  /** Six fields: second, minute, hour, day of month, month, day of week. */
  readonly cron_expression: string
  /** An IANA name; absent or empty means UTC. */
  readonly timezone?: string
  readonly agent_name: string
  readonly policy_ids?: readonly string[]
  readonly one_shot?: boolean
  readonly input?: Json
}

export type UpdateSchedule = {
  readonly cron_expression?: string
  readonly timezone?: string
  readonly policy_ids?: readonly string[]
  readonly one_shot?: boolean
}

export type ScheduleSummary = {
  readonly job_id: string
  readonly name: string
  readonly cron_expression: string
  readonly timezone: string
  readonly status: JobStatus
  readonly enabled: boolean
  readonly next_run: Timestamp | null
  readonly run_count: number
}

export type ScheduleDetail = {
  readonly job_id: string
  readonly name: string
  readonly cron_expression: string
  readonly timezone: string
  readonly status: JobStatus
  readonly enabled: boolean
  readonly one_shot: boolean
  readonly next_run: Timestamp | null
  readonly last_run: Timestamp | null
  readonly run_count: number
  readonly failure_count: number
  readonly created_at: Timestamp
  readonly updated_at: Timestamp
}

export type ScheduleCreated = { readonly job_id: string; readonly next_run: Timestamp | null; readonly status: string }
export type ScheduleDeleted = { readonly job_id: string; readonly deleted: boolean }

export type ScheduleAction = {
  readonly job_id: string
  readonly action: 'pause' | 'resume' | 'trigger'
  readonly status: 'paused' | 'active' | 'triggered'
}

export type RunEntry = {
  readonly run_id: string
  readonly started_at: Timestamp
  readonly completed_at: Timestamp | null
  readonly status: RunStatus
  readonly error: string | null
  readonly execution_time_ms: number | null
  /** The next three only for a caller that asks for evidence. */
  readonly resolution?: JsonObject | null
  readonly admission_audit?: AuditReference | null
  readonly execution?: JsonObject | null
}

export type ScheduleHistory = { readonly job_id: string; readonly history: readonly RunEntry[] }
export type NextRuns = { readonly job_id: string; readonly next_runs: readonly Timestamp[] }
