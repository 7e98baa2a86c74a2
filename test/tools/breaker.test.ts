import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Admittance,
  BREAKER_LIMITS,
  type BreakerEvent,
  type BreakerState,
  CLOSED,
  next,
  openBreakers,
  waitOf,
} from '../../src/tools/breaker.ts'
import { handClock } from './support.ts'

const limits = BREAKER_LIMITS
const open = (failures: number, sinceMs: number): BreakerState => ({ kind: 'Open', failures, sinceMs })
const halfOpen = (trials: readonly number[]): BreakerState => ({ kind: 'HalfOpen', failures: 5, trials })
const closed = (failures: number): BreakerState => ({ kind: 'Closed', failures })
const admitted = (nowMs: number, permit = 9): BreakerEvent => ({ kind: 'Admitted', permit, nowMs })
const failed = (nowMs: number, permit = 9): BreakerEvent => ({ kind: 'Failed', permit, nowMs })
const succeeded: BreakerEvent = { kind: 'Succeeded', permit: 9 }
const abandoned = (permit: number): BreakerEvent => ({ kind: 'Abandoned', permit })

test('the limits are 5 failures, 30 s and 2 trial calls when none are given', () => {
  expect(BREAKER_LIMITS).toEqual({ failureThreshold: 5, recoveryMs: 30_000, trialsMax: 2 })
})

describe('every transition of a breaker', () => {
  const rows: readonly [string, BreakerState, BreakerEvent, BreakerState][] = [
    ['closed, admitted: stays as it is', closed(3), admitted(0), closed(3)],
    ['closed, success: the failures are forgotten', closed(4), succeeded, closed(0)],
    ['closed, a failure below the threshold: counted', closed(3), failed(7), closed(4)],
    ['closed, the failure that reaches the threshold: opens', closed(4), failed(7), open(5, 7)],
    ['closed, abandoned: stays as it is', closed(3), abandoned(9), closed(3)],
    ['open, admitted when the time is over: the first trial', open(5, 0), admitted(30_000), halfOpen([9])],
    ['open, a late failure: counted, and the time runs on', open(5, 7), failed(99), open(6, 7)],
    ['open, a late success: closes', open(6, 7), succeeded, closed(0)],
    ['open, abandoned: stays as it is', open(5, 7), abandoned(9), open(5, 7)],
    ['half open, admitted: the second trial', halfOpen([1]), admitted(0), halfOpen([1, 9])],
    ['half open, success: closes and forgets', halfOpen([1, 9]), succeeded, closed(0)],
    ['half open, failure: opens again and the time restarts', halfOpen([9]), failed(77), open(6, 77)],
    ['half open, abandoned: its trial is free again', halfOpen([1, 9]), abandoned(9), halfOpen([1])],
    ['half open, abandoned by a call that was no trial: nothing changes', halfOpen([1]), abandoned(3), halfOpen([1])],
  ]
  test.each(rows)('%s', (_name, before, event, after) => {
    expect(next(before, event, limits)).toEqual(after)
  })

  test.each([
    ['open before the time is over', open(5, 0), 29_999],
    ['half open with both trials taken', halfOpen([1, 2]), 0],
  ])('%s admits nothing: to admit all the same is a broken promise', (_name, state, nowMs) => {
    expect(() => next(state, admitted(nowMs), limits)).toThrow('admits nothing')
  })
})

test('waitOf() counts down while open, reaches its end exactly at the recovery time, and is zero while trials run', () => {
  expect(waitOf(closed(4), 0, limits)).toBeNull()
  expect(waitOf(open(5, 100), 100, limits)).toBe(30_000)
  expect(waitOf(open(5, 100), 30_099, limits)).toBe(1)
  expect(waitOf(open(5, 100), 30_100, limits)).toBeNull() // passed means now >= deadline
  expect(waitOf(halfOpen([1]), 0, limits)).toBeNull()
  expect(waitOf(halfOpen([1, 2]), 0, limits)).toBe(0)
})

function permit(admittance: Admittance): Extract<Admittance, { kind: 'Admitted' }> {
  if (admittance.kind !== 'Admitted') throw new Error('the breaker refused')
  return admittance
}

function failTimes(breakers: ReturnType<typeof openBreakers>, count: number): void {
  for (let index = 0; index < count; index += 1) permit(breakers.ask('read')).settle('Failed')
}

