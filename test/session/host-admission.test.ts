import { describe, expect, test } from 'vitest'
import type { Toolbox } from '../../src/calls/index.ts'
import type { JsonObject } from '../../src/core/index.ts'
import type { Observation, ProposedAction } from '../../src/events/index.ts'
import { deny, restrictedBy } from '../../src/policy/index.ts'
import type { GovernedToolSession } from '../../src/session/index.ts'
import { type Tool, toolbox } from '../../src/tools/index.ts'
import { gateOf } from '../support/gates.ts'
import { policyIn } from '../support/inline-policy.ts'
import {
  actionOf,
  callOf,
  forever,
  heardBox,
  isPending,
  latch,
  ms,
  never,
  nothingHeard,
  type SessionBench,
  sessionBench,
} from '../support/tool-session.ts'
import { toolOf } from '../support/tools.ts'

const hostBox = (
  { world }: SessionBench,
  tool: Tool = toolOf('host_fixture'),
  changes: Partial<Toolbox> = {},
): Toolbox => ({
  ...toolbox({ tools: [tool] }, world),
  ...changes,
})

const refused = { code: 'HOST_ACTION_REFUSED' }

async function stillUsable(session: GovernedToolSession, id = 'later'): Promise<void> {
  expect(await session.call(callOf(id), never)).toMatchObject({ is_error: false })
  await session.close()
}

