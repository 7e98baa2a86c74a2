import { describe, expect, test } from 'vitest'
import type { Toolbox } from '../../src/calls/index.ts'
import { Fault } from '../../src/core/index.ts'
import type { GovernedToolSession } from '../../src/session/index.ts'
import { toolbox } from '../../src/tools/index.ts'
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

const failed = { code: 'TOOL_SESSION_FAILED' }
const hostBox = ({ world }: SessionBench, changes: Partial<Toolbox> = {}): Toolbox => ({
  ...toolbox({ tools: [toolOf('host_fixture')] }, world),
  ...changes,
})

describe('cancelling', () => {
  test('poisons, and tells the tools of both sides at once, with run key and deadline [G33]', async () => {
    const [ours, theirs] = [nothingHeard(), nothingHeard()]
    const bench = sessionBench({ box: (inner) => heardBox(ours, inner) })
    using session = await bench.start()
    await session.dispatchHostAction(heardBox(theirs, hostBox(bench)), actionOf('h'), never)
    session.cancel()
    const told = [[session.runKey, session.deadlineMs]]
    expect([ours.cancelled, theirs.cancelled]).toEqual([told, told])
    expect(session.ended.aborted).toBe(true)
    await expect(session.call(callOf('a'), never)).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
  })

  test('reaches the tools of the host although the others throw, and again changes nothing [G33]', async () => {
    const theirs = nothingHeard()
    const bench = sessionBench({
      box: (inner) => ({
        ...inner,
        cancelRun: () => {
          throw new Error('deaf')
        },
      }),
    })
    const session = await bench.start()
    await session.dispatchHostAction(heardBox(theirs, hostBox(bench)), actionOf('h'), never)
    session.cancel()
    session.cancel()
    expect(theirs.cancelled).not.toHaveLength(0)
    await expect(session.close()).rejects.toMatchObject(failed)
  })

  test('keeps the first reason [G34]', async () => {
    const { log, start } = sessionBench()
    const session = await start()
    session.cancelWithReason('first')
    session.cancelWithReason('second')
    expect(session.failureReason).toBe('first')
    await expect(session.close()).rejects.toMatchObject({ message: expect.stringContaining('first') })
    expect(log.all('Terminated')[0]?.reason).toEqual({ Error: { message: 'first' } })
  })

  test('past the deadline records the deadline as its reason [T1.1]', async () => {
    const { world, log, start } = sessionBench()
    const session = await start()
    await world.advance(300_000)
    session.cancel()
    await expect(session.close()).rejects.toMatchObject(failed)
    expect(log.events.at(-1)).toMatchObject({
      kind: 'Terminated',
      reason: { Error: { message: 'broker session deadline expired' } },
    })
  })

  test('past the deadline keeps an earlier reason [T1.2] [G34]', async () => {
    const { world, log, start } = sessionBench()
    const session = await start()
    const earlier = 'inference response contains protected credentials'
    session.cancelWithReason(earlier)
    await world.advance(300_000)
    session.cancel()
    await expect(session.close()).rejects.toMatchObject(failed)
    expect(log.events.at(-1)).toMatchObject({ kind: 'Terminated', reason: { Error: { message: earlier } } })
  })
})

describe('releasing without closing', () => {
  test('cancels, tells the tools, and records no end [G35]', async () => {
    const heard = nothingHeard()
    const bench = sessionBench({ box: (inner) => heardBox(heard, inner) })
    let session: GovernedToolSession
    {
      using scoped = await bench.start()
      session = scoped
    }
    expect(session.ended.aborted).toBe(true)
    expect(heard.cancelled).toEqual([[session.runKey, session.deadlineMs]])
    expect(heard.cleaned).toEqual([])
    await bench.world.clock.yield()
    expect(bench.log.kinds()).toEqual(['Started'])
  })
})

