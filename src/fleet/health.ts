/**
 * The health of this process, component by component. Each one says what is true here: a part that this process does not
 * have is named as absent instead of being reported as idle. Pure: readings in, answer out.
 */
import type { ComponentHealth, HealthStatus, SchedulerHealth, SystemHealth } from '../api/index.ts'
import { instantOf, type Timestamp } from '../core/index.ts'
import type { ActivityReading } from './activity.ts'
import type { UsageReading } from './usage-meter.ts'

export interface ProcessReading {
  readonly now: Timestamp
  readonly version: string
  readonly uptimeSeconds: number
  readonly agentsTotal: number
  readonly activity: ActivityReading
  readonly usage: UsageReading
}

export function systemHealth(reading: ProcessReading): SystemHealth {
  const components = {
    scheduler: scheduler(reading),
    lifecycle: lifecycle(reading),
    resource_manager: resourceManager(reading),
    communication: communication(reading),
  }
  return {
    status: worstOf(Object.values(components).map(({ status }) => status)),
    timestamp: epochSeconds(reading.now),
    components,
  }
}

/** No scheduler runs in this process, so nothing is running, counted or stored. */
export const NO_SCHEDULER: SchedulerHealth = Object.freeze({
  is_running: false,
  store_accessible: false,
  jobs_total: 0,
  jobs_active: 0,
  jobs_paused: 0,
  jobs_dead_letter: 0,
  global_active_runs: 0,
  max_concurrent: 0,
  runs_total: 0,
  runs_succeeded: 0,
  runs_failed: 0,
  average_execution_time_ms: 0,
  longest_run_ms: 0,
})

/** Healthy, because a process without schedules lacks nothing: a missing scheduler must not page anybody. */
function scheduler(reading: ProcessReading): ComponentHealth {
  return {
    status: 'healthy',
    message: 'No scheduler is running in this process',
    last_check: epochSeconds(reading.now),
    uptime_seconds: 0,
    metrics: { is_running: false },
  }
}

function lifecycle(reading: ProcessReading): ComponentHealth {
  const { runs_started, runs_succeeded, runs_failed, runs_unresolved, runs_active } = reading.activity
  return {
    status: 'healthy',
    message: `Version ${reading.version}, ${count(runs_active, 'run')} active`,
    last_check: epochSeconds(reading.now),
    uptime_seconds: reading.uptimeSeconds,
    metrics: {
      agents_total: reading.agentsTotal,
      runs_started,
      runs_active,
      runs_succeeded,
      runs_failed,
      runs_unresolved,
    },
  }
}

function resourceManager(reading: ProcessReading): ComponentHealth {
  const { memory_bytes, cpu_percent } = reading.usage
  return {
    status: 'healthy',
    message: 'Memory and processor use of this process are measured; no limit is enforced',
    last_check: epochSeconds(reading.now),
    uptime_seconds: reading.uptimeSeconds,
    metrics: { memory_bytes, cpu_percent },
  }
}

function communication(reading: ProcessReading): ComponentHealth {
  const { connections } = reading.activity
  return {
    status: 'healthy',
    message: `No message bus is running in this process; ${count(connections, 'connection')} open`,
    last_check: epochSeconds(reading.now),
    uptime_seconds: reading.uptimeSeconds,
    metrics: { connections_open: connections },
  }
}

const WORST_FIRST = ['unhealthy', 'degraded', 'healthy'] as const satisfies readonly HealthStatus[]

function worstOf(statuses: readonly HealthStatus[]): HealthStatus {
  return WORST_FIRST.find((status) => statuses.includes(status)) ?? 'healthy'
}

function epochSeconds(time: Timestamp): number {
  return Number(instantOf(time) / 1_000_000_000n)
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? ' is' : 's are'}`
}
