import { beforeEach, describe, expect, test } from 'vitest'
import { unconfiguredApi } from '../../src/api/index.ts'
import { canonical, isTimestamp, newId } from '../../src/core/index.ts'
import { countActivity, processApi } from '../../src/fleet/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'

const real = nodeWorld()
const { signal } = new AbortController()
const principal = newId('agent', real.random)
const stranger = newId('agent', real.random)

/** A process whose clock and processor time stand still until a test moves them. */
function setUp() {
  const time = { ms: 5_000, cpuMicros: 100 }
  const world: Pick<World, 'clock' | 'processes'> = {
    clock: { ...real.clock, monotonicMs: () => time.ms },
    processes: { ...real.processes, usage: () => ({ memoryBytes: 64_000_000, cpuMicros: time.cpuMicros }) },
  }
  const activity = countActivity(world.clock)
  const api = processApi({ world, version: '9.8.7', startedAtMs: 4_000, principal, activity })
  return { time, activity, api }
}
let process: ReturnType<typeof setUp>
beforeEach(() => {
  process = setUp()
})

describe('the system health of a process', () => {
  test('says of each component what is true here, the missing scheduler included', async () => {
    process.activity.connectionOpened()
    process.activity.runStarted()
    process.activity.runStarted()('failed')
    const now = Math.floor(Date.now() / 1000)
    const health = await process.api.getSystemHealth(signal)
    expect(health).toMatchObject({
      status: 'healthy',
      components: {
        scheduler: {
          message: 'No scheduler is running in this process',
          uptime_seconds: 0,
          metrics: { is_running: false },
        },
        lifecycle: {
          message: 'Version 9.8.7, 1 run is active',
          uptime_seconds: 1,
          metrics: { agents_total: 1, runs_started: 2, runs_active: 1, runs_failed: 1, runs_unresolved: 0 },
        },
        resource_manager: { metrics: { memory_bytes: 64_000_000, cpu_percent: null } },
        communication: {
          message: 'No message bus is running in this process; 1 connection is open',
          metrics: { connections_open: 1 },
        },
      },
    })
    expect(health.timestamp).toBeGreaterThanOrEqual(now)
    expect(Object.keys(health.components as object)).toEqual([
      'scheduler',
      'lifecycle',
      'resource_manager',
      'communication',
    ])
    for (const component of Object.values(health.components as object)) {
      expect(Object.keys(component)).toEqual(['status', 'message', 'last_check', 'uptime_seconds', 'metrics'])
    }
  })
})

describe('the metrics of a process', () => {
  test('are null where nobody looked, and never zero instead', async () => {
    const metrics = await process.api.getMetrics(signal)
    const unsampled = { memory_usage_percent: null, disk_usage_bytes: null, disk_usage_percent: null }
    expect(metrics).toMatchObject({
      ...unsampled,
      cpu_usage_percent: null,
      secrets_count: null,
      mcp_connections: null,
      vector_db_items: null,
      system: { ...unsampled, cpu_usage: null, cpu_usage_percent: null },
      task_manager: { tasks_queued: null },
      load_balancer: { total_requests: null, backends_healthy: null, backends_total: null },
    })
    expect(isTimestamp(metrics.timestamp)).toBe(true)
  })

  test('carry the eleven top-level members that published clients read', async () => {
    const names =
      'uptime_seconds memory_usage_bytes memory_usage_percent cpu_usage_percent disk_usage_bytes disk_usage_percent active_agents total_agents secrets_count mcp_connections vector_db_items'
    expect(Object.keys(await process.api.getMetrics(signal))).toEqual(expect.arrayContaining(names.split(' ')))
  })

  test('count live runs, finished runs and connections', async () => {
    process.activity.runStarted()
    process.activity.runStarted()
    process.activity.runStarted()('succeeded')
    process.activity.runStarted()('unresolved')
    process.activity.connectionOpened()
    process.time.ms += 60_000
    expect(await process.api.getMetrics(signal)).toMatchObject({
      agents: { total: 1, running: 1, idle: 0, error: 0 },
      system: { uptime_seconds: 61, memory_usage: 64_000_000, memory_usage_bytes: 64_000_000 },
      task_manager: { tasks_active: 2, tasks_completed: 1, tasks_failed: 0, tasks_unresolved: 1 },
      load_balancer: { active_connections: 1 },
      active_agents: 1,
      total_agents: 1,
    })
  })

  test('processor use is known from the second reading on, once a second has passed between the two', async () => {
    const percent = async () => (await process.api.getMetrics(signal)).cpu_usage_percent
    process.time.ms += 999
    process.time.cpuMicros += 500_000
    expect(await percent()).toBeNull()
    process.time.ms += 1
    expect(await percent()).toBe(50) // half a second of work in one second
    process.time.ms += 10
    process.time.cpuMicros += 10_000
    expect(await percent()).toBe(50) // too soon to measure again
    process.time.ms += 990
    expect(await percent()).toBe(1)
  })

  test('an idle process has an idle agent', async () => {
    expect(await process.api.getMetrics(signal)).toMatchObject({ agents: { running: 0, idle: 1 }, active_agents: 0 })
  })
})