describe('an action of the host', () => {
  test('is dispatched like any call, with the tools of the host and all the time of the session [G29]', async () => {
    const tool = toolOf('host_fixture', async (_args, { deadlineMs }) => `until ${deadlineMs}`)
    const bench = sessionBench({ limits: { timeout: ms(60_000), tool_timeout: ms(1000) }, iteration: 3 })
    const session = await bench.start()
    const observations = await session.dispatchHostAction(hostBox(bench, tool), actionOf('h'), never)
    expect(observations).toMatchObject([{ is_error: false, content: 'until 60000', call_id: 'h' }])
    expect(session.definitions.map(({ name }) => name)).toEqual(['look'])
    expect(await session.call(callOf('a', 'host_fixture'), never)).toMatchObject({
      metadata: { error_type: 'policy_denied' },
    })
    expect(await session.call(callOf('b', 'look'), never)).toMatchObject({ is_error: false })
    await session.close()
    expect(tool.ran).toHaveLength(1)
    expect(bench.log.entries.map(({ iteration }) => iteration).slice(0, 7)).toEqual([3, 3, 3, 3, 3, 0, 0])
  })

  test('lets the client use its own tools meanwhile', async () => {
    const [entered, answer] = [latch(), latch<string>()]
    const tool = toolOf('host_fixture', async () => {
      entered.open()
      return await answer.promise
    })
    const bench = sessionBench()
    const session = await bench.start()
    const hosted = session.dispatchHostAction(hostBox(bench, tool), actionOf('h'), never)
    await entered.promise
    expect(await session.call(callOf('a'), never)).toMatchObject({ is_error: false })
    answer.open('done')
    expect(await hosted).toMatchObject([{ is_error: false }])
    await stillUsable(session)
    expect(bench.log.all('Terminated')[0]).toMatchObject({ reason: 'Completed', iterations: 2 })
  })

  test('is refused once a call of the client was attempted, even an invalid one [G26]', async () => {
    const bench = sessionBench()
    const session = await bench.start()
    await expect(session.call(callOf(''), never)).rejects.toMatchObject({ code: 'CALL_INVALID' })
    await expect(session.dispatchHostAction(hostBox(bench), actionOf('h'), never)).rejects.toMatchObject(refused)
    await stillUsable(session)
  })

  test('is refused when one was admitted before [G26]', async () => {
    const bench = sessionBench()
    const session = await bench.start()
    await session.dispatchHostAction(hostBox(bench), actionOf('h'), never)
    await expect(session.dispatchHostAction(hostBox(bench), actionOf('i'), never)).rejects.toMatchObject(refused)
    await stillUsable(session, 'i') // the refused one used up no id
  })

  test.each<[string, (session: GovernedToolSession, bench: SessionBench) => unknown]>([
    ['cancelled', (session) => session.cancel()],
    ['poisoned', (session) => session.externalGuard().release()],
    ['expired', (_session, { world }) => world.advance(300_000)],
    ['closed', (session) => session.close()],
  ])('is refused when the session is %s [G26]', async (_what, end) => {
    const tool = toolOf('host_fixture')
    const bench = sessionBench()
    const session = await bench.start()
    await end(session, bench)
    await expect(session.dispatchHostAction(hostBox(bench, tool), actionOf('h'), never)).rejects.toMatchObject(refused)
    expect(tool.ran).toHaveLength(0)
  })

  test('is refused when its tools cannot work, with what they say', async () => {
    const bench = sessionBench()
    const session = await bench.start()
    const broken = toolbox({ tools: [toolOf('two words')] }, bench.world)
    await expect(session.dispatchHostAction(broken, actionOf('h'), never)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    })
    await stillUsable(session)
  })

  test.each<[string, ProposedAction]>([
    ['no tool call', { Respond: { content: 'hello' } }],
    ['a delegation', { Delegate: { call_id: 'h', target: 'reviewer', message: 'look' } }],
    ['a call with an empty id', actionOf('')],
    ['a call with an id that is none', actionOf('a b')],
  ])('is refused when it is %s [G27]', async (_what, action) => {
    const bench = sessionBench()
    const session = await bench.start()
    await expect(session.dispatchHostAction(hostBox(bench), action, never)).rejects.toMatchObject(refused)
    await stillUsable(session)
  })

  test('uses up its id for the client [G17] [G27]', async () => {
    const bench = sessionBench()
    const session = await bench.start()
    await session.dispatchHostAction(hostBox(bench), actionOf('h'), never)
    await expect(session.call(callOf('h'), never)).rejects.toMatchObject({ code: 'CALL_ID_USED' })
    await stillUsable(session)
  })

  test.each<[string, JsonObject]>([
    ['something that the session does not know', { other: 1 }],
    ['something else than the session', { zone: 'south' }],
    ['a member more than the session', { nested: { a: 1, b: 2 } }],
  ])('is refused when its tools say %s [G28]', async (_what, context) => {
    const bench = sessionBench({ trustedContext: { zone: 'north', nested: { a: 1 } } })
    const session = await bench.start()
    const box = hostBox(bench, toolOf('host_fixture'), { context: () => context })
    await expect(session.dispatchHostAction(box, actionOf('h'), never)).rejects.toMatchObject(refused)
    const fitting = hostBox(bench, toolOf('host_fixture'), { context: () => ({ zone: 'north', nested: { a: 1 } }) })
    expect(await session.dispatchHostAction(fitting, actionOf('h'), never)).toMatchObject([{ is_error: false }])
    await stillUsable(session)
  })

  const answers: readonly [string, (made: Observation) => readonly Observation[]][] = [
    ['an error', (made) => [{ ...made, is_error: true }]],
    ['two results', (made) => [made, made]],
    ['no result', () => []],
  ]
  test.each(answers)(
    'that is answered with %s gives one error observation and poisons the session [G30]',
    async (_what, answer) => {
      const bench = sessionBench()
      const session = await bench.start()
      const inner = hostBox(bench)
      const box: Toolbox = {
        ...inner,
        execute: async (...given) => answer((await inner.execute(...given))[0] as Observation),
      }
      expect(await session.dispatchHostAction(box, actionOf('h'), never)).toMatchObject([
        { is_error: true, call_id: 'h' },
      ])
      await expect(session.call(callOf('a'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
      await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    },
  )

  test('that policy denies is an error observation and poisons the session [G30]', async () => {
    const bench = sessionBench({ gate: gateOf(() => deny('no')) })
    const session = await bench.start()
    expect(await session.dispatchHostAction(hostBox(bench), actionOf('h'), never)).toMatchObject([{ content: 'no' }])
    expect(session.ended.aborted).toBe(true)
  })

  test('that cannot be recorded poisons the session [G30]', async () => {
    const bench = sessionBench()
    const session = await bench.start()
    bench.log.failAt(1)
    await expect(session.dispatchHostAction(hostBox(bench), actionOf('h'), never)).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    })
    expect(session.ended.aborted).toBe(true)
  })

  test('whose caller went away poisons the session [G30]', async () => {
    const bench = sessionBench()
    const session = await bench.start()
    const [entered, leaving] = [latch(), new AbortController()]
    const tool = toolOf('host_fixture', async () => {
      entered.open()
      return await forever()
    })
    const hosted = session.dispatchHostAction(hostBox(bench, tool), actionOf('h'), leaving.signal)
    await entered.promise
    leaving.abort(new Error('left'))
    await expect(hosted).rejects.toThrow('left')
    expect(session.ended.aborted).toBe(true)
  })

  test.each<[string, (session: GovernedToolSession) => void, RegExp]>([
    ['with a reason', (session) => session.cancelWithReason('the host gave up'), /the host gave up.*unconfirmed/],
    ['without one', (session) => session.cancel(), /session was interrupted.*unconfirmed/],
  ])('that is cancelled %s says why, and that completion is unconfirmed [G31]', async (_what, cancel, message) => {
    const bench = sessionBench()
    const session = await bench.start()
    const entered = latch()
    const tool = toolOf('host_fixture', async () => {
      entered.open()
      return await forever()
    })
    const hosted = session.dispatchHostAction(hostBox(bench, tool), actionOf('h'), never)
    await entered.promise
    cancel(session)
    await expect(hosted).rejects.toMatchObject({ code: 'CALL_UNCONFIRMED', message: expect.stringMatching(message) })
  })

  test('that lasts until the deadline is an error, and the diagnostic speaks of it [G32]', async () => {
    const bench = sessionBench({ limits: { timeout: ms(1000) } })
    const session = await bench.start()
    const box = hostBox(bench, toolOf('host_fixture', forever), { cleanUp: async () => undefined })
    const hosted = session.dispatchHostAction(box, actionOf('h'), never)
    expect(await isPending(bench.world, hosted)).toBe(true)
    await Promise.all([
      expect(hosted).rejects.toMatchObject({ code: 'CALL_UNCONFIRMED', message: expect.stringContaining('deadline') }),
      bench.world.advance(1000),
    ])
    expect(session.failureReason).toContain('deadline')
    expect(bench.log.all('ToolBatchCompleted')).toEqual([])
  })
})

