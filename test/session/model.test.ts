/**
 * Random lives of a session against a naive model of its state machine, and random crowds of calls against what must hold of
 * any journal.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isFault } from '../../src/core/index.ts'
import { deny } from '../../src/policy/index.ts'
import type { GovernedToolSession } from '../../src/session/index.ts'
import { gateOf } from '../support/gates.ts'
import { callOf, ms, never, sessionBench } from '../support/tool-session.ts'
import { toolOf } from '../support/tools.ts'

const CALLS_MAX = 6
const gate = gateOf(({ arguments: args }) => (args?.way === 'deny' ? deny('no') : { kind: 'Allow', policies: [] }))
const lookTool = () =>
  toolOf('look', async ({ way }) => {
    if (way === 'throw') throw new Error('broken')
    return 'seen'
  })

type Step =
  | { readonly kind: 'call'; readonly id: number; readonly way: 'allow' | 'deny' | 'throw' | 'malformed' }
  | { readonly kind: 'cancel' | 'reason' | 'expire' | 'guard' | 'complete' | 'close' }

const id = fc.integer({ min: 0, max: 9 })
const callStep = (way: 'allow' | 'deny' | 'throw' | 'malformed'): fc.Arbitrary<Step> =>
  id.map((nth) => ({ kind: 'call', id: nth, way }))
const endStep: fc.Arbitrary<Step> = fc
  .constantFrom('cancel', 'reason', 'expire', 'guard', 'complete', 'close')
  .map((kind) => ({ kind }) as Step)
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: callStep('allow') },
    { weight: 3, arbitrary: callStep('deny') },
    { weight: 3, arbitrary: callStep('malformed') },
    { weight: 1, arbitrary: callStep('throw') },
    { weight: 2, arbitrary: endStep },
  ),
  { maxLength: 14 },
)

/** What a session does, written down as plainly as possible. */
class Model {
  used = new Set<number>()
  attempts = 0
  effects = 0
  late = false
  closed = false
  stopped = false
  poisoned = false
  /** What the diagnostic says, in a word that is part of it. */
  reason: string | null = null
  end = ''
  counted = 0

  step(step: Step): string {
    switch (step.kind) {
      case 'call':
        return this.call(step.id, step.way)
      case 'reason':
        this.reason ??= 'given'
        return this.cancel()
      case 'cancel':
      case 'guard':
        return this.cancel()
      case 'expire':
        this.late = true
        return 'ok'
      case 'complete':
        return 'ok'
      case 'close': {
        if (this.late) this.cancel()
        this.stopped = true
        if (this.closed) return 'TOOL_SESSION_FAILED'
        this.closed = true
        this.end = this.poisoned ? (this.reason ?? 'inspect') : 'Completed'
        this.counted = this.attempts
        return this.poisoned ? 'TOOL_SESSION_FAILED' : 'ok'
      }
    }
  }

  cancel(): string {
    if (this.late) this.reason ??= 'broker session deadline expired'
    this.poisoned = true
    this.stopped = true
    return 'ok'
  }

  call(nth: number, way: string): string {
    if (this.stopped) return 'TOOL_SESSION_CLOSED'
    if (this.late) {
      this.cancel()
      return 'TOOL_SESSION_EXPIRED'
    }
    if (this.attempts >= CALLS_MAX) {
      this.cancel()
      return 'TOOL_SESSION_SPENT'
    }
    this.attempts += 1
    if (way === 'malformed') return 'CALL_INVALID'
    if (this.used.has(nth)) return 'CALL_ID_USED'
    this.used.add(nth)
    if (way === 'deny') return 'policy_denied'
    this.effects += 1
    if (way === 'allow') return 'result_recorded'
    this.reason ??= 'unconfirmed'
    this.cancel()
    return 'unknown'
  }
}

async function live(session: GovernedToolSession, step: Step, expire: () => Promise<void>): Promise<string> {
  try {
    switch (step.kind) {
      case 'call': {
        const name = step.way === 'malformed' ? 'not a name' : 'look'
        const { metadata } = await session.call(callOf(`c${step.id}`, name, { way: step.way }), never)
        return metadata?.error_type ?? metadata?.effect_outcome ?? 'nothing'
      }
      case 'cancel':
        session.cancel()
        break
      case 'reason':
        session.cancelWithReason('given')
        break
      case 'expire':
        await expire()
        break
      case 'guard':
        session.externalGuard().release()
        break
      case 'complete': {
        using guard = session.externalGuard()
        guard.complete()
        break
      }
      case 'close':
        await session.close()
    }
    return 'ok'
  } catch (error) {
    return isFault(error) ? error.code : String(error)
  }
}

