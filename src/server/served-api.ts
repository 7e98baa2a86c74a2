/**
 * ServedApi: what these routes need of the runtime. The method names are those of the whole runtime API (`api`), of which
 * this is a part; whoever makes that one fits here. Rejections are Faults, and the routes give them their codes.
 *
 * Answers that the door only passes on are `object`: their members belong to the maker, and nothing is added or taken away.
 */
import type { AgentSummary } from '../api/index.ts'
import type { AgentId } from '../core/index.ts'

export interface ServedApi {
  /** `status` is "healthy", "degraded" or "unhealthy". */
  getSystemHealth(signal: AbortSignal): Promise<{ readonly status?: string }>
  listAgents(signal: AbortSignal): Promise<readonly AgentId[]>
  /** Optional: without it an agent is listed under its id. */
  listAgentsDetailed?(signal: AbortSignal): Promise<readonly AgentSummary[]>
  /** Rejects with `AGENT_NOT_FOUND` for an agent it does not know. */
  getAgentStatus(agent: AgentId, signal: AbortSignal): Promise<object>
  getMetrics(signal: AbortSignal): Promise<object>
  listSchedules(signal: AbortSignal): Promise<readonly object[]>
  getSchedulerHealth(signal: AbortSignal): Promise<object>
  /** Optional: without it no channels are counted. */
  listChannels?(signal: AbortSignal): Promise<readonly object[]>
}