describe('the source policy of a session', () => {
  test('must be retained by the tools of its host, and a refusal poisons nothing [T2.1] [T2.2] [T2.3] [G28]', async () => {
    const under = (source: string) => (inner: Toolbox) => restrictedBy(inner, policyIn(source))
    const bench = sessionBench({ tools: [toolOf('tool_fixture')], box: under('agent fixture() {}') })
    const session = await bench.start()
    const plain = hostBox(bench)
    const other = under('agent other() {}')(plain)
    for (const box of [plain, other]) {
      await expect(session.dispatchHostAction(box, actionOf('host'), never)).rejects.toMatchObject({
        code: 'HOST_ACTION_REFUSED',
        message: expect.stringContaining("retain the session's source policy"),
      })
    }
    await session.close()
    expect(bench.log.all('Terminated')[0]?.reason).toBe('Completed')
  })

  test('that is absent must be absent in the tools of its host, too', async () => {
    const bench = sessionBench()
    const session = await bench.start()
    const box = restrictedBy(hostBox(bench), policyIn('agent other() {}'))
    await expect(session.dispatchHostAction(box, actionOf('host'), never)).rejects.toMatchObject({
      message: expect.stringContaining("retain the session's source policy"),
    })
    await session.close()
  })
})

describe('closing while the action of the host runs', () => {
  test.each([false, true])(
    'waits for its cleanup before the end is recorded; caller gone before: %s [T3.1] [T3.2] [T3.3] [T3.4] [T3.5] [T3.6]',
    async (leaves) => {
      const heard = nothingHeard()
      const bench = sessionBench({ tools: [toolOf('tool_fixture', forever)] })
      const session = await bench.start()
      const [entered, closing, removed, leaving] = [latch(), latch(), latch(), new AbortController()]
      const box = heardBox(heard, hostBox(bench), {
        execute: async () => {
          entered.open()
          return await forever()
        },
        cleanUp: async () => {
          closing.open()
          await removed.promise
        },
      })
      const hosted = session.dispatchHostAction(box, actionOf('host'), leaving.signal)
      const failed = expect(hosted).rejects.toBeInstanceOf(Error)
      await entered.promise
      if (leaves) leaving.abort(new Error('left'))
      const close = session.close()
      const notClean = expect(close).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
      await closing.promise
      expect(heard.cancelled[0]).toEqual([session.runKey, session.deadlineMs])
      expect(await isPending(bench.world, close)).toBe(true)
      expect(bench.log.all('Terminated')).toEqual([])
      removed.open()
      await notClean
      await failed
      expect(bench.log.events.at(-1)).toMatchObject({ kind: 'Terminated', reason: { Error: {} } })
      expect(bench.log.entries.length).toBeLessThanOrEqual(20)
    },
  )
})
