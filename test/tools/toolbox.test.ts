import { describe, expect, test } from 'vitest'
import { defaultContract, spend, type Toolbox } from '../../src/calls/index.ts'
import { Bug, canonical, Fault, type JsonObject } from '../../src/core/index.ts'
import type { Observation, ToolEffect } from '../../src/events/index.ts'
import { openBreakers, type Tool, type ToolAnswer, toolbox } from '../../src/tools/index.ts'
import { grantOf, handClock, prepared, recordInto, scopeOf, signalled, tool, toolCall, world } from './support.ts'

const { signal: silent } = new AbortController()
const PATH: JsonObject = {
  type: 'object',
  properties: { path: { type: 'string' }, deep: { type: 'object' } },
  required: ['path'],
}
const idle: Tool['run'] = async () => 'done'

function execute(
  box: Toolbox,
  names: readonly string[],
  signal = silent,
  scope = scopeOf(),
): Promise<readonly Observation[]> {
  const calls = names.map((name, index) => spend(grantOf(prepared(box, name, '{}', `call-${index + 1}`), box)))
  return box.execute(calls, scope, signal)
}

describe('prepare()', () => {
  const box = toolbox({ tools: [tool('read', idle, PATH), tool('list', idle)] }, world)
  const offered = box.definitions()

  test('arguments become canonical text, and the value beside it says the same', () => {
    const call = box.prepare(toolCall('read', ' {"path" : "a", "deep": {"b": 1.0, "a": 2}} '), offered)
    expect(call.action).toEqual(toolCall('read', '{"deep":{"a":2,"b":1},"path":"a"}'))
    expect(canonical(call.arguments)).toBe('{"deep":{"a":2,"b":1},"path":"a"}')
    expect(call.resolved).toEqual({})
  })

  test('two spellings of the same arguments have one fingerprint, other arguments another', () => {
    const one = box.prepare(toolCall('read', '{"path":"a","deep":{}}'), offered)
    const same = box.prepare(toolCall('read', '{ "deep":{}, "path":"\\u0061" }'), offered)
    const other = box.prepare(toolCall('read', '{"path":"b","deep":{}}'), offered)
    expect(same.fingerprint).toBe(one.fingerprint)
    expect(other.fingerprint).not.toBe(one.fingerprint)
  })

  test('the contract of a tool that brings none names the tool on the default resource', () => {
    expect(box.prepare(toolCall('list', '{}'), offered).contract).toMatchObject({
      name: 'list',
      version: '',
      action_type: 'Action',
      action_id: 'tool_call::list',
      resource_type: 'Resource',
      resource_id: 'default',
      requires_approval: false,
    })
  })

  test.each(['', '  \n'])('blank arguments %j stand for none', (blank) => {
    expect(box.prepare(toolCall('list', blank), offered).action).toEqual(toolCall('list', '{}'))
  })

  test('what was prepared cannot be changed afterwards, at any depth', () => {
    const call = box.prepare(toolCall('read', '{"path":"a","deep":{"x":[1]}}'), offered)
    expect(() => Object.assign(call.arguments?.deep as object, { y: 1 })).toThrow(TypeError)
    expect(() => Object.assign(call.contract as object, { action_id: 'other' })).toThrow(TypeError)
    expect(() => Object.assign(call.action, { Respond: { content: '' } })).toThrow(TypeError)
  })

  test.each([
    ['a tool that nobody knows', 'fly', '{}'],
    ['a missing argument', 'read', '{}'],
    ['an argument of the wrong type', 'read', '{"path":1}'],
    ['an argument the schema does not list', 'read', '{"path":"a","mode":"w"}'],
    ['an argument where the schema takes none', 'list', '{"path":"a"}'],
    ['arguments that are a list', 'list', '[]'],
    ['two equal names', 'read', '{"path":"a","path":"b"}'],
    ['a name that reaches for the prototype', 'read', '{"path":"a","__proto__":{}}'],
    ['a name that every object has, at any depth', 'read', '{"path":"a","deep":{"x":[{"constructor":{}}]}}'],
    ['an integer that would be rounded', 'read', '{"path":"a","deep":{"n":9007199254740993}}'],
    ['text that was cut', 'read', '{"path":"a"'],
  ])('%s is a denial before policy', (_what, name, args) => {
    expect(() => box.prepare(toolCall(name, args), offered)).toThrow(expect.objectContaining({ code: 'CALL_INVALID' }))
  })

  test('a tool that the run does not offer is refused although the box has it', () => {
    const list = offered.filter(({ name }) => name === 'list')
    expect(() => box.prepare(toolCall('read', '{"path":"a"}'), list)).toThrow('this run does not offer it')
  })

  test('a tool that the run offers is refused when the box does not have it', () => {
    const foreign = [...offered, { name: 'fly', description: '', parameters: {} }]
    expect(() => box.prepare(toolCall('fly', '{}'), foreign)).toThrow('nothing here executes it')
  })

  test('a run may narrow what a tool accepts, and never widen it', () => {
    const narrowed = [{ ...offered[0]!, parameters: { type: 'object', properties: { path: { const: 'a' } } } }]
    expect(() => box.prepare(toolCall('read', '{"path":"b"}'), narrowed)).toThrow('path')
    const widened = [{ ...offered[0]!, parameters: { type: 'object' } }]
    expect(() => box.prepare(toolCall('read', '{"path":"a","mode":"w"}'), widened)).toThrow('mode')
  })

  test.each([
    { Delegate: { call_id: 'd', target: 'reviewer', message: 'look' } },
    { Respond: { content: 'hello' } },
    { Terminate: { reason: 'done', output: 'bye' } },
  ])('%j is prepared without a contract', (action) => {
    expect(box.prepare(action, offered)).toMatchObject({ action, arguments: null, contract: null, resolved: {} })
  })

  test('a tool may normalise its arguments, but not to something its schema refuses', () => {
    const lower: Tool = {
      ...tool('read', idle, PATH),
      resolve: (args) => ({ arguments: { path: String(args.path).toLowerCase() }, resolved: { file: 'x' } }),
    }
    const good = toolbox({ tools: [lower] }, world)
    const call = prepared(good, 'read', '{"path":"A"}')
    expect(call.action).toEqual(toolCall('read', '{"path":"a"}'))
    expect(call).toMatchObject({ arguments: { path: 'a' }, resolved: { file: 'x' } })
    const bad = toolbox({ tools: [{ ...lower, resolve: () => ({ arguments: { path: 1 } }) }] }, world)
    expect(() => prepared(bad, 'read', '{"path":"A"}')).toThrow(expect.objectContaining({ code: 'CALL_INVALID' }))
  })

  test('a tool that promises one action is refused another one, and only such a promise is told before a call', () => {
    const other: Tool = {
      ...tool('send', idle),
      resolve: () => ({
        contract: { ...defaultContract(tool('send', idle).definition), action_id: 'tool_call::other' },
      }),
    }
    const box = toolbox({ tools: [{ ...other, oneAction: true }] }, world)
    expect(box.actionOf?.('send')).toEqual({ type: 'Action', id: 'tool_call::send' })
    expect(() => prepared(box, 'send', '{}')).toThrow(/another action/)
    expect(toolbox({ tools: [other] }, world).actionOf?.('send')).toBeNull()
    expect(toolbox({ tools: [tool('send', idle)] }, world).actionOf?.('other')).toBeNull()
  })

  test('a tool that keeps what it resolved cannot change it after the call was judged', () => {
    const kept = { target: Object.freeze({ hosts: ['a'] }) }
    const sly: Tool = { ...tool('send', idle), resolve: () => ({ resolved: kept }) }
    const call = prepared(toolbox({ tools: [sly] }, world), 'send')
    kept.target.hosts.push('b')
    expect(call.resolved).toEqual({ target: { hosts: ['a'] } })
    expect(Object.isFrozen((call.resolved.target as { hosts: string[] }).hosts)).toBe(true)
  })

  test('a tool that cannot resolve its arguments denies the call, and its Fault says why', () => {
    const fault = new Fault('NOT_FOUND', { message: 'Cannot open the repository "x": there is none' })
    const box = toolbox({ tools: [{ ...tool('open', idle), resolve: () => thrown(fault) }] }, world)
    expect(() => prepared(box, 'open')).toThrow(
      expect.objectContaining({ code: 'CALL_INVALID', message: expect.stringContaining('there is none') }),
    )
  })
})