describe('closing', () => {
  test('a healthy session records that it completed, and how many calls it took [G36]', async () => {
    const heard = nothingHeard()
    const { world, log, start } = sessionBench({ ageMs: 500, box: (inner) => heardBox(heard, inner) })
    const session = await start()
    await session.call(callOf('a'), never)
    await session.call(callOf('b'), never)
    await expect(session.call(callOf('b'), never)).rejects.toMatchObject({ code: 'CALL_ID_USED' })
    await world.advance(1500)
    await session.close()
    expect(log.all('Terminated')).toEqual([
      {
        kind: 'Terminated',
        reason: 'Completed',
        iterations: 3,
        total_usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
        duration: ms(2000),
      },
    ])
    expect(session.termination).toBe('Completed')
    expect(session.ended.aborted).toBe(true)
    expect(heard.cancelled).toEqual([[session.runKey, session.deadlineMs]])
    expect(heard.cleaned).toEqual([session.runKey])
  })

  test('twice is an error, one after the other and at once, and one end is recorded [G37]', async () => {
    const { log, start } = sessionBench()
    const session = await start()
    const [first, second] = await Promise.allSettled([session.close(), session.close()])
    expect([first?.status, second?.status]).toEqual(['fulfilled', 'rejected'])
    await expect(session.close()).rejects.toMatchObject(failed)
    expect(log.all('Terminated')).toHaveLength(1)
  })

  test('fails with what the cleanup of its tools says, after the cleanup of the host [G38]', async () => {
    const theirs = nothingHeard()
    const bench = sessionBench({
      box: (inner) => ({ ...inner, cleanUp: () => Promise.reject(new Error('a worker is left')) }),
    })
    const session = await bench.start()
    await session.dispatchHostAction(heardBox(theirs, hostBox(bench)), actionOf('h'), never)
    await expect(session.close()).rejects.toMatchObject({
      ...failed,
      message: expect.stringContaining('a worker is left'),
    })
    expect(theirs.cleaned).toEqual([session.runKey])
    expect(bench.log.events.at(-1)).toMatchObject({ kind: 'Terminated', reason: { Error: {} } })
    expect(session.termination).toMatchObject({ Error: {} })
  })

  test.each(['ours', 'of the host'] as const)(
    'fails when the cleanup %s takes more than 22 seconds [G38]',
    async (whose) => {
      const heard = nothingHeard()
      const stuck = { cleanUp: forever }
      const bench = sessionBench({ box: (inner) => heardBox(heard, inner, whose === 'ours' ? stuck : {}) })
      const session = await bench.start()
      const host = heardBox(heard, hostBox(bench), whose === 'ours' ? {} : stuck)
      await session.dispatchHostAction(host, actionOf('h'), never)
      const close = session.close()
      const notClean = expect(close).rejects.toMatchObject({
        ...failed,
        message: expect.stringContaining('cleaned up'),
      })
      expect(await isPending(bench.world, close)).toBe(true)
      await bench.world.advance(21_999)
      expect(await isPending(bench.world, close)).toBe(true)
      expect(bench.log.all('Terminated')).toEqual([])
      await bench.world.advance(1)
      await notClean
      expect(heard.cleaned).toEqual([session.runKey])
      expect(bench.log.all('Terminated')[0]?.reason).toMatchObject({ Error: {} })
    },
  )

  test('fails when its end cannot be written, with what the journal says [G39]', async () => {
    const { log, start } = sessionBench()
    const session = await start()
    log.failAt(1)
    await expect(session.close()).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(session.termination).toBe(null)
  })

  test('fails when its end is not written within 5 seconds, and that is said before all else [G39]', async () => {
    const bench = sessionBench({ box: (inner) => ({ ...inner, cleanUp: () => Promise.reject(new Error('left')) }) })
    const session = await bench.start()
    const release = bench.log.hold()
    const close = session.close()
    const late = expect(close).rejects.toMatchObject({ ...failed, message: expect.stringContaining('in time') })
    expect(await isPending(bench.world, close)).toBe(true)
    await bench.world.advance(4999)
    expect(await isPending(bench.world, close)).toBe(true)
    await bench.world.advance(1)
    await late
    release()
    await bench.world.clock.yield()
    expect(bench.log.kinds()).toEqual(['Started', 'Terminated']) // what was handed over still finishes
  })

  test('says of a failed cleanup before a failed write [G38] [G39]', async () => {
    const bench = sessionBench({ box: (inner) => ({ ...inner, cleanUp: () => Promise.reject(new Error('left')) }) })
    const session = await bench.start()
    bench.log.failAt(1)
    await expect(session.close()).rejects.toMatchObject({ ...failed, message: expect.stringContaining('left') })
  })

  test.each<[string, (session: GovernedToolSession, bench: SessionBench) => unknown, string | RegExp]>([
    ['poisoned', (session) => session.externalGuard().release(), /inspect/],
    ['cancelled with a reason', (session) => session.cancelWithReason('the host gave up'), /^the host gave up$/],
    ['past its deadline', (_session, { world }) => world.advance(300_000), /^broker session deadline expired$/],
  ])('a session that is %s records an error and fails [G40]', async (_what, end, message) => {
    const bench = sessionBench()
    const session = await bench.start()
    await session.call(callOf('a'), never)
    await end(session, bench)
    await expect(session.close()).rejects.toMatchObject(failed)
    const reason = bench.log.all('Terminated')[0]?.reason
    expect(reason).toEqual({ Error: { message: expect.stringMatching(message) } })
    expect(bench.log.all('Terminated')[0]?.iterations).toBe(1)
  })

  test('interrupts the call that is at work, waits for its tool, and does not record that it completed', async () => {
    const [entered, gone] = [latch(), latch<string>()]
    const tool = toolOf('look', async () => {
      entered.open()
      return await gone.promise
    })
    const { world, log, start } = sessionBench({ tools: [tool] })
    const session = await start()
    const call = session.call(callOf('a'), never)
    const unconfirmed = expect(call).rejects.toMatchObject({ code: 'CALL_UNCONFIRMED' })
    await entered.promise
    const close = session.close()
    const notClean = expect(close).rejects.toMatchObject(failed)
    await unconfirmed
    expect(await isPending(world, close)).toBe(true)
    expect(log.all('Terminated')).toEqual([])
    gone.open('late')
    await notClean
    expect(log.kinds()).toEqual(['Started', 'PolicyEvaluated', 'ToolDispatchStarted', 'Terminated'])
  })
})

