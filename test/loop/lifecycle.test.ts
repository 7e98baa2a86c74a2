import { describe, expect, test } from 'vitest'
import { Fault, newId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type LoopConfig } from '../../src/events/index.ts'
import { type LoopResult, type RunSetup, runLoop } from '../../src/loop/index.ts'
import { deny } from '../../src/policy/index.ts'
import { toolbox } from '../../src/tools/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { attached } from '../support/budget.ts'
import { allowAll, gateOf } from '../support/gates.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { callOf, type ModelForTest, modelOf, type Reply } from '../support/scripted-model.ts'
import { testWorld } from '../support/test-world.ts'
import { type CountedTool, toolOf } from '../support/tools.ts'

const world = nodeWorld()
const never = new AbortController().signal
const forever = (): Promise<never> => new Promise(() => undefined)

interface Trial {
  readonly log: MemoryLog
  readonly tool: CountedTool
  readonly provider: ModelForTest
  run(signal?: AbortSignal): Promise<LoopResult>
}

function trialOf(
  replies: readonly Reply[],
  parts: Partial<RunSetup> & { tool?: CountedTool; limits?: Partial<LoopConfig> } = {},
): Trial {
  const { tool = toolOf('look'), limits, ...setup } = parts
  const log = new MemoryLog()
  const provider = modelOf(...replies)
  return {
    log,
    tool,
    provider,
    run: (signal = never) =>
      runLoop(
        {
          world,
          principal: newId('agent', world.random),
          gate: allowAll,
          toolbox: toolbox({ tools: [tool] }, world),
          config: { ...DEFAULT_LOOP_CONFIG, ...limits },
          messages: [
            { role: 'system', content: 'system' },
            { role: 'user', content: 'look' },
          ],
          log,
          provider,
          ...setup,
        },
        signal,
      ),
  }
}

describe('a run with one tool call and an answer', () => {
  test('writes its entries in the order of the specification, in four syncs', async () => {
    const { log, run } = trialOf([callOf('a', 'look'), { content: 'done' }])
    expect(await run()).toMatchObject({ output: 'done', iterations: 2, termination_reason: 'Completed' })
    const syncs = [
      ['Started', 'BudgetOpened', 'BudgetReservationStarted'],
      ['BudgetReservationFinished', 'ReasoningComplete', 'PolicyEvaluated', 'ToolDispatchStarted'],
      [
        'ToolDispatchFinished',
        'ToolsDispatched',
        'ToolBatchCompleted',
        'ObservationsCollected',
        'BudgetReservationStarted',
      ],
      [
        'BudgetReservationFinished',
        'ReasoningComplete',
        'PolicyEvaluated',
        'ToolsDispatched',
        'ToolBatchCompleted',
        'ObservationsCollected',
        'BudgetUpdated',
        'Terminated',
      ],
    ]
    expect(log.kinds()).toEqual(syncs.flat())
    expect(log.appends).toEqual(syncs.map(({ length }) => length))
    expect(log.entries.map(({ iteration }) => iteration)).toEqual([
      0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2,
    ])
    expect(log.all('ReasoningComplete').map(({ iteration }) => iteration)).toEqual([1, 2])
  })

  test('costs two syncs an iteration in the steady state', async () => {
    const syncsOf = async (calls: number): Promise<number> => {
      const { log, run } = trialOf([
        ...Array.from({ length: calls }, (_, index) => callOf(`c${index}`, 'look')),
        { content: 'done' },
      ])
      expect((await run()).termination_reason).toBe('Completed')
      return log.appends.length
    }
    expect((await syncsOf(12)) - (await syncsOf(2))).toBe(20)
  })

  test('tells the model what the tool found, under the id of its call', async () => {
    const { provider, run } = trialOf([callOf('a', 'look'), { content: 'done' }], {
      tool: toolOf('look', async () => 'a cat'),
    })
    await run()
    expect(provider.asked[1]?.conversation.messages.slice(-2)).toEqual([
      { role: 'assistant', content: '', tool_calls: [{ id: 'a', name: 'look', arguments: '{}' }] },
      { role: 'tool', content: 'a cat', tool_call_id: 'a', tool_name: 'look' },
    ])
  })
})

