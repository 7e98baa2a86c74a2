import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type LoopConfig, type ToolDefinition } from '../../src/events/index.ts'
import { GovernedToolSession } from '../../src/session/index.ts'
import { toolbox } from '../../src/tools/index.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { callOf, heardBox, isPending, ms, never, nothingHeard, sessionBench } from '../support/tool-session.ts'
import { toolOf } from '../support/tools.ts'

const refused = { code: 'CONFIG_INVALID' }
const definitionOf = (name: string): ToolDefinition => toolOf(name).definition

describe('a session that does not start', () => {
  test.each<[string, Partial<LoopConfig>]>([
    ['no calls', { max_iterations: 0 }],
    ['1001 calls', { max_iterations: 1001 }],
    ['half a call', { max_iterations: 1.5 }],
    ['no time', { timeout: { secs: 0, nanos: 0 } }],
    ['a day and a nanosecond', { timeout: { secs: 86_400, nanos: 1 } }],
    ['no time for its tools', { tool_timeout: { secs: 0, nanos: 0 } }],
  ])('because it is to have %s leaves no Started [G2]', async (_what, limits) => {
    const { log, start } = sessionBench({ limits })
    await expect(start()).rejects.toMatchObject(refused)
    expect(log.entries).toEqual([])
  })

  test.each<[string, Partial<LoopConfig>]>([
    ['1 call', { max_iterations: 1 }],
    ['1000 calls', { max_iterations: 1000 }],
    ['a day', { timeout: { secs: 86_400, nanos: 0 } }],
    ['a nanosecond for its tools', { tool_timeout: { secs: 0, nanos: 1 } }],
  ])('is not one with %s, which starts', async (_what, limits) => {
    using session = await sessionBench({ limits }).start()
    expect(session.ended.aborted).toBe(false)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1])('because its age is %d ms leaves no Started', async (ageMs) => {
    const { log, start } = sessionBench({ ageMs })
    await expect(start()).rejects.toMatchObject(refused)
    expect(log.entries).toEqual([])
  })

  test('because its tools cannot work says what they say [G3]', async () => {
    const definition = { ...definitionOf('look'), parameters: { $ref: '#/missing' } }
    const { log, start } = sessionBench({ tools: [{ ...toolOf('look'), definition }] })
    await expect(start()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('"look"') })
    expect(log.entries).toEqual([])
  })

  test('because its trusted context says something else than its tools [G4]', async () => {
    const box = sessionBench().setup.toolbox
    const toolbox = { ...box, context: () => ({ zone: { name: 'north' } }) }
    const trusted = (name: string) => sessionBench({ toolbox, trustedContext: { zone: { name }, more: 1 } })
    await expect(trusted('south').start()).rejects.toMatchObject(refused)
    const { log, start } = trusted('north')
    using _session = await start()
    expect(log.all('Started')[0]?.execution_context).toEqual({ zone: { name: 'north' }, more: 1 })
  })

  test.each<[string, readonly string[]]>([
    ['no tools', []],
    ['257 tools', Array.from({ length: 257 }, (_, index) => `tool${index}`)],
    ['two tools of one name', ['look', 'look']],
    ['a tool without a name', ['']],
    ['a tool whose name holds a space', ['look here']],
    ['a tool whose name is too long', ['x'.repeat(129)]],
  ])('because it has %s [G5]', async (_what, names) => {
    const box = {
      ...sessionBench().setup.toolbox,
      definitions: () => names.map(definitionOf),
      validate: () => undefined,
    }
    const { log, start } = sessionBench({ toolbox: box })
    await expect(start()).rejects.toMatchObject(refused)
    expect(log.entries).toEqual([])
  })

  test('is not one with 256 tools, which starts', async () => {
    const tools = Array.from({ length: 256 }, (_, index) => toolOf(`tool${index}`))
    using session = await sessionBench({ tools }).start()
    expect(session.definitions).toHaveLength(256)
  })

  test('because its tools are described in more than a mebibyte [G6]', async () => {
    const ofLength = (length: number) => {
      const definition = { ...definitionOf('look'), description: 'x'.repeat(length) }
      return sessionBench({ tools: [{ ...toolOf('look'), definition }] })
    }
    await expect(ofLength(1024 * 1024).start()).rejects.toMatchObject(refused)
    using session = await ofLength(900 * 1024).start()
    expect(session.definitions).toHaveLength(1)
  })

  test.each<[string, (look: ToolDefinition) => readonly ToolDefinition[]]>([
    ['a tool twice', (look) => [look, look]],
    ['an unknown tool', () => [definitionOf('delete')]],
    ['a tool with another description', (look) => [{ ...look, description: 'nicer' }]],
    ['a tool with a wider schema', (look) => [{ ...look, parameters: {} }]],
    ['a tool with one member more', (look) => [{ ...look, approved: true } as ToolDefinition]],
  ])('because it is to offer %s [G8]', async (_what, offered) => {
    const { log, start } = sessionBench({ limits: { tool_definitions: offered(definitionOf('look')) } })
    await expect(start()).rejects.toMatchObject(refused)
    expect(log.entries).toEqual([])
  })

  test('because it is as old already as it may become [G9]', async () => {
    const { log, start } = sessionBench({ limits: { timeout: ms(5000) }, ageMs: 5000 })
    await expect(start()).rejects.toMatchObject({ code: 'TOOL_SESSION_EXPIRED' })
    expect(log.entries).toEqual([])
    using session = await sessionBench({ limits: { timeout: ms(5000) }, ageMs: 4999 }).start()
    expect(session.deadlineMs).toBe(1)
  })

  test('because its start cannot be written tells its tools to stop [G10]', async () => {
    const heard = nothingHeard()
    const { log, start } = sessionBench({ box: (inner) => heardBox(heard, inner) })
    log.failAt(0)
    await expect(start()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(heard.cancelled).toHaveLength(1)
  })

  test.each<[string, Partial<LoopConfig>, number]>([
    ['ten seconds', {}, 10_000],
    ['the time it has', { timeout: ms(3000) }, 3000],
  ])('because its start is not written within %s tells its tools to stop [G10]', async (_what, limits, waitMs) => {
    const heard = nothingHeard()
    const { world, log, start } = sessionBench({ limits, box: (inner) => heardBox(heard, inner) })
    const release = log.hold()
    const starting = start()
    const failed = expect(starting).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    await world.advance(waitMs - 1)
    expect(await isPending(world, starting)).toBe(true)
    await world.advance(1)
    await failed
    expect(heard.cancelled).toHaveLength(1)
    release()
    await world.clock.yield()
    expect(log.kinds()).toEqual(['Started'])
  })

  test('because its opener went away meanwhile tells its tools to stop, and records that nobody was let in', async () => {
    const heard = nothingHeard()
    const { world, log, start } = sessionBench({ box: (inner) => heardBox(heard, inner) })
    const leaving = new AbortController()
    const release = log.hold()
    const starting = start(leaving.signal)
    leaving.abort(new Fault('RUN_CANCELLED', { message: 'gone' }))
    expect(await isPending(world, starting)).toBe(true) // the record of the start is on its way
    release()
    await expect(starting).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
    expect(heard.cancelled.length).toBeGreaterThan(0)
    expect(heard.cleaned).toHaveLength(1)
    expect(log.events).toMatchObject([
      { kind: 'Started' },
      { kind: 'Terminated', reason: { Error: { message: 'whoever opened the session went away before it began' } } },
    ])
  })

  test('because its opener had gone before leaves no record', async () => {
    const { log, start } = sessionBench()
    await expect(start(AbortSignal.abort(new Fault('RUN_CANCELLED', { message: 'gone' })))).rejects.toMatchObject({
      code: 'RUN_CANCELLED',
    })
    expect(log.entries).toEqual([])
  })
})