describe('the agents of a process', () => {
  test('are the coordinator’s principal alone', async () => {
    expect(await process.api.listAgents(signal)).toEqual([principal])
    expect(await process.api.listAgentsDetailed(signal)).toEqual([
      { id: principal, name: 'coordinator', state: 'Ready' },
    ])
  })

  test('the principal is Running while a run is active, and Ready otherwise', async () => {
    const state = async () => (await process.api.getAgentStatus(principal, signal)).state
    expect(await state()).toBe('Ready')
    const ends = [process.activity.runStarted(), process.activity.runStarted()]
    expect(await state()).toBe('Running')
    ends[0]?.('succeeded')
    expect(await state()).toBe('Running')
    ends[1]?.('failed')
    expect(await state()).toBe('Ready')
  })

  test('its status has the members of the wire and no other', async () => {
    process.activity.runStarted()
    expect(await process.api.getAgentStatus(principal, signal)).toEqual({
      agent_id: principal,
      state: 'Running',
      last_activity: process.activity.read().last_activity,
      resource_usage: { memory_bytes: 64_000_000, cpu_percent: null, active_tasks: 1 },
    })
  })

  test('another id is AGENT_NOT_FOUND', async () => {
    await expect(process.api.getAgentStatus(stranger, signal)).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
      facts: { agent_id: stranger },
    })
  })
})

describe('the scheduler that is not there', () => {
  test('its health has exactly thirteen members, all zero or false', async () => {
    const health = await process.api.getSchedulerHealth(signal)
    expect(Object.keys(health)).toHaveLength(13)
    expect(health).toMatchObject({ is_running: false, store_accessible: false, jobs_total: 0, longest_run_ms: 0 })
    expect(new Set(Object.values(health))).toEqual(new Set([false, 0]))
  })

  test('there are no schedules, and none can be made', async () => {
    expect(await process.api.listSchedules(signal)).toEqual([])
    const schedule = { name: 'nightly', cron_expression: '0 0 3 * * *', agent_name: 'coordinator' }
    await expect(process.api.createSchedule(schedule, signal)).rejects.toMatchObject({ code: 'NOT_CONFIGURED' })
  })
})

test('every answer is plain JSON', async () => {
  const { api } = process
  const answers = [api.getSystemHealth(signal), api.getMetrics(signal), api.getAgentStatus(principal, signal)]
  for (const answer of await Promise.all(answers)) expect(JSON.parse(canonical(answer))).toEqual(answer)
})

test('a real process reports memory that it really uses', async () => {
  const api = processApi({
    world: real,
    version: '0',
    startedAtMs: real.clock.monotonicMs(),
    principal,
    activity: countActivity(real.clock),
  })
  const { resource_usage } = await api.getAgentStatus(principal, signal)
  expect(resource_usage.memory_bytes).toBeGreaterThan(10_000_000)
})

test('an aborted question is not answered', async () => {
  await expect(process.api.getMetrics(AbortSignal.abort())).rejects.toThrow()
  await expect(process.api.getAgentStatus(principal, AbortSignal.abort())).rejects.toThrow()
})

test('an embedding lays its own methods over those of the process', async () => {
  const api = unconfiguredApi(process.api, { getSystemHealth: async () => ({ status: 'fixture-healthy' }) })
  expect(await api.getSystemHealth(signal)).toEqual({ status: 'fixture-healthy' })
  expect(await api.listAgents(signal)).toEqual([principal])
})