describe('effects of the host outside the dispatcher', () => {
  const effect = { kind: 'ImprovementOutput', output: 'said by the host' } as const

  test('are recorded in turn, in the iteration of the session', async () => {
    const { log, start } = sessionBench({ iteration: 2 })
    const session = await start()
    await session.recordExternal(effect)
    await session.call(callOf('a'), never)
    await session.recordExternal(effect)
    await session.close()
    expect(log.entries.filter(({ event }) => event.kind === effect.kind).map(({ iteration }) => iteration)).toEqual([
      2, 0,
    ])
    expect(log.all('Terminated')[0]?.reason).toBe('Completed')
  })

  test.each<[string, (session: GovernedToolSession, bench: SessionBench) => unknown]>([
    ['cancelled', (session) => session.cancel()],
    ['poisoned', (session) => session.externalGuard().release()],
    ['expired', (_session, { world }) => world.advance(300_000)],
    ['closed', (session) => session.close()],
  ])('are refused once the session is %s [G44]', async (_what, end) => {
    const bench = sessionBench()
    const session = await bench.start()
    await end(session, bench)
    await expect(session.recordExternal(effect)).rejects.toMatchObject({ code: 'TOOL_SESSION_CLOSED' })
    expect(bench.log.all('ImprovementOutput')).toEqual([])
  })

  test('cannot pass for the start or the end of the session', async () => {
    const session = await sessionBench().start()
    const end = { kind: 'Terminated', reason: 'Completed', iterations: 0, total_usage: null, duration: null } as never
    await expect(session.recordExternal(end)).rejects.toThrow('only the session itself')
    await session.close()
  })

  test('whose guard is still held when the session is closed keep it from having completed', async () => {
    const { log, start } = sessionBench()
    const session = await start()
    session.externalGuard().complete()
    using _ = session.externalGuard()
    await expect(session.close()).rejects.toMatchObject({ code: 'TOOL_SESSION_FAILED' })
    expect(log.all('Terminated')).toMatchObject([{ reason: { Error: expect.anything() } }])
  })

  test('whose guard is released before it was completed poison the session, and completed ones do not', async () => {
    const session = await sessionBench().start()
    {
      using guard = session.externalGuard()
      guard.complete()
    }
    expect(session.ended.aborted).toBe(false)
    const guard = session.externalGuard()
    guard.release()
    guard.complete()
    expect(session.ended.aborted).toBe(true)
    await expect(session.close()).rejects.toBeInstanceOf(Fault)
  })

  test('whose record is still on its way when nobody waits any more poison the session', async () => {
    const { world, log, start } = sessionBench()
    const session = await start()
    const release = log.hold()
    const leaving = new AbortController()
    const recording = session.recordExternal(effect, leaving.signal)
    await world.clock.yield()
    leaving.abort(new Error('left'))
    await expect(recording).rejects.toThrow('left')
    expect(session.ended.aborted).toBe(true)
    release()
  })
})
