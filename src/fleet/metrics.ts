/**
 * The metrics of this process. A member is a number where it is measured here, zero where the thing provably does not
 * exist (jobs without a scheduler), and null where nobody looked. Pure: readings in, answer out.
 */
import type { Metrics } from '../api/index.ts'
import type { ProcessReading } from './health.ts'

export function metricsOf({ now, uptimeSeconds, agentsTotal, activity, usage }: ProcessReading): Metrics {
  const running = activity.runs_active > 0 ? agentsTotal : 0 // one agent lives here: it runs while any of its runs does
  const unsampled = { memory_usage_percent: null, disk_usage_bytes: null, disk_usage_percent: null }
  const sampled = {
    uptime_seconds: uptimeSeconds,
    memory_usage_bytes: usage.memory_bytes,
    cpu_usage_percent: usage.cpu_percent,
  }
  return {
    timestamp: now,
    agents: { total: agentsTotal, running, idle: Math.max(0, agentsTotal - running), error: 0 },
    system: { ...sampled, ...unsampled, memory_usage: usage.memory_bytes, cpu_usage: usage.cpu_percent },
    scheduler: { jobs_total: 0, jobs_active: 0, jobs_paused: 0, runs_total: 0, runs_succeeded: 0, runs_failed: 0 },
    task_manager: {
      tasks_active: activity.runs_active,
      tasks_queued: null,
      tasks_completed: activity.runs_succeeded,
      tasks_failed: activity.runs_failed,
      tasks_unresolved: activity.runs_unresolved,
    },
    load_balancer: {
      total_requests: null,
      active_connections: activity.connections,
      backends_healthy: null,
      backends_total: null,
    },
    ...sampled,
    ...unsampled,
    active_agents: running,
    total_agents: agentsTotal,
    secrets_count: null,
    mcp_connections: null,
    vector_db_items: null,
  }
}
