import { describe, expect, test } from 'vitest'
import { canonical, fits, newId } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, toWire, wireEventShape } from '../../src/events/index.ts'
import { type LoopResult, runLoop } from '../../src/loop/index.ts'
import type { Message } from '../../src/providers/index.ts'
import { toolbox } from '../../src/tools/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { allowAll } from '../support/gates.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { modelOf } from '../support/scripted-model.ts'
import { toolOf } from '../support/tools.ts'

const world = nodeWorld()

async function runWith(reply: (messages: readonly Message[]) => unknown) {
  const log = new MemoryLog()
  const tool = toolOf('look')
  const result: LoopResult = await runLoop(
    {
      world,
      principal: newId('agent', world.random),
      gate: allowAll,
      toolbox: toolbox({ tools: [tool] }, world),
      config: DEFAULT_LOOP_CONFIG,
      messages: [{ role: 'user', content: 'look' }],
      log,
      provider: {
        ...modelOf(),
        complete: async ({ messages }) => reply(messages) as never,
      },
    },
    new AbortController().signal,
  )
  return { log, tool, result }
}

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const fine = { content: 'done', tool_calls: [], finish_reason: 'stop', usage, model: 'm' }
const calls = (...given: unknown[]) => ({ ...fine, content: '', finish_reason: 'tool_calls', tool_calls: given })
const callTo = (id: string, args: unknown) => ({ id, name: 'look', arguments: args })

describe('a provider that answers with', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a reply without a content', { ...fine, content: undefined }],
    ['a reply without a list of calls', { ...fine, tool_calls: undefined }],
    ['a finish reason that nobody knows', { ...fine, finish_reason: 'done' }],
    ['arguments that are a value', calls(callTo('a', {}))],
    ['arguments that are missing', calls(callTo('a', undefined))],
    ['half a character', { ...fine, content: '\ud800' }],
    ['an id of half a character', calls(callTo('\ud800', '{}'))],
    ['more text than an entry holds', { ...fine, content: 'x'.repeat(2_000_000) }],
    [
      'more calls than an entry holds',
      calls(...Array.from({ length: 20_000 }, (_, index) => callTo(`c${index}`, '{}'))),
    ],
    ['what cannot be copied', new Proxy(fine, {})],
  ])('%s ends the run as a known failure, without an effect', async (_, reply) => {
    const { log, tool, result } = await runWith(() => reply)
    expect(result).toMatchObject({ output: '', termination_reason: { Error: { message: expect.any(String) } } })
    expect(tool.ran).toHaveLength(0)
    expect(log.kinds().slice(-3)).toEqual(['BudgetReservationFinished', 'BudgetUpdated', 'Terminated'])
    for (const event of log.events) {
      expect(fits(wireEventShape, toWire(event))).toBe(true)
      expect(() => canonical(event)).not.toThrow()
    }
  })

  test.each<[string, unknown]>([
    ['no usage', undefined],
    ['a usage that is no object', 7],
    ['a usage that is no number', { ...usage, prompt_tokens: Number.NaN }],
    ['a negative usage', { ...usage, total_tokens: -5 }],
    ['half a token', { ...usage, completion_tokens: 0.5 }],
  ])('%s is charged its whole reservation and answers all the same', async (_, odd) => {
    const { log, result } = await runWith(() => ({ ...fine, usage: odd }))
    expect(result).toMatchObject({ output: 'done', termination_reason: 'Completed' })
    expect(result.budget.uncertain_tokens).toBeGreaterThan(1000)
    expect(log.all('BudgetReservationFinished')).toMatchObject([{ outcome: 'unknown' }])
    expect(log.all('ReasoningComplete')).toMatchObject([{ usage: { total_tokens: 0 } }])
  })

  test('members of the end of a run does not end it: the reply meets the gate like any other', async () => {
    const { log, result } = await runWith(() => ({
      ...fine,
      kind: 'finished',
      reason: 'Completed',
      output: 'unjudged',
    }))
    expect(result).toMatchObject({ output: 'done', termination_reason: 'Completed' })
    expect(log.kinds()).toContain('PolicyEvaluated')
  })

  test('an answer that it changes afterwards is taken as it was', async () => {
    const reply = { ...fine, usage: { ...usage } }
    const { log } = await runWith(() => {
      setImmediate(() => Object.assign(reply.usage, { total_tokens: Number.NaN }))
      return reply
    })
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(log.all('ReasoningComplete')).toMatchObject([{ usage }])
  })
})

test('a provider cannot change the conversation that was digested, nor what a later turn says', async () => {
  const refusals: boolean[] = []
  await runWith((messages) => {
    refusals.push(!Reflect.set(messages[0] ?? {}, 'content', 'other'))
    refusals.push(!Reflect.set(messages, 'length', 0))
    return fine
  })
  expect(refusals).toEqual([true, true])
})