describe('what a run is asked with', () => {
  test('a run without tools tells neither its journal nor the model of any', async () => {
    const { log, provider, run } = trialOf([{ content: 'done' }], { toolbox: toolbox({ tools: [] }, world) })
    expect(await run()).toMatchObject({ termination_reason: 'Completed' })
    expect(log.all('Started')[0]?.config).not.toHaveProperty('tool_definitions')
    expect(provider.asked[0]?.options).not.toHaveProperty('tool_definitions')
  })

  test('tools that the configuration names are the only ones that are offered', async () => {
    const box = toolbox({ tools: [toolOf('look'), toolOf('touch')] }, world)
    const tool_definitions = box.definitions().slice(0, 1)
    const replies = [callOf('a', 'touch'), { content: 'done' }]
    const { provider, run } = trialOf(replies, { toolbox: box, limits: { tool_definitions } })
    await run()
    expect(provider.asked[0]?.options.tool_definitions).toEqual(tool_definitions)
    expect(provider.asked[1]?.conversation.messages.at(-1)).toMatchObject({
      content: expect.stringMatching(/Policy denied.*this run does not offer it/),
    })
  })

  test('the choice of tools that the configuration makes reaches the model', async () => {
    const { provider, run } = trialOf([{ content: 'done' }], { limits: { tool_choice: { type: 'any' } } })
    await run()
    expect(provider.asked[0]?.options.tool_choice).toEqual({ type: 'any' })
  })
})

describe('a model that asks for a delegation', () => {
  const delegates = {
    delegate: async () => ({ kind: 'Completed', output: 'helped' }) as const,
    cleanUp: async () => undefined,
  }
  const asking = (text: string) => [
    { tool_calls: [{ id: 'a', name: 'delegate', arguments: text }] },
    { content: 'done' },
  ]

  test('gets the answer of the delegate under the id of its call', async () => {
    const { provider, run } = trialOf(asking('{"agent":"helper","task":"help"}'), { delegates })
    expect(await run()).toMatchObject({ termination_reason: 'Completed' })
    expect(provider.asked[1]?.conversation.messages.at(-1)).toEqual({
      role: 'tool',
      content: 'helped',
      tool_call_id: 'a',
      tool_name: 'delegate:helper',
    })
  })

  test.each([
    '{',
    '[]',
    '{"agent":"helper"}',
    '{"agent":"helper","task":5}',
    '{"agent":"helper","task":"t","why":"w"}',
  ])('with the arguments %s delegates nothing: that is a call of a tool that is not offered', async (text) => {
    const { log, provider, run } = trialOf(asking(text), { delegates })
    await run()
    expect(log.all('ReasoningComplete')[0]?.actions).toMatchObject([{ ToolCall: { name: 'delegate' } }])
    expect(provider.asked[1]?.conversation.messages.at(-1)?.content).toContain('Policy denied')
  })

  test('starts no delegation behind a call of the same batch whose outcome is unknown [L1]', async () => {
    let delegations = 0
    const counting = {
      ...delegates,
      delegate: async () => {
        delegations += 1
        return { kind: 'Completed', output: 'helped' } as const
      },
    }
    const calls = [
      { id: 'a', name: 'delegate', arguments: '{"agent":"helper","task":"help"}' },
      { id: 'b', name: 'look', arguments: '{}' },
    ]
    const tool = toolOf('look', () => Promise.reject(new Error('lost')))
    const { run } = trialOf([{ tool_calls: calls }], { delegates: counting, tool })
    expect(await run()).toMatchObject({ termination_reason: 'UnconfirmedEffects' })
    expect(delegations).toBe(0)
  })

  test('and whose delegates cannot be ended is no success', async () => {
    const stuck = { ...delegates, cleanUp: () => Promise.reject(new Error('stuck')) }
    const { run } = trialOf([{ content: 'done' }], { delegates: stuck })
    expect(await run()).toMatchObject({
      output: '',
      termination_reason: { Error: { message: 'the delegated runs could not be ended: stuck' } },
    })
  })
})

