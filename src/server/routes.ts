/** The server's own routes: health, status, metrics, agents, schedules, and the ticket for a chat socket. */
import { type Caller, mayUse, type Tickets } from '../access/index.ts'
import type { AgentSummary, HealthResponse, StatusResponse } from '../api/index.ts'
import { type AgentId, assert, type Code, Fault, idOrNull, isFault } from '../core/index.ts'
import type { World } from '../world/index.ts'
import type { Answer, Route, RouteRequest } from './mount.ts'
import { type Refusal, refusalOf } from './refusal.ts'
import type { ServedApi } from './served-api.ts'

export type RouteParts = {
  readonly api: ServedApi
  readonly tickets: Tickets
  readonly version: string
  readonly isReady: () => boolean
}

/** A failure whose code the route decides, while the status stays the truthful one. */
export class RouteFailure extends Error {
  override readonly name = 'RouteFailure'
  readonly refusal: Refusal

  constructor(as: Code, cause: unknown) {
    super(`the runtime API failed: ${as}`, { cause })
    this.refusal = refusalOf(cause, as)
  }
}

export function coreRoutes({ api, tickets, version, isReady }: RouteParts, world: World): readonly Route[] {
  const startMs = world.clock.monotonicMs()
  const uptimeSeconds = (): number => Math.floor((world.clock.monotonicMs() - startMs) / 1000)
  const get = (path: string, access: Route['access'], handle: Route['handle']): Route => ({
    method: 'GET',
    path: `/api/v1${path}`,
    access,
    handle,
  })
  const agentStatus: Route['handle'] = async ({ params }, signal) =>
    ok(await api.getAgentStatus(agentOf(params), signal))
  return [
    get('/health', 'public', async () =>
      ok({
        status: 'healthy',
        uptime_seconds: uptimeSeconds(),
        timestamp: world.clock.wall(),
        version,
      } satisfies HealthResponse),
    ),
    get('/health/live', 'public', async () => ({ status: 200 })),
    get('/health/ready', 'public', async () => ({ status: isReady() ? 200 : 503 })),
    get('/health/scheduler', 'admin', async (_, signal) =>
      ok(await under('SCHEDULER_HEALTH_FAILED', api.getSchedulerHealth(signal))),
    ),
    get('/status', 'admin', async (_, signal) =>
      ok({ version, ...(await statusOf(api, signal)) } satisfies StatusResponse),
    ),
    get('/metrics', 'admin', async (_, signal) => ok(await under('METRICS_FAILED', api.getMetrics(signal)))),
    get('/agents', 'key', async (request, signal) =>
      ok(visibleTo(callerOf(request), await under('LIST_AGENTS_FAILED', agentsOf(api, signal)))),
    ),
    get('/agents/:id', 'agent', agentStatus),
    get('/agents/:id/status', 'agent', agentStatus),
    get('/schedules', 'admin', async (_, signal) =>
      ok(await under('LIST_SCHEDULES_FAILED', api.listSchedules(signal))),
    ),
    {
      method: 'POST',
      path: '/api/v1/auth/ws-ticket',
      access: 'admin',
      handle: async (request) => ok(tickets.issue(callerOf(request))),
    },
  ]
}

function ok(body: object): Answer {
  return { status: 200, body }
}

async function under<T>(code: Code, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    throw new RouteFailure(code, cause)
  }
}

async function statusOf(api: ServedApi, signal: AbortSignal): Promise<Omit<StatusResponse, 'version'>> {
  const [agents, schedules, channels, healthy] = await Promise.all([
    under('STATUS_AGENTS_FAILED', api.listAgents(signal)),
    under('STATUS_SCHEDULES_FAILED', api.listSchedules(signal)),
    under('STATUS_CHANNELS_FAILED', channelsOf(api, signal)),
    isHealthy(api, signal),
  ])
  return { healthy, agent_count: agents.length, schedule_count: schedules.length, channel_count: channels.length }
}

/** A runtime that was built without channels has none. */
async function channelsOf(api: ServedApi, signal: AbortSignal): Promise<readonly object[]> {
  try {
    return (await api.listChannels?.(signal)) ?? []
  } catch (error) {
    if (isFault(error, 'NOT_CONFIGURED')) return []
    throw error
  }
}

async function isHealthy(api: ServedApi, signal: AbortSignal): Promise<boolean> {
  try {
    const { status = 'healthy' } = await api.getSystemHealth(signal)
    return status === 'healthy'
  } catch {
    return false // the answer is the report: whoever cannot say that it is well is not
  }
}

async function agentsOf(api: ServedApi, signal: AbortSignal): Promise<readonly AgentSummary[]> {
  if (api.listAgentsDetailed !== undefined) return await api.listAgentsDetailed(signal)
  return (await api.listAgents(signal)).map((id) => ({ id, name: id, state: 'Created' }))
}

function visibleTo(caller: Caller, agents: readonly AgentSummary[]): readonly AgentSummary[] {
  return agents.filter(({ id }) => {
    const agent = idOrNull('agent', id)
    return agent !== null && mayUse(caller, agent)
  })
}

function callerOf(request: RouteRequest): Caller {
  assert(request.caller !== null, 'a route that is not public has a caller')
  return request.caller
}

/** The agent that a path names. */
export function agentOf(params: RouteRequest['params']): AgentId {
  const agent = idOrNull('agent', params.id)
  if (agent !== null) return agent
  throw new Fault('INVALID_PATH', {
    message: 'Cannot read the agent id in the path: it is not a UUID of 36 characters, or it is nil',
    hint: 'Give the id as GET /api/v1/agents lists it',
  })
}
