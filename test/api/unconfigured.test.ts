import { describe, expect, test } from 'vitest'
import {
  METHOD_NAMES,
  OPTIONAL_METHOD_NAMES,
  type RuntimeApi,
  type RuntimeMethod,
  unconfiguredApi,
  withDefaults,
} from '../../src/api/index.ts'
import { type AgentId, parseId } from '../../src/core/index.ts'

const { signal } = new AbortController()
const ID: AgentId = parseId('agent', '3f2504e0-4f89-41d3-9a0c-0305e82c3301')

/** Calls a method as an adapter that knows only its name would. */
function call(api: object, method: RuntimeMethod): Promise<unknown> {
  return (api as Record<RuntimeMethod, (...args: unknown[]) => Promise<unknown>>)[method](signal)
}

test('the port has system health and the 38 methods, spelled in two ways that agree', () => {
  const rows = Object.entries({ ...METHOD_NAMES, ...OPTIONAL_METHOD_NAMES })
  expect(Object.keys(METHOD_NAMES)).toHaveLength(39)
  for (const [method, name] of rows) {
    expect(method.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)).toBe(name)
  }
})

describe('unconfiguredApi()', () => {
  test.each(Object.keys(METHOD_NAMES) as RuntimeMethod[])(
    '%s answers NOT_CONFIGURED and says which method',
    async (method) => {
      const name = METHOD_NAMES[method as keyof typeof METHOD_NAMES]
      await expect(call(unconfiguredApi(), method)).rejects.toMatchObject({
        code: 'NOT_CONFIGURED',
        message: `Cannot answer "${name}": no part of this runtime does that`,
        facts: { method: name },
      })
    },
  )

  test('gives what it was given, later parts over earlier ones, and refuses the rest', async () => {
    const api = unconfiguredApi(
      { getSystemHealth: async () => ({ status: 'first' }), listAgents: async () => [ID] },
      { getSystemHealth: async () => ({ status: 'second' }) },
    )
    expect(await api.getSystemHealth(signal)).toEqual({ status: 'second' })
    expect(await api.listAgents(signal)).toEqual([ID])
    await expect(api.getMetrics(signal)).rejects.toMatchObject({ code: 'NOT_CONFIGURED' })
  })

  test('keeps the methods and the private state of a class instance', async () => {
    class Health implements Pick<RuntimeApi, 'getSystemHealth'> {
      #asked = 0
      async getSystemHealth() {
        this.#asked += 1
        return { asked: this.#asked }
      }
    }
    const { getSystemHealth } = unconfiguredApi(new Health())
    await getSystemHealth(signal)
    expect(await getSystemHealth(signal)).toEqual({ asked: 2 })
  })
})

describe('withDefaults()', () => {
  test('an API without the optional methods lists its agents by id, as created, and has none that are silent', async () => {
    const api = unconfiguredApi({ listAgents: async () => [ID] })
    expect(await api.listAgentsDetailed(signal)).toEqual([{ id: ID, name: ID, state: 'Created' }])
    await expect(api.checkUnreachableAgents(signal)).resolves.toBeUndefined()
  })

  test.each(['admitExecution', 'inspectRun', 'inspectCapacity'] as const)(
    '%s is not configured by default',
    async (method) => {
      await expect(call(unconfiguredApi(), method)).rejects.toMatchObject({ code: 'NOT_CONFIGURED' })
    },
  )

  test('an optional method that is there is kept', async () => {
    const api: RuntimeApi = {
      ...unconfiguredApi(),
      listAgentsDetailed: async () => [{ id: ID, name: 'reviewer', state: 'Running' }],
    }
    expect(await withDefaults(api).listAgentsDetailed(signal)).toEqual([{ id: ID, name: 'reviewer', state: 'Running' }])
  })
})