function thrown(error: unknown): never {
  throw error
}

describe('validate()', () => {
  test.each([
    ['two tools of one name', [tool('read', idle), tool('read', idle)]],
    ['an empty name', [tool('', idle)]],
    ['a name with a space', [tool('read file', idle)]],
    ['a name of 129 bytes', [tool('a'.repeat(129), idle)]],
    ['a schema that cannot be used', [tool('read', idle, { $ref: '#/$defs/nowhere' })]],
  ])('%s is refused before anything runs', (_what, tools) => {
    expect(() => toolbox({ tools }, world).validate()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })

  test('a schema whose flaw shows only with some arguments denies those calls', () => {
    const box = toolbox({ tools: [tool('read', idle, { properties: { a: { type: 'string', pattern: '(' } } })] }, world)
    box.validate()
    expect(() => prepared(box, 'read', '{"a":"b"}')).toThrow('its schema cannot be used')
  })

  test('checking arguments leaves no mark on a definition that somebody else froze', () => {
    const parameters = { type: 'object', properties: { path: { type: 'string' } } }
    const box = toolbox({ tools: [tool('read', idle, parameters)] }, world)
    const offered = [{ name: 'read', description: '', parameters }]
    box.prepare(toolCall('read', '{"path":"a"}'), offered)
    expect(Object.getOwnPropertyNames(parameters)).toEqual(['type', 'properties'])
  })

  test('tools that need arguments, and no tools at all, are fine', () => {
    toolbox({ tools: [tool('A-z_0.9:/x', idle, PATH), tool('a'.repeat(128), idle)] }, world).validate()
    toolbox({ tools: [] }, world).validate()
  })

  test('definitions and context are frozen copies of what was given', () => {
    const context = { region: { name: 'eu' } }
    const box = toolbox({ tools: [tool('list', idle)], context }, world)
    context.region.name = 'us'
    expect(box.context()).toEqual({ region: { name: 'eu' } })
    expect(() => Object.assign(box.definitions()[0]!.parameters, { additionalProperties: true })).toThrow(TypeError)
  })
})

describe('execute()', () => {
  test('gives one observation a call, in order, each with its call id', async () => {
    const order: string[] = []
    const named = (name: string): Tool =>
      tool(name, async () => {
        order.push(name)
        return `result of ${name}`
      })
    const box = toolbox({ tools: [named('a'), named('b')] }, world)
    expect(await execute(box, ['b', 'a', 'b'])).toEqual([
      { source: 'b', call_id: 'call-1', content: 'result of b', is_error: false },
      { source: 'a', call_id: 'call-2', content: 'result of a', is_error: false },
      { source: 'b', call_id: 'call-3', content: 'result of b', is_error: false },
    ])
    expect(order).toEqual(['b', 'a', 'b'])
  })

  test('a tool receives the very value that was judged, the deadline, and the effect journal of its own call', async () => {
    const effects: ToolEffect[] = []
    const effect: ToolEffect = {
      FilePublicationFinished: { publication_id: crypto.randomUUID() as never, confirmed: true, error: null },
    }
    const seen: unknown[] = []
    const box = toolbox(
      {
        tools: [
          tool(
            'read',
            async (args, call) => {
              seen.push(args, call.deadlineMs)
              await call.effects.record(effect)
              return 'done'
            },
            PATH,
          ),
        ],
      },
      world,
    )
    const call = prepared(box, 'read', '{"path":"a"}')
    const scope = scopeOf({ effectsOf: ({ call: asked }) => recordInto(asked === call ? effects : []) })
    await box.execute([spend(grantOf(call, box))], scope, silent)
    expect(seen[0]).toBe(call.arguments)
    expect(seen[1]).toBe(scope.deadlineMs)
    expect(effects).toEqual([effect])
  })

  test('a tool that throws is an error observation with its message, and what follows is not started', async () => {
    let started = 0
    const box = toolbox(
      {
        tools: [
          tool('fails', () => thrown(new Error('the disk is gone \ud800'))),
          tool('other', async () => {
            started += 1
            return 'done'
          }),
        ],
      },
      world,
    )
    const observations = await execute(box, ['other', 'fails', 'other'])
    expect(observations.map(({ is_error }) => is_error)).toEqual([false, true, true])
    expect(observations[1]).toMatchObject({ source: 'fails', content: 'the disk is gone \ufffd', call_id: 'call-2' })
    expect(observations[2]).toMatchObject({ call_id: 'call-3', metadata: { error_type: 'not_started' } })
    expect(started).toBe(1) // law 4: nothing starts behind an outcome that is unconfirmed
  })

  test('a broken promise of our own is not an observation: it ends the run', async () => {
    const box = toolbox({ tools: [tool('bug', () => thrown(new Bug('two and two are four')))] }, world)
    await expect(execute(box, ['bug'])).rejects.toThrow(Bug)
  })

  const unreadable = Object.defineProperty({}, 'content', { get: () => thrown(new Error('unreadable')) }) as ToolAnswer
  test.each([
    ['no text', 7 as unknown as ToolAnswer, 'did not answer with text'],
    ['an object without content', {} as ToolAnswer, 'did not answer with text'],
    ['nothing at all', undefined as unknown as ToolAnswer, 'did not answer with text'],
    ['a member that throws', unreadable, 'did not answer with text'],
    ['a lone surrogate', '\udc00', 'not well-formed'],
    ['an error of its own', { content: 'no such row', is_error: true }, 'no such row'],
    ['one byte too much', 'x'.repeat(99), 'more than the 100 left'],
    ['escapes that make it too much', '"'.repeat(50), 'more than the 100 left'],
  ])('an answer of %s is an error', async (_what, answer, says) => {
    const box = toolbox({ tools: [tool('odd', async () => answer)], resultBytesMax: 100 }, world)
    const [observation] = await execute(box, ['odd'])
    expect(observation).toMatchObject({ is_error: true, content: expect.stringContaining(says) })
  })

  test.each<[string, unknown]>([
    ['an object that has no text', Object.create(null)],
    ['an error whose message is no text', Object.assign(new Error(), { message: { toString: 1 } })],
    ['a symbol', Symbol('s')],
  ])('a tool that throws %s failed like any other', async (_what, odd) => {
    const box = toolbox({ tools: [tool('odd', () => Promise.reject(odd))] }, world)
    const [observation] = await execute(box, ['odd'])
    expect(observation).toMatchObject({ is_error: true, call_id: 'call-1', content: expect.any(String) })
  })

  test('the results of one batch share one bound, and each batch has its own', async () => {
    const box = toolbox({ tools: [tool('talk', async () => 'x'.repeat(48))], resultBytesMax: 100 }, world)
    expect((await execute(box, ['talk', 'talk'])).map(({ is_error }) => is_error)).toEqual([false, false])
    expect((await execute(box, ['talk', 'talk', 'talk'])).map(({ is_error }) => is_error)).toEqual([false, false, true])
  })

  test('a call whose grant was not spent stops the batch before the first effect', async () => {
    const ran: string[] = []
    const box = toolbox({ tools: [tool('read', async () => `${ran.push('read')}`)] }, world)
    const good = spend(grantOf(prepared(box, 'read', '{}', 'a'), box))
    const forged = { ...good }
    await expect(box.execute([good, forged], scopeOf(), silent)).rejects.toThrow('when its grant was spent')
    expect(ran).toEqual([])
  })

  test('nothing starts once the signal has fired or the deadline has passed', async () => {
    const ran: string[] = []
    const box = toolbox({ tools: [tool('read', async () => `${ran.push('read')}`)] }, world)
    const [cancelled] = await execute(box, ['read'], AbortSignal.abort())
    expect(cancelled).toMatchObject({ is_error: true, metadata: { error_type: 'not_started' } })
    const [late] = await execute(box, ['read'], silent, scopeOf({ deadlineMs: world.clock.monotonicMs() }))
    expect(late).toMatchObject({ is_error: true, metadata: { error_type: 'timeout' } })
    expect(ran).toEqual([])
  })

  test('a tool that ignores its signal is given up, keeps the results before it, and its late answer is swallowed', async () => {
    const entered = signalled<AbortSignal>()
    const release = signalled<string>()
    const box = toolbox(
      {
        tools: [
          tool('quick', idle),
          tool('deaf', (_args, { signal }) => {
            entered.resolve(signal)
            return release.promise
          }),
        ],
      },
      world,
    )
    const stop = new AbortController()
    const working = execute(box, ['quick', 'deaf', 'quick'], stop.signal)
    const seen = await entered.promise
    stop.abort(new Error('the client left'))
    const observations = await working
    expect(seen.aborted).toBe(true)
    expect(observations.map(({ content, is_error }) => (is_error ? 'error' : content))).toEqual([
      'done',
      'error',
      'error',
    ])
    expect(observations[1]!.content).toContain('may have taken effect')
    let cleaned = false
    const cleaning = box.cleanUp('agent:now').then(() => {
      cleaned = true
    })
    await world.clock.yield()
    expect(cleaned).toBe(false) // the worker is still there
    release.resolve('too late')
    await cleaning
  })

  test('a late rejection of a tool that was given up is nobody’s unhandled rejection', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    const entered = signalled()
    const fail = signalled()
    const box = toolbox(
      {
        tools: [
          tool('deaf', async () => {
            entered.resolve()
            await fail.promise
            throw new Error('late')
          }),
        ],
      },
      world,
    )
    const stop = new AbortController()
    const working = execute(box, ['deaf'], stop.signal)
    await entered.promise
    stop.abort()
    await working
    fail.resolve()
    await box.cleanUp('agent:now')
    await world.clock.yield()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  test('cancelRun() stops the workers of that run and of no other, without waiting', async () => {
    const entered = [signalled(), signalled()]
    const signals: AbortSignal[] = []
    const box = toolbox(
      {
        tools: [
          tool('wait', (_args, { signal }) => {
            entered[signals.push(signal) - 1]!.resolve()
            return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
          }),
        ],
      },
      world,
    )
    const stop = new AbortController()
    const one = execute(box, ['wait'], silent, scopeOf({ runKey: 'one' }))
    const two = execute(box, ['wait'], stop.signal, scopeOf({ runKey: 'two' }))
    await Promise.all(entered.map(({ promise }) => promise))
    box.cancelRun('one', 0)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect((await one)[0]).toMatchObject({ is_error: true })
    await box.cleanUp('one')
    stop.abort()
    await two
    await box.cleanUp('two')
    await box.cleanUp('a run that never was')
  })
})

describe('the breakers of a toolbox', () => {
  test('after five failures in a row the tool is refused, says when to come back, and is not touched', async () => {
    const time = handClock()
    let ran = 0
    const box = toolbox(
      {
        tools: [
          tool('flaky', async () => {
            ran += 1
            throw new Error('no route')
          }),
        ],
      },
      time.world,
    )
    const scope = scopeOf({ deadlineMs: Number.MAX_SAFE_INTEGER })
    for (let round = 0; round < 5; round += 1) await execute(box, ['flaky'], silent, scope)
    time.pass(10_000)
    const [refused] = await execute(box, ['flaky'], silent, scope)
    expect(refused).toMatchObject({ is_error: true, metadata: { error_type: 'circuit_open' }, call_id: 'call-1' })
    expect(refused!.content).toMatch(/"flaky".* 5 failures.* 20000 ms/)
    expect(ran).toBe(5)
    time.pass(20_000)
    await execute(box, ['flaky'], silent, scope)
    expect(ran).toBe(6)
  })

  test('a tool that answers with nothing uses no trial up for good', async () => {
    const breakers = openBreakers(world.clock, { failureThreshold: 1, recoveryMs: 0, trialsMax: 1 })
    const box = toolbox({ tools: [tool('odd', async () => undefined as unknown as ToolAnswer)], breakers }, world)
    for (let count = 0; count < 3; count += 1) {
      const [observation] = await execute(box, ['odd'])
      expect(observation?.content).toContain('did not answer with text')
    }
  })

  test('two boxes that are given the same breakers share what they know', async () => {
    const breakers = openBreakers(world.clock, { failureThreshold: 1, recoveryMs: 60_000, trialsMax: 1 })
    const fails = tool('flaky', () => thrown(new Error('no route')))
    await execute(toolbox({ tools: [fails], breakers }, world), ['flaky'])
    const [refused] = await execute(toolbox({ tools: [fails], breakers }, world), ['flaky'])
    expect(refused?.metadata?.error_type).toBe('circuit_open')
    const [own] = await execute(toolbox({ tools: [fails] }, world), ['flaky'])
    expect(own?.content).toBe('no route')
  })

  test('a cancelled call says nothing about its tool; a call that ran into its deadline counts as a failure', async () => {
    const time = handClock()
    const breakers = openBreakers(time.world.clock)
    let entered = signalled()
    const box = toolbox(
      {
        tools: [
          tool('slow', () => {
            entered.resolve()
            return new Promise<string>(() => undefined)
          }),
        ],
        breakers,
      },
      time.world,
    )
    for (const [late, failures] of [
      [false, 0],
      [true, 1],
    ] as const) {
      entered = signalled()
      const stop = new AbortController()
      const working = execute(box, ['slow'], stop.signal, scopeOf({ deadlineMs: 2_000 }))
      await entered.promise
      if (late) time.pass(1_000)
      stop.abort()
      const [observation] = await working
      expect(observation?.metadata?.error_type).toBe(late ? 'timeout' : undefined)
      expect(breakers.stateOf('slow')).toEqual({ kind: 'Closed', failures })
    }
  })
})
