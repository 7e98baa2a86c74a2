import { describe, expect, test } from 'vitest'
import { issue } from '../../src/calls/grant.ts'
import {
  authorizationBinding,
  type EffectHandle,
  type Grant,
  type RunContext,
  runKeyOf,
  type Toolbox,
} from '../../src/calls/index.ts'
import { Bug, digest, Fault, newId } from '../../src/core/index.ts'
import { dispatchGrants } from '../../src/dispatch/index.ts'
import { DEFAULT_LOOP_CONFIG, type ProposedAction, Recorder, type ToolEffect } from '../../src/events/index.ts'
import { testWorld } from '../../src/testing/index.ts'
import { toolbox } from '../../src/tools/index.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { toolOf } from '../support/tools.ts'

const never = new AbortController().signal
const call = (call_id: string): ProposedAction => ({ ToolCall: { call_id, name: 'look', arguments: '{}' } })
const started: ToolEffect = {
  NetworkRequestStarted: { request_id: 'r', method: 'GET', url: 'u', request_hash: 'h', request_bytes: 0 },
}

function benchOf(run: Parameters<typeof toolOf>[1] = async () => 'seen', execute?: Toolbox['execute']) {
  const world = testWorld()
  const tool = toolOf('look', run)
  const inner = toolbox({ tools: [tool] }, world)
  const box: Toolbox = execute === undefined ? inner : { ...inner, execute }
  const log = new MemoryLog()
  const context: RunContext = {
    agent_id: newId('agent', world.random),
    started_at: world.clock.wall(),
    iteration: 1,
    trusted_context: {},
    config: DEFAULT_LOOP_CONFIG,
  }
  const recorder = new Recorder(log, context.agent_id, () => world.clock.wall())
  const grantOf = (action: ProposedAction, timeMs = 60_000): Grant =>
    issue({
      call: box.prepare(action, box.definitions()),
      toolbox: box,
      binding: authorizationBinding(context),
      deadlineMs: world.clock.monotonicMs() + timeMs,
    })
  const scope = { world, recorder, toolbox: box }
  const dispatch = (grants: readonly Grant[], signal = never) => dispatchGrants(scope, grants, context, signal)
  return { world, tool, log, recorder, context, grantOf, dispatch }
}