describe('stopping after uncertainty', () => {
  const started = {
    NetworkRequestStarted: {
      request_id: 'r',
      method: 'GET',
      url: 'http://127.0.0.1/',
      request_hash: 'h',
      request_bytes: 0,
    },
  }
  const failed = {
    NetworkRequestFinished: {
      request_id: 'r',
      status: 500,
      response_hash: 'h',
      response_headers_hash: null,
      response_bytes: 0,
      error: 'reset',
    },
  }

  test.each([
    ['a tool that answers with an error', toolOf('look', async () => ({ content: 'no', is_error: true }))],
    [
      'a network request without a receipt',
      toolOf('look', (_args, { effects }) => effects.record(started).then(() => 'fine')),
    ],
    [
      'a failed receipt',
      toolOf('look', async (_args, { effects }) => {
        await effects.record(started)
        await effects.record(failed)
        return 'fine'
      }),
    ],
  ])('%s ends the run after one inference, with nothing said [L1]', async (_what, tool) => {
    const { log, provider, run } = trialOf([callOf('a', 'look'), { content: 'done' }], { tool })
    expect(await run()).toMatchObject({ termination_reason: 'UnconfirmedEffects', output: '' })
    expect(provider.asked).toHaveLength(1)
    expect(log.kinds().at(-1)).toBe('Terminated')
  })

  test('a denial before dispatch goes on to a second inference and marks nothing unknown [L1]', async () => {
    const gate = gateOf(({ action }) =>
      'ToolCall' in action ? deny('not this tool') : { kind: 'Allow', policies: [] },
    )
    const { log, provider, tool, run } = trialOf([callOf('a', 'look'), { content: 'done' }], { gate })
    expect(await run()).toMatchObject({ termination_reason: 'Completed', output: 'done' })
    expect(provider.asked[1]?.conversation.messages.at(-1)).toEqual({
      role: 'tool',
      content: '[Policy denied] not this tool',
      tool_call_id: 'a',
      tool_name: 'look',
    })
    expect(tool.ran).toHaveLength(0)
    expect(log.all('ToolDispatchStarted')).toHaveLength(0)
  })
})