describe('the registry', () => {
  test('a refusal reports the tool, the failures in a row and the remaining wait', () => {
    const time = handClock()
    const breakers = openBreakers(time.world.clock)
    failTimes(breakers, 5)
    time.pass(10_000)
    expect(breakers.ask('read')).toEqual({ kind: 'Refused', tool: 'read', failures: 5, waitMs: 20_000 })
  })

  test('four failures and a success leave a breaker closed however often they repeat', () => {
    const breakers = openBreakers(handClock().world.clock)
    for (let round = 0; round < 3; round += 1) {
      failTimes(breakers, 4)
      permit(breakers.ask('read')).settle('Succeeded')
    }
    expect(breakers.stateOf('read')).toEqual(CLOSED)
  })

  test('after the recovery time two calls are tried, and a third concurrent one is refused with zero wait', () => {
    const time = handClock()
    const breakers = openBreakers(time.world.clock)
    failTimes(breakers, 5)
    time.pass(30_000)
    const first = permit(breakers.ask('read'))
    permit(breakers.ask('read'))
    expect(breakers.ask('read')).toEqual({ kind: 'Refused', tool: 'read', failures: 5, waitMs: 0 })
    first.settle('Succeeded')
    expect(breakers.ask('read').kind).toBe('Admitted')
  })

  test('a failed trial opens the breaker for the whole recovery time again', () => {
    const time = handClock()
    const breakers = openBreakers(time.world.clock)
    failTimes(breakers, 5)
    time.pass(30_000)
    permit(breakers.ask('read')).settle('Failed')
    expect(breakers.ask('read')).toMatchObject({ kind: 'Refused', failures: 6, waitMs: 30_000 })
  })

  test('abandoned trials do not keep the breaker half open for ever', () => {
    const time = handClock()
    const breakers = openBreakers(time.world.clock)
    failTimes(breakers, 5)
    time.pass(30_000)
    permit(breakers.ask('read')).settle('Abandoned')
    permit(breakers.ask('read')).settle('Abandoned')
    permit(breakers.ask('read')).settle('Succeeded')
    expect(breakers.stateOf('read')).toEqual(CLOSED)
  })

  test('each tool name has a breaker of its own', () => {
    const breakers = openBreakers(handClock().world.clock)
    failTimes(breakers, 5)
    expect(breakers.ask('read').kind).toBe('Refused')
    expect(breakers.ask('write').kind).toBe('Admitted')
  })

  test('a permit is settled once', () => {
    const one = permit(openBreakers(handClock().world.clock).ask('read'))
    one.settle('Succeeded')
    expect(() => one.settle('Failed')).toThrow('settled once')
  })

  test.each([
    { ...limits, failureThreshold: 0 },
    { ...limits, failureThreshold: Number.NaN },
    { ...limits, trialsMax: 1.5 },
    { ...limits, recoveryMs: Number.POSITIVE_INFINITY },
    { ...limits, recoveryMs: -1 },
  ])('limits that would switch a breaker off are refused: %j', (bad) => {
    expect(() => openBreakers(handClock().world.clock, bad)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    )
  })
})

test('no sequence of calls runs more trials at once than allowed, or admits anything before the recovery time', () => {
  type Step = { readonly settle: 'Succeeded' | 'Failed' | 'Abandoned' | null; readonly pass: number }
  const step: fc.Arbitrary<Step> = fc.record({
    settle: fc.constantFrom('Succeeded', 'Failed', 'Failed', 'Failed', 'Abandoned', null, null, null, null, null),
    pass: fc.constantFrom(0, 0, 1, 50, 100),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const time = handClock()
      const breakers = openBreakers(time.world.clock, { failureThreshold: 2, recoveryMs: 100, trialsMax: 2 })
      let openedAt: number | null = null
      let now = 0
      const running: Extract<Admittance, { kind: 'Admitted' }>[] = []
      for (const { settle, pass } of steps) {
        time.pass(pass)
        now += pass
        const before = breakers.stateOf('read').kind
        if (settle === null) {
          const answer = breakers.ask('read')
          if (before === 'Open') expect(answer.kind).toBe(now - (openedAt ?? now) >= 100 ? 'Admitted' : 'Refused')
          if (answer.kind === 'Admitted') running.push(answer)
        } else running.shift()?.settle(settle)
        const state = breakers.stateOf('read')
        if (state.kind === 'HalfOpen') expect(state.trials.length).toBeLessThanOrEqual(2)
        if (state.kind === 'Open' && before !== 'Open') openedAt = now
      }
    }),
  )
})