describe('dispatching grants', () => {
  test('writes all intents in one commit before the first effect, each with an id of its own', async () => {
    const { log, context, grantOf, dispatch } = benchOf()
    const grants = [grantOf(call('a')), grantOf(call('b'))]
    const observations = await dispatch(grants)
    expect(log.appends).toEqual([2])
    expect(log.events).toEqual(
      grants.map(({ call: { fingerprint, action } }) => ({
        kind: 'ToolDispatchStarted',
        dispatch_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        run_key: runKeyOf(context),
        call_id: 'ToolCall' in action ? action.ToolCall.call_id : '',
        call_fingerprint: fingerprint,
        tool_name: 'look',
      })),
    )
    expect(new Set(log.all('ToolDispatchStarted').map(({ dispatch_id }) => dispatch_id)).size).toBe(2)
    expect(observations.map(({ call_id }) => call_id)).toEqual(['a', 'b'])
  })

  test('stages a receipt of each result, under the id of its intent', async () => {
    const { log, recorder, grantOf, dispatch } = benchOf()
    const observations = await dispatch([grantOf(call('a')), grantOf(call('b'))])
    await recorder.commit()
    const intents = log.all('ToolDispatchStarted').map(({ dispatch_id }) => dispatch_id)
    expect(log.all('ToolDispatchFinished')).toEqual(
      observations.map((observation, index) => ({
        kind: 'ToolDispatchFinished',
        dispatch_id: intents[index],
        observation_hash: digest(observation),
        is_error: false,
      })),
    )
  })

  test('of which there are none writes nothing, and asks no tool', async () => {
    const { log, recorder, dispatch } = benchOf(undefined, () => Promise.reject(new Error('asked')))
    recorder.stage({ kind: 'ImprovementOutput', output: 'waiting' } as never)
    expect(await dispatch([])).toEqual([])
    expect(log.entries).toEqual([])
  })

  test('of which one is of another toolbox refuses all of them, before any intent', async () => {
    const { tool, log, grantOf, dispatch } = benchOf()
    const foreign = benchOf().grantOf(call('b'))
    await expect(dispatch([grantOf(call('a')), foreign])).rejects.toMatchObject({
      code: 'GRANT_REFUSED',
      message: expect.stringContaining('Cannot dispatch the calls'),
    })
    expect([log.entries.length, tool.ran.length]).toEqual([0, 0])
  })

  test.each<[string, ProposedAction]>([
    ['an answer', { Respond: { content: 'hello' } }],
    ['a delegation', { Delegate: { call_id: 'a', target: 'worker', message: 'go' } }],
  ])('is a Bug for %s, which is no effect of a tool', async (_, action) => {
    const { log, grantOf, dispatch } = benchOf()
    await expect(dispatch([grantOf(action)])).rejects.toBeInstanceOf(Bug)
    expect(log.entries).toEqual([])
  })

  test('of a run that was left already writes nothing', async () => {
    const { tool, log, grantOf, dispatch } = benchOf()
    await expect(dispatch([grantOf(call('a'))], AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    expect([log.entries.length, tool.ran.length]).toEqual([0, 0])
  })

  test('waits for the earliest deadline of them, and calls the outcome of all unknown after it', async () => {
    const { world, grantOf, dispatch } = benchOf(() => new Promise(() => undefined))
    const dispatched = dispatch([grantOf(call('a'), 60_000), grantOf(call('b'), 1000)])
    await world.clock.yield()
    await world.advance(1000)
    const observations = await dispatched
    expect(observations).toMatchObject([
      { call_id: 'a', is_error: true, metadata: { error_type: 'timeout', effect_outcome: 'unknown' } },
      { call_id: 'b', is_error: true, metadata: { error_type: 'timeout', effect_outcome: 'unknown' } },
    ])
    expect(observations[0]?.content).toMatch(/^The tool did not finish in time; .* unconfirmed$/)
  })

  test.each([
    ['an error', new Error('lost')],
    ['a fault of its own', new Fault('STORAGE_FAILED', { message: 'lost' })],
  ])('by a toolbox that fails with %s leaves unknown outcomes, and no time-out', async (_, error) => {
    const { grantOf, dispatch } = benchOf(undefined, () => Promise.reject(error))
    const observations = await dispatch([grantOf(call('a')), grantOf(call('b'))])
    expect(observations.map(({ call_id, content }) => [call_id, content])).toEqual(
      ['a', 'b'].map((id) => [id, 'The tool failed: lost; whether the call took effect is unconfirmed']),
    )
    for (const { metadata } of observations) {
      expect(metadata).toMatchObject({ effect_outcome: 'unknown' })
      expect(metadata).not.toHaveProperty('error_type')
    }
  })
})

describe('the effect journal of a call', () => {
  test('is one, however often the toolbox asks for it', async () => {
    const { grantOf, dispatch } = benchOf(undefined, async (calls, scope) => {
      const [only] = calls
      if (only === undefined) throw new Error('there is a call')
      await scope.effectsOf(only).record(started)
      scope.effectsOf(only) // another one would know of no open request
      return [{ source: 'look', content: 'fine', is_error: false, call_id: 'a', metadata: {} }]
    })
    expect(await dispatch([grantOf(call('a'))])).toMatchObject([
      { is_error: true, content: '[Effects unconfirmed] fine', metadata: { effect_outcome: 'unknown' } },
    ])
  })

  test('takes no start once its batch was given up, be it too late or left', async () => {
    for (const give of ['deadline', 'signal']) {
      let handle: EffectHandle | null = null
      const leaving = new AbortController()
      const { world, log, grantOf, dispatch } = benchOf((_, { effects }) => {
        handle = effects
        return new Promise(() => undefined)
      })
      const dispatched = dispatch([grantOf(call('a'))], leaving.signal).catch((error: unknown) => error)
      while (handle === null) await world.clock.yield()
      if (give === 'signal') leaving.abort(new Error('gone'))
      else await world.advance(60_000)
      await dispatched
      await expect((handle as EffectHandle).record(started)).rejects.toMatchObject({
        code: 'GRANT_REFUSED',
        message: 'Cannot record the effect: the call has ended',
      })
      expect(log.all('ToolEffect')).toEqual([])
    }
  })

  test('leaves nothing that listens to the run behind', async () => {
    const leaving = new AbortController()
    const listening = new Set<unknown>()
    const { signal } = leaving
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (name: string, listener: never, options?: object) => {
      listening.add(listener)
      add(name, listener, options)
    }
    signal.removeEventListener = (name: string, listener: never) => {
      if (name === 'abort') listening.delete(listener)
      remove(name, listener)
    }
    const { grantOf, dispatch } = benchOf()
    await dispatch([grantOf(call('a'))], signal)
    expect(listening.size).toBe(0)
  })

  test('that fails stops the tools, and the batch ends with that failure and not with theirs', async () => {
    let told: unknown = null
    const { log, grantOf, dispatch } = benchOf(async (_, { effects, signal }) => {
      signal.addEventListener('abort', () => (told = signal.reason))
      await effects.record(started).catch(() => undefined)
      throw new Error('confused')
    })
    log.failAt(1)
    await expect(dispatch([grantOf(call('a'))])).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(told).toMatchObject({ code: 'STORAGE_FAILED' })
  })
})