describe('a session that starts', () => {
  test('leaves no listener that others of the same moment share', async () => {
    const warnings: Error[] = []
    const hear = (warning: Error): number => warnings.push(warning)
    process.on('warning', hear)
    const benches = Array.from({ length: 20 }, () => sessionBench())
    const sessions = await Promise.all(benches.map(({ setup }) => GovernedToolSession.start(setup)))
    await Promise.all(sessions.map((session) => session.close()))
    await new Promise(setImmediate) // warnings are told in a later turn
    process.off('warning', hear)
    expect(warnings).toEqual([])
  })

  test('offers all of its tools when it is told none [G7]', async () => {
    const tools = [toolOf('look'), toolOf('listen')]
    using session = await sessionBench({ tools }).start()
    expect(session.definitions.map(({ name }) => name)).toEqual(['look', 'listen'])
    using subset = await sessionBench({ tools, limits: { tool_definitions: [definitionOf('listen')] } }).start()
    expect(subset.definitions.map(({ name }) => name)).toEqual(['listen'])
    expect(await subset.call(callOf('a', 'look'), never)).toMatchObject({ metadata: { error_type: 'policy_denied' } })
    expect(tools[0]?.ran).toEqual([])
  })

  test('records its principal, its effective configuration and its merged context first of all [G11]', async () => {
    const { log, setup, start } = sessionBench({ trustedContext: { surface: 'mcp' }, iteration: 4 })
    using session = await start()
    expect(log.entries).toHaveLength(1)
    expect(log.entries[0]).toMatchObject({
      agent_id: setup.principal,
      iteration: 4,
      event: {
        kind: 'Started',
        agent_id: setup.principal,
        config: { ...DEFAULT_LOOP_CONFIG, tool_definitions: setup.toolbox.definitions() },
        execution_context: { surface: 'mcp' },
      },
    })
    expect(session.principal).toBe(setup.principal)
    expect(session.runKey.startsWith(`${setup.principal}:`)).toBe(true)
    expect(session.deadlineMs).toBe(300_000)
  })

  test('goes by what it was given, whatever becomes of it afterwards', async () => {
    const bench = sessionBench()
    const trustedContext = { zone: 'north' }
    const config = { ...DEFAULT_LOOP_CONFIG }
    using session = await GovernedToolSession.start({ ...bench.setup, config, trustedContext })
    Object.assign(trustedContext, { zone: 'south' })
    Object.assign(config, { max_iterations: 0 })
    expect(await session.call(callOf('a'), never)).toMatchObject({ is_error: false })
    expect(bench.log.all('Started')[0]?.execution_context).toEqual({ zone: 'north' })
  })

  test('reports the audit reference of the log inside [G43]', async () => {
    const audit = { run_id: 'r', path: '/p', public_key: 'k' } as unknown as NonNullable<MemoryLog['audit']>
    using session = await sessionBench({ log: new MemoryLog(audit) }).start()
    expect(session.audit).toBe(audit)
    using other = await sessionBench().start()
    expect(other.audit).toBe(null)
  })

  test('of two sessions over the same tools each has a run key of its own', async () => {
    const bench = sessionBench()
    const box = toolbox({ tools: [toolOf('look')] }, bench.world)
    using one = await GovernedToolSession.start({ ...bench.setup, toolbox: box })
    using two = await GovernedToolSession.start({ ...bench.setup, toolbox: box })
    expect(one.runKey).not.toBe(two.runKey)
    expect(one.binding).not.toBe(two.binding)
  })
})
