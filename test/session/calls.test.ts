import { describe, expect, test } from 'vitest'
import type { Toolbox } from '../../src/calls/index.ts'
import { Fault } from '../../src/core/index.ts'
import { isUnconfirmed, type Observation } from '../../src/events/index.ts'
import { deny, type Gate } from '../../src/policy/index.ts'
import type { BrokerCall, GovernedToolSession } from '../../src/session/index.ts'
import { allowAll, gateOf } from '../support/gates.ts'
import {
  callOf,
  forever,
  heardBox,
  isPending,
  latch,
  ms,
  never,
  nothingHeard,
  sessionBench,
} from '../support/tool-session.ts'
import { toolOf } from '../support/tools.ts'

const DONE = ['PolicyEvaluated', 'ToolDispatchStarted', 'ToolDispatchFinished', 'ToolBatchCompleted']

/** A tool that says when it was entered, and answers when the test says so. */
function heldTool() {
  const entered = latch()
  const answer = latch<string>()
  const tool = toolOf('look', async () => {
    entered.open()
    return await answer.promise
  })
  return { entered, answer, tool }
}

async function endOf(session: GovernedToolSession): Promise<string> {
  return await session.close().then(
    () => 'Completed',
    () => session.failureReason ?? 'failed',
  )
}

describe('a call of the longest arguments', () => {
  const longest = { at: 'x'.repeat(447 * 1024) }

  test('is denied like any other, with who denied it, and the session goes on', async () => {
    const gate = gateOf(({ arguments: args }) =>
      args?.at === undefined ? { kind: 'Allow', policies: ['p'] } : deny('too much', ['short_only']),
    )
    const { log, start } = sessionBench({ gate })
    const session = await start()
    expect(await session.call(callOf('a', 'look', longest), never)).toMatchObject({
      content: 'too much',
      metadata: { error_type: 'policy_denied', denied_by: 'policy' },
    })
    expect(log.events.findLast(({ kind }) => kind === 'PolicyEvaluated')).toMatchObject({
      denied_calls: [
        { action: { ToolCall: { name: 'look' } }, reason: 'too much', determining_policies: ['short_only'] },
      ],
    })
    expect(await session.call(callOf('b'), never)).toMatchObject({ is_error: false })
    expect(await endOf(session)).toBe('Completed')
  })

  test('and every other whose decision fills more than an entry is a denial that fits, and is not made', async () => {
    const tool = toolOf('look')
    const gate = gateOf(() => ({ kind: 'Allow', policies: ['x'.repeat(1024 * 1024)] }))
    const { log, start } = sessionBench({ gate, tools: [tool] })
    const session = await start()
    expect(await session.call(callOf('a', 'look', longest), never)).toMatchObject({
      content: expect.stringContaining('must fit into one journal entry'),
      metadata: { denied_by: 'runtime' },
    })
    expect(await endOf(session)).toBe('Completed')
    expect([tool.ran, log.kinds()]).toEqual([[], ['Started', 'PolicyEvaluated', 'ToolBatchCompleted', 'Terminated']])
  })

  test('is made and recorded', async () => {
    const session = await sessionBench().start()
    expect(await session.call(callOf('a', 'look', longest), never)).toMatchObject({ is_error: false })
    expect(await endOf(session)).toBe('Completed')
  })
})