test('any life of a session is the one that the model tells [G12] [G13] [G14] [G15] [G16] [G17] [G24] [G36] [G37] [G40]', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const tool = lookTool()
      const limits = { max_iterations: CALLS_MAX, timeout: ms(1000) }
      const { world, log, start } = sessionBench({ tools: [tool], gate, limits })
      const session = await start()
      const model = new Model()
      for (const step of [...given, { kind: 'close' } as Step]) {
        expect([step, await live(session, step, () => world.advance(1000))]).toEqual([step, model.step(step)])
        expect(session.attempts).toBe(model.attempts)
        expect(session.ended.aborted).toBe(model.stopped)
        expect(tool.ran).toHaveLength(model.effects)
      }
      const [end, ...others] = log.all('Terminated')
      expect(others).toEqual([])
      expect(log.kinds().at(-1)).toBe('Terminated')
      const said = typeof end?.reason === 'object' && 'Error' in end.reason ? end.reason.Error.message : end?.reason
      expect([end?.iterations, said]).toEqual([model.counted, expect.stringContaining(model.end)])
      expect(session.termination).toEqual(end?.reason)
    }),
    { numRuns: 250 },
  )
})

test('a crowd that is interrupted anywhere leaves a journal in order, with an intent for every effect [G20] [G25]', async () => {
  const crowd = fc.record({
    calls: fc.integer({ min: 1, max: 8 }),
    leaves: fc.integer({ min: -1, max: 7 }),
    after: fc.integer({ min: 0, max: 30 }),
    end: fc.constantFrom('cancel', 'close', 'expire', 'nothing'),
  })
  await fc.assert(
    fc.asyncProperty(crowd, async ({ calls, leaves, after, end }) => {
      let active = 0
      let intentsSeen = true
      const { world, log, start } = sessionBench({
        limits: { timeout: ms(1000) },
        tools: [
          toolOf('look', async () => {
            active += 1
            intentsSeen &&= active === 1 && log.kinds().at(-1) === 'ToolDispatchStarted'
            await world.clock.yield()
            active -= 1
            return 'seen'
          }),
        ],
      })
      const session = await start()
      const callers = Array.from({ length: calls }, () => new AbortController())
      const made = callers.map(({ signal }, nth) => session.call(callOf(`c${nth}`), signal))
      const settled = Promise.allSettled(made)
      for (let turn = 0; turn < after; turn += 1) await (turn % 3 === 0 ? world.clock.yield() : Promise.resolve())
      callers[leaves]?.abort(new Error('left'))
      if (end === 'cancel') session.cancel()
      if (end === 'expire') await world.advance(1000)
      const closed = end === 'close' ? await outcomeOf(session) : null
      const answers = await settled
      const outcome = closed ?? (await outcomeOf(session))
      expect(intentsSeen).toBe(true)
      const kinds = log.kinds()
      expect(kinds.filter((kind) => kind === 'Terminated')).toHaveLength(1)
      expect(kinds.at(-1)).toBe('Terminated')
      const answered = answers.filter(({ status }) => status === 'fulfilled')
      expect(log.all('ToolBatchCompleted').length).toBeGreaterThanOrEqual(answered.length)
      const [started, finished] = [log.all('ToolDispatchStarted'), log.all('ToolDispatchFinished')]
      const unfinished = started.filter(({ dispatch_id }) => !finished.some((one) => one.dispatch_id === dispatch_id))
      expect(unfinished.length).toBeLessThanOrEqual(1)
      if (outcome === 'Completed') expect(unfinished).toEqual([])
      expect(log.all('Terminated')[0]?.reason === 'Completed').toBe(outcome === 'Completed')
    }),
    { numRuns: 150 },
  )
})

async function outcomeOf(session: GovernedToolSession): Promise<'Completed' | 'failed'> {
  return await session.close().then(
    () => 'Completed',
    () => 'failed',
  )
}
