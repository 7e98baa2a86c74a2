import { describe, expect, test } from 'vitest'
import { type RuntimeApi, unconfiguredApi } from '../../src/api/index.ts'
import { Fault, parseId } from '../../src/core/index.ts'
import type { Observation } from '../../src/events/index.ts'
import { monitoringTools, toolbox } from '../../src/tools/index.ts'
import { run } from '../../src/tools/run.ts'
import { grantOf, prepared, scopeOf, toolCall, world } from './support.ts'

const ID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
const NAMES = ['list_agents', 'agent_status', 'query_metrics', 'list_schedules', 'scheduler_health', 'system_health']
const { signal } = new AbortController()

function boxOver(api: Partial<RuntimeApi>) {
  return toolbox({ tools: monitoringTools(unconfiguredApi(api)) }, world)
}

async function ask(api: Partial<RuntimeApi>, name: string, args = '{}'): Promise<Observation> {
  const box = boxOver(api)
  const [observation] = await run([grantOf(prepared(box, name, args), box)], box, scopeOf(), signal)
  return observation as Observation
}

describe('the six monitoring tools', () => {
  test('are offered under their names, and each refuses arguments it does not know', () => {
    const box = boxOver({})
    box.validate()
    expect(box.definitions().map(({ name }) => name)).toEqual(NAMES)
    for (const { name, parameters } of box.definitions()) {
      expect(parameters.additionalProperties).toBe(false)
      const args = name === 'agent_status' ? `{"agent_id":"${ID}","extra":1}` : '{"extra":1}'
      expect(() => prepared(box, name, args)).toThrow(expect.objectContaining({ code: 'CALL_INVALID' }))
    }
  })

  test.each([
    ['list_agents', 'listAgents'],
    ['query_metrics', 'getMetrics'],
    ['list_schedules', 'listSchedules'],
    ['scheduler_health', 'getSchedulerHealth'],
    ['system_health', 'getSystemHealth'],
  ] as const)('%s asks %s and nothing else, and gives its answer as compact JSON text', async (name, method) => {
    const asked: unknown[] = []
    const answer = { status: 'fixture-healthy', load: null }
    const api: Partial<RuntimeApi> = {
      [method]: async (...args: unknown[]) => {
        asked.push(...args)
        return answer
      },
    }
    expect(await ask(api, name)).toEqual({
      source: name,
      call_id: 'call-1',
      content: '{"status":"fixture-healthy","load":null}',
      is_error: false,
    })
    expect(asked).toEqual([expect.any(AbortSignal)])
  })

  test('agent_status asks about the id in its one spelling', async () => {
    const asked: unknown[] = []
    const getAgentStatus: RuntimeApi['getAgentStatus'] = async (id) => {
      asked.push(id)
      return { agent_id: id, state: 'Ready', last_activity: world.clock.wall(), resource_usage: nothing }
    }
    const observation = await ask({ getAgentStatus }, 'agent_status', `{"agent_id":"${ID.toUpperCase()}"}`)
    expect(asked).toEqual([ID])
    expect(JSON.parse(observation.content)).toMatchObject({ agent_id: ID, state: 'Ready' })
  })
})

const nothing = { memory_bytes: null, cpu_percent: null, active_tasks: 0 }

describe('agent_status before policy', () => {
  test('names the agent as its resource, in lower case, whatever the spelling', () => {
    const box = boxOver({})
    const call = prepared(box, 'agent_status', `{"agent_id":"${ID.toUpperCase()}"}`)
    expect(call.action).toEqual(toolCall('agent_status', `{"agent_id":"${ID}"}`))
    expect(call.arguments).toEqual({ agent_id: ID })
    expect(call.contract).toMatchObject({
      action_id: 'tool_call::agent_status',
      resource_type: 'Agent',
      resource_id: ID,
    })
    expect(call.resolved).toEqual({ runtime_resource: { kind: 'agent', id: ID } })
    expect(call.fingerprint).toBe(prepared(box, 'agent_status', `{"agent_id":"${ID}"}`).fingerprint)
  })

  test.each(['', ' ', 'reviewer', `${ID} `, '00000000-0000-0000-0000-000000000000'])(
    '%j is no agent id: denied',
    (id) => {
      const args = JSON.stringify({ agent_id: id })
      expect(() => prepared(boxOver({}), 'agent_status', args)).toThrow(
        expect.objectContaining({ code: 'CALL_INVALID' }),
      )
    },
  )
})

describe('an answer that is not there', () => {
  test('an unknown agent is an answer, not an error: a run need not stop over it', async () => {
    const getAgentStatus = async () => {
      throw new Fault('AGENT_NOT_FOUND', { message: 'Cannot tell the status of an agent: no agent has this id' })
    }
    const observation = await ask({ getAgentStatus }, 'agent_status', `{"agent_id":"${parseId('agent', ID)}"}`)
    expect(observation).toMatchObject({
      is_error: false,
      content: '{"code":"AGENT_NOT_FOUND","error":"No agent has this id"}',
    })
  })

  test('so is a method that this runtime is not configured for', async () => {
    const observation = await ask({}, 'list_schedules')
    expect(observation.is_error).toBe(false)
    expect(JSON.parse(observation.content)).toMatchObject({ code: 'NOT_CONFIGURED' })
  })

  test('any other fault is an error observation', async () => {
    const getMetrics = async () => {
      throw new Fault('METRICS_FAILED', { message: 'Cannot read the metrics: the source is gone' })
    }
    expect(await ask({ getMetrics }, 'query_metrics')).toMatchObject({
      is_error: true,
      content: 'Cannot read the metrics: the source is gone',
    })
  })
})