describe('a valid call', () => {
  test('goes through policy, intent, effect and receipt, in the iteration of its attempt and two syncs [G19]', async () => {
    const { log, start } = sessionBench({ iteration: 7 })
    const session = await start()
    expect(await session.call(callOf('a', 'look', { at: 'b' }), never)).toEqual({
      source: 'look',
      content: 'fine',
      is_error: false,
      call_id: 'a',
      metadata: {
        effect_outcome: 'result_recorded',
        authorized_tool: 'look',
        authorized_arguments: '{"at":"b"}',
        call_fingerprint: expect.stringMatching(/^sha256:/),
      },
    })
    await session.call(callOf('b'), never)
    expect(log.appends).toEqual([1, 2, 2, 2, 2])
    await session.close()
    expect(log.kinds()).toEqual(['Started', ...DONE, ...DONE, 'Terminated'])
    expect(log.entries.map(({ iteration }) => iteration)).toEqual([7, 0, 0, 0, 0, 1, 1, 1, 1, 1])
  })

  test('reaches the gate with the context and the configuration of the session, and the handle that was presented', async () => {
    const asked: unknown[] = []
    const gate: Gate = {
      ...allowAll,
      decide: async (question) => {
        asked.push([question.presented, question.session, question.run.trusted_context, question.run.iteration])
        return { kind: 'Allow', policies: [] }
      },
    }
    using session = await sessionBench({ gate, trustedContext: { surface: 'mcp' } }).start()
    await session.call(callOf('a'), never, { presented: 'a handle' })
    await session.call(callOf('b'), never)
    expect(asked).toEqual([
      ['a handle', session.binding, { surface: 'mcp' }, 0],
      [null, session.binding, { surface: 'mcp' }, 1],
    ])
  })

  test('that is held comes back at once with its handle, and the session stays usable', async () => {
    const gate: Gate = {
      ...allowAll,
      approve: async ({ presented }) =>
        presented === null
          ? {
              kind: 'Pending',
              reason: 'a person decides',
              approval_id: 'h1',
              expires_at: '2026-01-02T00:00:00Z' as never,
            }
          : { kind: 'NotNeeded' },
    }
    const tool = toolOf('look')
    const session = await sessionBench({ gate, tools: [tool] }).start()
    const held = await session.call(callOf('a'), never)
    expect(held.metadata).toMatchObject({ error_type: 'approval_pending', approval_id: 'h1' })
    expect(tool.ran).toHaveLength(0)
    expect(await session.call(callOf('b'), never, { presented: 'h1' })).toMatchObject({ is_error: false })
    expect(await endOf(session)).toBe('Completed')
  })
})