describe('the ends of a run', () => {
  test('a denied reply is not delivered, and the loop goes on to its limit', async () => {
    const gate = gateOf(() => deny('silence'))
    const { provider, run } = trialOf([{ content: 'hello' }], { gate, limits: { max_iterations: 3 } })
    expect(await run()).toMatchObject({ termination_reason: 'MaxIterations', output: '' })
    expect(provider.asked).toHaveLength(3)
  })

  test.each([
    ['an empty answer', { content: '  ' }],
    ['a refusal', { content: 'no', finish_reason: 'refusal' as const }],
    ['an answer cut by its length', { content: 'half', finish_reason: 'max_tokens' as const }],
    ['a call cut by the length', { ...callOf('a', 'look'), finish_reason: 'max_tokens' as const }],
    ['a filtered answer', { content: 'x', finish_reason: 'content_filter' as const }],
  ])('%s proposes nothing and ends in an error', async (_what, reply) => {
    const { log, tool, run } = trialOf([reply])
    expect(await run()).toMatchObject({
      output: '',
      termination_reason: { Error: { message: expect.stringContaining('model') } },
    })
    expect(log.all('ReasoningComplete')).toHaveLength(0)
    expect(tool.ran).toHaveLength(0)
    expect(log.kinds().at(-1)).toBe('Terminated')
  })

  test('a failing provider is charged its whole reservation, and the run ends with a complete record', async () => {
    const { log, run } = trialOf([new Fault('PROVIDER_ERROR', { message: 'Cannot reach the model: it answered 500' })])
    const result = await run()
    expect(result.termination_reason).toEqual({ Error: { message: 'Cannot reach the model: it answered 500' } })
    expect(log.all('BudgetReservationFinished')).toMatchObject([{ outcome: 'unknown' }])
    expect(result.budget.uncertain_tokens).toBeGreaterThan(0)
  })

  test('a foreign error text does not enter the evidence', async () => {
    const { log, run } = trialOf([new Error('password=hunter2')])
    await run()
    expect(JSON.stringify(log.events)).not.toContain('hunter2')
  })

  test('without allowance no provider is asked', async () => {
    const { provider, run } = trialOf([{ content: 'x' }], { limits: { max_total_tokens: 10 } })
    expect(await run()).toMatchObject({ termination_reason: 'MaxTokens', output: '' })
    expect(provider.asked).toHaveLength(0)
  })

  test('an allowance that is used up ends the run before the next inference', async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } // not reported: all that was reserved is charged
    const { provider, run } = trialOf([{ ...callOf('a', 'look'), usage }], { limits: { max_total_tokens: 2000 } })
    expect(await run()).toMatchObject({ termination_reason: 'MaxTokens', output: '', iterations: 1 })
    expect(provider.asked).toHaveLength(1)
  })

  test('a request that is too long for any model is not made, and nothing is reserved for it', async () => {
    const messages = [{ role: 'user', content: 'x'.repeat(4 * 1024 * 1024) } as const]
    const { log, provider, run } = trialOf([{ content: 'done' }], { messages })
    expect(await run()).toMatchObject({
      termination_reason: { Error: { message: expect.stringMatching(/bytes long, and 4194304 are allowed$/) } },
    })
    expect(provider.asked).toHaveLength(0)
    expect(log.all('BudgetReservationStarted')).toHaveLength(0)
  })

  test('a provider that cannot count ends the run as a failure of ours, and nothing is reserved', async () => {
    const provider: ModelForTest = {
      ...modelOf({ content: 'done' }),
      countInput: () => {
        throw new Error('password=hunter2')
      },
    }
    const { log, run } = trialOf([], { provider })
    expect(await run()).toMatchObject({
      termination_reason: { Error: { message: 'the runtime failed and stopped the run' } },
    })
    expect(log.kinds()).toEqual(['Started', 'BudgetOpened', 'BudgetUpdated', 'Terminated'])
  })

  test('cancellation aborts the inference, leaves its reservation open, and still records the end', async () => {
    const cancel = new AbortController()
    let aborted = false
    const { log, run } = trialOf([
      async (_conversation, signal) => {
        signal.addEventListener('abort', () => (aborted = true))
        cancel.abort(new Error('gone'))
        return await forever()
      },
    ])
    expect(await run(cancel.signal)).toMatchObject({
      output: '',
      iterations: 0,
      messages: [],
      termination_reason: { Error: { message: expect.stringContaining('cancelled') } },
    })
    expect(aborted).toBe(true)
    expect(log.all('BudgetReservationFinished')).toHaveLength(0)
    expect(log.kinds().at(-1)).toBe('Terminated')
  })

  test('the time limit settles the open reservation once, as unknown', async () => {
    const { log, run } = trialOf([() => forever()], { limits: { timeout: { secs: 0, nanos: 40_000_000 } } })
    expect(await run()).toMatchObject({ termination_reason: 'Timeout', iterations: 0 })
    expect(log.all('BudgetReservationFinished')).toMatchObject([{ outcome: 'unknown' }])
    expect(log.kinds().at(-1)).toBe('Terminated')
  })

  test('a run whose time passed while its machine slept asks the model nothing more, though its timer is still to come', async () => {
    const sleepy = testWorld()
    const gate = gateOf(() => {
      sleepy.advance(60_000)
      return deny('no')
    })
    const { log, provider, run } = trialOf([callOf('a', 'look'), { content: 'done' }], {
      world: sleepy,
      gate,
      limits: { timeout: { secs: 60, nanos: 0 } },
    })
    expect(await run()).toMatchObject({ termination_reason: 'Timeout', output: '' })
    expect(provider.asked).toHaveLength(1)
    expect(log.all('BudgetReservationStarted')).toHaveLength(1)
    expect(log.all('PolicyEvaluated')).toMatchObject([{ denied_count: 1 }])
  })

  test('a worker that outlives its cancelled run adds nothing behind the terminal record', async () => {
    const cancel = new AbortController()
    let late: Promise<unknown> = Promise.resolve()
    const release: { now?: () => void } = {}
    const tool = toolOf('look', async (_args, { effects }) => {
      const held = new Promise<void>((resolve) => (release.now = resolve))
      late = held.then(() =>
        effects.record({
          NetworkRequestStarted: { request_id: 'r', method: 'GET', url: 'u', request_hash: 'h', request_bytes: 0 },
        }),
      )
      late.catch(() => undefined)
      cancel.abort(new Error('gone'))
      return await forever()
    })
    const box = toolbox({ tools: [tool] }, world)
    const { log, run } = trialOf([callOf('a', 'look')], { tool, toolbox: { ...box, cleanUp: async () => undefined } })
    await run(cancel.signal)
    const count = log.entries.length
    release.now?.()
    await expect(late).rejects.toBeInstanceOf(Fault)
    expect(log.entries).toHaveLength(count)
    expect(log.kinds().at(-1)).toBe('Terminated')
  })

  test('tools that cannot be cleaned up turn a success into an error', async () => {
    const box = toolbox({ tools: [toolOf('look')] }, world)
    const { log, run } = trialOf([{ content: 'done' }], {
      toolbox: { ...box, cleanUp: () => Promise.reject(new Error('stuck')) },
    })
    expect(await run()).toMatchObject({
      output: '',
      termination_reason: { Error: { message: expect.stringContaining('stuck') } },
    })
    expect(log.all('Terminated')).toMatchObject([{ reason: { Error: {} } }])
  })
})

