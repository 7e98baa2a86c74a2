/**
 * The runtime API as this process answers it: health, metrics, its one registered agent (the coordinator's principal), and
 * the truth that no scheduler runs here. Every other method is `NOT_CONFIGURED`; an embedding that answers more lays its own
 * methods over these with `unconfiguredApi(processApi(parts), mine)`.
 */
import { type AgentState, type AgentStatus, type CompleteRuntimeApi, unconfiguredApi } from '../api/index.ts'
import { type AgentId, Fault } from '../core/index.ts'
import type { World } from '../world/index.ts'
import type { Activity } from './activity.ts'
import { NO_SCHEDULER, type ProcessReading, systemHealth } from './health.ts'
import { metricsOf } from './metrics.ts'
import { usageMeter } from './usage-meter.ts'

export interface ProcessParts {
  readonly world: Pick<World, 'clock' | 'processes'>
  readonly version: string
  /** When the process opened, on the monotonic clock. */
  readonly startedAtMs: number
  /** The coordinator's principal: the one agent that is registered here. */
  readonly principal: AgentId
  /** Its name. Default "coordinator". */
  readonly agentName?: string
  readonly activity: Activity
}

export function processApi(parts: ProcessParts): CompleteRuntimeApi {
  const { world, principal, activity } = parts
  const usage = usageMeter(world)
  const state = (): AgentState => (activity.read().runs_active > 0 ? 'Running' : 'Ready')
  const reading = (): ProcessReading => ({
    now: world.clock.wall(),
    version: parts.version,
    uptimeSeconds: Math.max(0, Math.floor((world.clock.monotonicMs() - parts.startedAtMs) / 1000)),
    agentsTotal: 1,
    activity: activity.read(),
    usage: usage(),
  })
  const statusOf = (id: AgentId): AgentStatus => {
    if (id !== principal) throw noSuchAgent(id)
    const { runs_active, last_activity } = activity.read()
    return {
      agent_id: principal,
      state: state(),
      last_activity,
      resource_usage: { ...usage(), active_tasks: runs_active }, // of the whole process, which is this agent's home
    }
  }
  return unconfiguredApi({
    getSystemHealth: answers(() => systemHealth(reading())),
    getMetrics: answers(() => metricsOf(reading())),
    listAgents: answers(() => [principal]),
    listAgentsDetailed: answers(() => [{ id: principal, name: parts.agentName ?? 'coordinator', state: state() }]),
    getAgentStatus: async (id, signal) => {
      signal.throwIfAborted()
      return statusOf(id)
    },
    listSchedules: answers(() => []),
    getSchedulerHealth: answers(() => NO_SCHEDULER),
  })
}

/** A method that only reads what is at hand. */
function answers<T>(read: () => T): (signal: AbortSignal) => Promise<T> {
  return async (signal) => {
    signal.throwIfAborted()
    return read()
  }
}

function noSuchAgent(id: AgentId): Fault {
  return new Fault('AGENT_NOT_FOUND', {
    message: `Cannot tell the status of agent "${id}": no agent has this id`,
    hint: 'List the agents to see the ids that are registered',
    facts: { agent_id: id },
  })
}