describe('a call that is refused', () => {
  test.each<[string, unknown]>([
    ['an empty id', callOf('')],
    ['an id with a space', callOf('a b')],
    ['an id of 129 bytes', callOf('x'.repeat(129))],
    ['a name outside ASCII', callOf('a', 'löök')],
    ['an empty name', callOf('a', '')],
    ['arguments that are a list', { call_id: 'a', name: 'look', arguments: [] }],
    ['arguments that are null', { call_id: 'a', name: 'look', arguments: null }],
    ['more than a mebibyte', callOf('a', 'look', { text: 'x'.repeat(1024 * 1024) })],
  ])('for %s is counted, and the session stays usable [G16]', async (_what, call) => {
    const tool = toolOf('look')
    const { log, start } = sessionBench({ tools: [tool] })
    const session = await start()
    await expect(session.call(call as BrokerCall, never)).rejects.toBeInstanceOf(Fault)
    expect(session.attempts).toBe(1)
    expect(await session.call(callOf('a'), never)).toMatchObject({ is_error: false })
    await session.close()
    expect(tool.ran).toHaveLength(1)
    expect(log.all('Terminated')[0]).toMatchObject({ reason: 'Completed', iterations: 2 })
  })

  test('for an id that was used is counted, also when its first call was denied, and the session stays usable [G17]', async () => {
    const tool = toolOf('look')
    let allowed = false
    const gate = gateOf(() => (allowed ? { kind: 'Allow', policies: [] } : deny('not yet')))
    const { start } = sessionBench({ tools: [tool], gate })
    const session = await start()
    expect(await session.call(callOf('a'), never)).toMatchObject({ is_error: true })
    allowed = true
    await expect(session.call(callOf('a'), never)).rejects.toMatchObject({ code: 'CALL_ID_USED' })
    expect(tool.ran).toHaveLength(0)
    expect(await session.call(callOf('b'), never)).toMatchObject({ is_error: false })
    await expect(session.call(callOf('b'), never)).rejects.toMatchObject({ code: 'CALL_ID_USED' })
    expect(session.attempts).toBe(4)
    expect(await endOf(session)).toBe('Completed')
  })

  test('does not use up its id when it was invalid otherwise', async () => {
    const session = await sessionBench().start()
    await expect(session.call(callOf('a', ''), never)).rejects.toMatchObject({ code: 'CALL_INVALID' })
    expect(await session.call(callOf('a'), never)).toMatchObject({ is_error: false })
  })

  test('by policy is an observation, executes nothing, and leaves the session usable [G24]', async () => {
    const tool = toolOf('look')
    const gate = gateOf(({ arguments: args }) =>
      args?.safe === true ? { kind: 'Allow', policies: [] } : deny('unsafe'),
    )
    const session = await sessionBench({ tools: [tool], gate }).start()
    expect(await session.call(callOf('a'), never)).toMatchObject({
      content: 'unsafe',
      is_error: true,
      metadata: { error_type: 'policy_denied' },
    })
    expect(await session.call(callOf('b', 'look', { safe: true }), never)).toMatchObject({ is_error: false })
    expect(tool.ran).toEqual([{ safe: true }])
    expect(await endOf(session)).toBe('Completed')
  })

  test('once all attempts are used cancels the session [G15]', async () => {
    const heard = nothingHeard()
    const { start } = sessionBench({ limits: { max_iterations: 2 }, box: (inner) => heardBox(heard, inner) })
    const session = await start()
    await session.call(callOf('a'), never)
    await expect(session.call(callOf(''), never)).rejects.toMatchObject({ code: 'CALL_INVALID' })
    await expect(session.call(callOf('b'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_SPENT' })
    expect(session.ended.aborted).toBe(true)
    expect(heard.cancelled).toEqual([[session.runKey, session.deadlineMs]])
    await expect(session.call(callOf('c'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
  })

  test('after a cancel is told that the session is closed, and nothing is dispatched [G12] [G14]', async () => {
    const tool = toolOf('look')
    const { log, start } = sessionBench({ tools: [tool] })
    using session = await start()
    session.cancel()
    await expect(session.call(callOf('a'), never)).rejects.toMatchObject({
      code: 'TOOL_SESSION_CLOSED',
      message: expect.stringContaining('closed'),
    })
    expect(log.kinds()).toEqual(['Started'])
    expect(tool.ran).toHaveLength(0)
    expect(session.attempts).toBe(0)
  })

  test('after close is refused, and writes nothing behind the end [G14]', async () => {
    const { log, start } = sessionBench()
    const session = await start()
    await session.close()
    await expect(session.call(callOf('a'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    expect(log.kinds()).toEqual(['Started', 'Terminated'])
  })

  test('past the deadline is told that the session expired, and cancels it [G13]', async () => {
    const { world, start } = sessionBench({ limits: { timeout: ms(1000) } })
    const session = await start()
    await world.advance(999)
    expect(await session.call(callOf('a'), never)).toMatchObject({ is_error: false })
    await world.advance(1)
    expect(session.ended.aborted).toBe(false)
    await expect(session.call(callOf('b'), never)).rejects.toMatchObject({
      code: 'TOOL_SESSION_EXPIRED',
      message: expect.stringContaining('expired'),
    })
    expect(session.ended.aborted).toBe(true)
    expect(await endOf(session)).toBe('broker session deadline expired')
  })

  test('when the tools changed since the start poisons the session [G18]', async () => {
    const [look, listen] = [toolOf('look'), toolOf('listen')]
    let definitions = [look.definition]
    const { start } = sessionBench({
      tools: [look, listen],
      box: (inner): Toolbox => ({ ...inner, definitions: () => definitions }),
    })
    const session = await start()
    definitions = [structuredClone(look.definition)]
    expect(await session.call(callOf('a'), never)).toMatchObject({ is_error: false })
    definitions = [look.definition, listen.definition]
    await expect(session.call(callOf('b'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_CHANGED' })
    await expect(session.call(callOf('c'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    expect(look.ran).toHaveLength(1)
    await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
  })
})

describe('calls at once', () => {
  test('are made strictly one at a time, in the order in which they came [G25]', async () => {
    let active = 0
    let most = 0
    const order: unknown[] = []
    const { world, start } = sessionBench({
      tools: [
        toolOf('look', async ({ nth }) => {
          active += 1
          most = Math.max(most, active)
          order.push(nth)
          await world.clock.yield()
          active -= 1
          return 'seen'
        }),
      ],
    })
    const session = await start()
    const calls = Array.from({ length: 12 }, (_, nth) =>
      session.call(callOf(`c${nth}`, 'look', { nth }), new AbortController().signal),
    )
    expect((await Promise.all(calls)).map(({ call_id }) => call_id)).toEqual(calls.map((_, nth) => `c${nth}`))
    expect(most).toBe(1)
    expect(order).toEqual(calls.map((_, nth) => nth))
    expect(await endOf(session)).toBe('Completed')
  })

  test('of a caller who leaves the line are not made, not counted, and hold up nobody', async () => {
    const { entered, answer, tool } = heldTool()
    const session = await sessionBench({ tools: [tool] }).start()
    const first = session.call(callOf('a'), never)
    await entered.promise
    const leaving = new AbortController()
    const second = session.call(callOf('b'), leaving.signal)
    const third = session.call(callOf('c'), never)
    leaving.abort(new Error('left'))
    await expect(second).rejects.toThrow('left')
    answer.open('seen')
    expect(await first).toMatchObject({ is_error: false })
    expect(await third).toMatchObject({ is_error: false })
    expect(session.attempts).toBe(2)
    expect(await session.call(callOf('b'), never)).toMatchObject({ is_error: false })
    expect(await endOf(session)).toBe('Completed')
  })

  test('that wait are refused when the session is cancelled, or its time is over [G12] [G13]', async () => {
    for (const end of ['cancel', 'deadline'] as const) {
      const { entered, tool } = heldTool()
      const { world, start } = sessionBench({ tools: [tool], limits: { timeout: ms(1000) } })
      const session = await start()
      const first = session.call(callOf('a'), never)
      const unconfirmed = expect(first).rejects.toMatchObject({ code: 'CALL_UNCONFIRMED' })
      await entered.promise
      const code = end === 'cancel' ? 'TOOL_SESSION_CLOSED' : 'TOOL_SESSION_EXPIRED'
      const second = session.call(callOf('b'), never)
      const refused = expect(second).rejects.toSatisfy(
        ({ code: found }) => found === code || (end === 'deadline' && found === 'TOOL_SESSION_CLOSED'),
      )
      if (end === 'cancel') session.cancel()
      else await world.advance(1000)
      await unconfirmed
      await refused
      expect(session.attempts).toBe(1)
    }
  })

  test('that wait past the deadline cancel the session by themselves [G13]', async () => {
    const { world, log, start } = sessionBench({ limits: { timeout: ms(1000) } })
    const session = await start()
    const release = log.hold()
    const recording = session.recordExternal({ kind: 'ImprovementOutput', output: 'x' })
    const lost = expect(recording).rejects.toMatchObject({ code: 'CALL_UNCONFIRMED' })
    const waiting = session.call(callOf('a'), never)
    const refused = expect(waiting).rejects.toBeInstanceOf(Fault)
    await world.clock.yield()
    await world.advance(1000)
    await lost
    await refused
    expect(session.failureReason).toBe('broker session deadline expired')
    release()
  })
})

describe('a call that does not come to its end', () => {
  test.each(['cancel', 'deadline', 'close'] as const)(
    'because of %s says that completion is unconfirmed, and its late tool changes no journal [G20]',
    async (end) => {
      const { entered, answer, tool } = heldTool()
      const gone = latch()
      const { world, log, start } = sessionBench({
        tools: [tool],
        limits: { timeout: ms(20_000) },
        box: (inner) => ({ ...inner, cleanUp: async () => gone.open() }),
      })
      const session = await start()
      const call = session.call(callOf('a'), never)
      const unconfirmed = expect(call).rejects.toMatchObject({
        code: 'CALL_UNCONFIRMED',
        message: expect.stringContaining('completion is unconfirmed'),
      })
      await entered.promise
      if (end === 'cancel') session.cancel()
      if (end === 'deadline') await world.advance(20_000)
      const closed = expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
      await unconfirmed
      await closed
      const written = [...log.events]
      expect(log.kinds()).toEqual(['Started', 'PolicyEvaluated', 'ToolDispatchStarted', 'Terminated'])
      answer.open('late')
      for (let turn = 0; turn < 5; turn += 1) await world.clock.yield()
      expect(log.events).toEqual(written)
      if (end === 'deadline') expect(session.failureReason).toBe('broker session deadline expired')
    },
  )

  test.each(['PolicyEvaluated', 'ToolDispatchStarted', 'ToolDispatchFinished', 'ToolBatchCompleted'] as const)(
    'because %s was being written when it was cancelled adds nothing behind the end [G20]',
    async (kind) => {
      const tool = toolOf('look')
      const { world, log, start } = sessionBench({ tools: [tool] })
      const session = await start()
      const receipt = kind === 'ToolDispatchFinished' || kind === 'ToolBatchCompleted'
      let release = (): void => undefined
      if (receipt) {
        const run = tool.run
        Object.assign(tool, {
          run: async (...given: Parameters<typeof run>) => {
            const answer = await run(...given)
            release = log.hold()
            return answer
          },
        })
      } else release = log.hold()
      const call = session.call(callOf('a'), never)
      const unconfirmed = expect(call).rejects.toMatchObject({ code: 'CALL_UNCONFIRMED' })
      expect(await isPending(world, call)).toBe(true)
      session.cancel()
      await unconfirmed
      release()
      await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
      expect(log.kinds().at(-1)).toBe('Terminated')
      expect(log.kinds()).toEqual(['Started', ...DONE.slice(0, receipt ? 4 : 2), 'Terminated'])
      expect(tool.ran).toHaveLength(receipt ? 1 : 0)
    },
  )

  test('because it was cancelled at any moment after its tool answered keeps its receipt, if there was one [G20]', async () => {
    const ends = new Set<string>()
    for (let moment = 0; moment < 60; moment += 1) {
      const cancel = async (session: GovernedToolSession): Promise<void> => {
        for (let step = 0; step < moment; step += 1) await Promise.resolve()
        session.cancel()
      }
      let opened: GovernedToolSession | null = null
      const { log, start } = sessionBench({
        box: (inner) => ({
          ...inner,
          execute: async (...given) => {
            const results = await inner.execute(...given)
            void cancel(opened as GovernedToolSession)
            return results
          },
        }),
      })
      const session = await start()
      opened = session
      const outcome = await session.call(callOf('a'), never).then(
        () => 'answered',
        () => 'unconfirmed',
      )
      const end = await endOf(session)
      if (outcome === 'unconfirmed') expect(end).toBe('failed')
      const written = log.kinds().slice(3, -1)
      expect(log.kinds().at(-1)).toBe('Terminated')
      if (outcome === 'answered') expect(written).toEqual(DONE.slice(2))
      ends.add(written.join(' '))
    }
    expect([...ends].sort()).toEqual(['', 'ToolDispatchFinished', 'ToolDispatchFinished ToolBatchCompleted'])
  })

  test('because its caller went away poisons the session', async () => {
    const { entered, tool } = heldTool()
    const { log, start } = sessionBench({
      tools: [tool],
      box: (inner) => ({ ...inner, cleanUp: async () => undefined }),
    })
    const session = await start()
    const leaving = new AbortController()
    const call = session.call(callOf('a'), leaving.signal)
    await entered.promise
    leaving.abort(new Error('left'))
    await expect(call).rejects.toThrow('left')
    await expect(session.call(callOf('b'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    expect(log.all('Terminated')[0]?.reason).toMatchObject({ Error: {} })
  })

  test('because its caller was gone before it came is not made', async () => {
    const { log, start } = sessionBench()
    const session = await start()
    await expect(session.call(callOf('a'), AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
    expect(session.attempts).toBe(0)
    expect(log.kinds()).toEqual(['Started'])
    expect(await endOf(session)).toBe('Completed')
  })

  test.each([
    ['its decision', 1, 0],
    ['its intent', 2, 0],
    ['its receipt', 3, 1],
    ['its results', 4, 1],
  ])('because %s cannot be written is an error and poisons the session [G21]', async (_what, at, effects) => {
    const tool = toolOf('look')
    const { log, start } = sessionBench({ tools: [tool] })
    const session = await start()
    log.failAt(at)
    await expect(session.call(callOf('a'), never)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(tool.ran).toHaveLength(effects)
    expect(session.ended.aborted).toBe(true)
    await expect(session.call(callOf('b'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    await expect(session.close()).rejects.toBeInstanceOf(Fault)
  })

  test('because its evidence holds more than an entry takes is an error, and the end is recorded all the same [G21] [G41]', async () => {
    const content = 'x'.repeat(1024 * 1024)
    const box = (inner: Toolbox): Toolbox => ({
      ...inner,
      execute: async () => [{ source: 'look', content, is_error: false, call_id: 'a' }],
    })
    const { log, start } = sessionBench({ box })
    const session = await start()
    await expect(session.call(callOf('a'), never)).rejects.toMatchObject({ code: 'JOURNAL_LIMIT' })
    await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    expect(log.kinds()).toEqual(['Started', 'PolicyEvaluated', 'ToolDispatchStarted', 'Terminated'])
  })
})

describe('an executor that answers', () => {
  const answers: readonly [string, (made: Observation) => readonly Observation[]][] = [
    ['with no result', () => []],
    ['with two results', (made) => [made, made]],
    ['with a foreign call id', (made) => [{ ...made, call_id: 'other' }]],
    ['without a call id', ({ call_id: _, ...made }) => [made]],
    ['with an error', (made) => [{ ...made, is_error: true }]],
  ]
  test.each(answers)(
    '%s gives one observation with an unknown effect, and the session is over [G22] [G23]',
    async (_what, answer) => {
      let executed = 0
      const { log, start } = sessionBench({
        box: (inner) => ({
          ...inner,
          execute: async (...given) => {
            executed += 1
            const [made] = await inner.execute(...given)
            return answer(made as Observation)
          },
        }),
      })
      const session = await start()
      const observation = await session.call(callOf('a'), never)
      expect(observation).toMatchObject({ is_error: true, call_id: 'a', metadata: { effect_outcome: 'unknown' } })
      expect(isUnconfirmed(observation)).toBe(true)
      expect(session.failureReason).toMatch(/unconfirmed.*reconciliation/)
      await expect(session.call(callOf('b'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
      expect(executed).toBe(1)
      await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
      expect(log.all('Terminated')[0]?.reason).toEqual({ Error: { message: session.failureReason } })
    },
  )

  test('later than the tool may take gives one observation with an unknown effect [G23]', async () => {
    const { world, start } = sessionBench({
      tools: [toolOf('look', forever)],
      limits: { tool_timeout: ms(100) },
      box: (inner) => ({ ...inner, cleanUp: async () => undefined }),
    })
    const session = await start()
    const call = session.call(callOf('a'), never)
    expect(await isPending(world, call)).toBe(true)
    await world.advance(100)
    expect(await call).toMatchObject({ metadata: { effect_outcome: 'unknown', error_type: 'timeout' } })
    await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
  })
})