describe('a journal that fails', () => {
  test.each([0, 1, 2])(
    'at the write of entry %i: no inference happens and no terminal record is written',
    async (index) => {
      const { log, provider, run } = trialOf([{ content: 'x' }])
      log.failAt(index)
      expect(await run()).toMatchObject({ output: '', termination_reason: { Error: {} } })
      expect(provider.asked).toHaveLength(0)
      expect(log.entries).toHaveLength(0)
    },
  )

  test('at the settlement: the response is discarded and the tool does not run', async () => {
    const { log, tool, run } = trialOf([callOf('a', 'look'), { content: 'x' }])
    log.failAt(3)
    const result = await run()
    expect(result).toMatchObject({ output: '', termination_reason: { Error: {} } })
    expect(result.budget.exceeded).toBe(true)
    expect(tool.ran).toHaveLength(0)
  })

  test('at the terminal record: what the model said is not a success', async () => {
    const { log, run } = trialOf([{ content: 'done' }])
    log.failAt(9)
    expect(await run()).toMatchObject({ output: '', termination_reason: { Error: {} } })
  })
})

describe('delivery of the reply', () => {
  test('is an effect with an intent before it and a receipt after it', async () => {
    const sent: string[] = []
    const { log, run } = trialOf([{ content: 'hello' }], {
      delivery: {
        format: (content) => JSON.stringify({ content }),
        send: async (request) => {
          sent.push(request)
          return { confirmed: true, receipt: { ok: true } }
        },
      },
    })
    expect(await run()).toMatchObject({ termination_reason: 'Completed', output: 'hello' })
    expect(sent).toEqual(['{"content":"hello"}'])
    expect(log.kinds().filter((kind) => kind.startsWith('Response'))).toEqual([
      'ResponseDeliveryStarted',
      'ResponseDeliveryFinished',
    ])
  })

  test.each([
    ['unconfirmed', async () => ({ confirmed: false, receipt: null })],
    ['failed', () => Promise.reject(new Error('refused'))],
    ['answered with an oversized receipt', async () => ({ confirmed: true, receipt: 'x'.repeat(70_000) })],
  ])('that is %s ends the run in an error', async (_what, send) => {
    const { log, run } = trialOf([{ content: 'hello' }], { delivery: { format: (content) => content, send } })
    expect(await run()).toMatchObject({ output: '', termination_reason: { Error: {} } })
    expect(log.all('ResponseDeliveryFinished')).toMatchObject([{ confirmed: false }])
  })

  test('of more than 4 MiB is not tried: neither an intent is written nor a byte sent', async () => {
    let sends = 0
    const { log, run } = trialOf([{ content: 'hello' }], {
      delivery: {
        format: () => 'x'.repeat(4 * 1024 * 1024 + 1),
        send: async () => {
          sends += 1
          return { confirmed: true, receipt: null }
        },
      },
    })
    expect(await run()).toMatchObject({
      output: '',
      termination_reason: { Error: { message: 'the reply is 4194305 bytes long and cannot be delivered' } },
    })
    expect([sends, log.all('ResponseDeliveryStarted').length]).toEqual([0, 0])
  })

  test('that takes longer than the reply was granted for is unconfirmed, and its run ends in time', async () => {
    const { log, run } = trialOf([{ content: 'hello' }], {
      limits: { timeout: { secs: 0, nanos: 80_000_000 } },
      delivery: { format: (content) => content, send: () => forever() },
    })
    expect(await run()).toMatchObject({ output: '' })
    expect(log.all('ResponseDeliveryStarted')).toHaveLength(1)
    expect(log.all('ResponseDeliveryFinished').filter(({ confirmed }) => confirmed)).toEqual([])
    expect(log.kinds().at(-1)).toBe('Terminated')
  })

  test('does not happen when its intent cannot be written', async () => {
    let sends = 0
    const { log, run } = trialOf([{ content: 'hello' }], {
      delivery: {
        format: (content) => content,
        send: async () => {
          sends += 1
          return { confirmed: true, receipt: null }
        },
      },
    })
    log.failAt(6)
    await run()
    expect(sends).toBe(0)
  })
})

describe('a delegated run that ends before its model could be asked leaves its parent all of its tokens', () => {
  test.each([
    ['was cancelled while its journal was written', (stop: AbortController) => stop.abort()],
    ['lost its journal', (_: AbortController, log: MemoryLog) => log.failAt(0)],
  ])('when it %s', async (_, spoil) => {
    const { root } = attached(10_000)
    const { log, provider, run } = trialOf([{ content: 'fine' }], { budget: root.child(10_000) })
    const stop = new AbortController()
    const release = log.hold()
    const ended = run(stop.signal)
    spoil(stop, log)
    release()
    await ended
    expect(provider.asked).toHaveLength(0)
    expect(root.snapshot()).toMatchObject({ reserved_tokens: 0, uncertain_tokens: 0, available_tokens: 10_000 })
  })
})
