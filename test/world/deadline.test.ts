import { describe, expect, test } from 'vitest'
import { testWorld } from '../../src/testing/index.ts'
import { type Clock, neverStopped, raceDeadline } from '../../src/world/index.ts'

/** A clock that stands still, and counts the timers that wait. */
function watchedClock() {
  const world = testWorld()
  let armed = 0
  const timer: Clock['timer'] = (ms, callback, keepAlive) => {
    armed += 1
    const cancel = world.clock.timer(ms, callback, keepAlive)
    return () => {
      armed -= 1
      cancel()
    }
  }
  const clock: Clock = { ...world.clock, timer }
  const race = (deadlineMs: number, name = 'late') => ({ clock, deadlineMs, late: () => new Error(name) })
  const settle = () => world.clock.yield()
  return { clock, race, settle, advance: world.advance, armed: () => armed }
}

const never = new Promise<never>(() => undefined)
const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (value) => ({ value }),
    (error: Error) => error.message,
  )

describe('a race against a deadline', () => {
  test('arms nothing for work that ends within a few microtasks, and one timer for other work', async () => {
    const { race, settle, advance, armed } = watchedClock()
    expect(await raceDeadline(race(10), neverStopped(), async () => 'done')).toBe('done')
    expect(armed()).toBe(0)
    const waiting = reasonOf(raceDeadline(race(10), neverStopped(), () => never))
    await settle()
    expect(armed()).toBe(1)
    await advance(10)
    expect(await waiting).toBe('late')
    expect(armed()).toBe(0)
  })

  test('is lost when its end comes before anything was armed', async () => {
    const { race, advance } = watchedClock()
    const waiting = reasonOf(raceDeadline(race(10), neverStopped(), () => never))
    await advance(10) // in the same breath
    expect(await waiting).toBe('late')
    expect(await reasonOf(raceDeadline(race(10), neverStopped(), async () => 'done'))).toBe('late')
  })

  test('gives its work a signal of its own, which is aborted when the race is lost and not when it is won', async () => {
    const { race, settle, advance } = watchedClock()
    const given: AbortSignal[] = []
    await raceDeadline(race(10), neverStopped(), async (signal) => void given.push(signal))
    const waiting = reasonOf(
      raceDeadline(race(10), neverStopped(), (signal) => {
        given.push(signal)
        return never
      }),
    )
    await settle()
    await advance(10)
    await waiting
    expect(given.map(({ aborted }) => aborted)).toEqual([false, true])
  })

  test.each([0, 1, 5, 100])(
    'is lost by a cancellation after %d microtasks, whatever the work comes to',
    async (turns) => {
      const { race } = watchedClock()
      const cancel = new AbortController()
      let seen: AbortSignal | null = null
      const waiting = reasonOf(
        raceDeadline(race(10), cancel.signal, async (signal) => {
          seen = signal
          for (let turn = 0; turn < turns; turn += 1) await null
          cancel.abort(new Error('cancelled'))
          return 'done'
        }),
      )
      expect(await waiting).toBe('cancelled')
      expect((seen as AbortSignal | null)?.aborted).toBe(true)
    },
  )

  test('within another that ends no later arms no timer, and is lost with it', async () => {
    const { race, settle, advance, armed } = watchedClock()
    const inner: unknown[] = []
    const outer = reasonOf(
      raceDeadline(race(10, 'outer'), neverStopped(), async (signal) => {
        inner.push(await reasonOf(raceDeadline(race(10, 'inner'), signal, () => never)))
        return 'done'
      }),
    )
    await settle()
    expect(armed()).toBe(1)
    await advance(10)
    expect(await outer).toBe('outer')
    await settle()
    expect(inner).toEqual(['outer'])
  })

  test('within another that ends later keeps its own end', async () => {
    const { race, settle, advance } = watchedClock()
    const outer = reasonOf(
      raceDeadline(race(10, 'outer'), neverStopped(), (signal) =>
        reasonOf(raceDeadline(race(5, 'inner'), signal, () => never)),
      ),
    )
    await settle()
    await advance(5)
    expect(await outer).toEqual({ value: 'inner' })
  })

  test('behind another that is over keeps its own end', async () => {
    const { race, settle, advance, armed } = watchedClock()
    let kept: AbortSignal = neverStopped()
    await raceDeadline(race(10), neverStopped(), async (signal) => {
      kept = signal
    })
    const waiting = reasonOf(raceDeadline(race(20), kept, () => never))
    await settle()
    expect(armed()).toBe(1)
    await advance(20)
    expect(await waiting).toBe('late')
  })

  test('is lost with the reason of its own stop', async () => {
    const { race, settle, armed } = watchedClock()
    const stop = new AbortController()
    const waiting = reasonOf(raceDeadline({ ...race(10), stop }, neverStopped(), () => never))
    await settle()
    stop.abort(new Error('the journal failed'))
    expect(await waiting).toBe('the journal failed')
    expect(armed()).toBe(0)
  })

  test('long work hears of a cancellation in the moment in which it is given', async () => {
    const { race, armed } = watchedClock()
    const cancel = new AbortController()
    let heard = false
    const waiting = reasonOf(
      raceDeadline({ ...race(10), long: true }, cancel.signal, (signal) => {
        signal.addEventListener('abort', () => {
          heard = true
        })
        return never
      }),
    )
    expect(armed()).toBe(1)
    cancel.abort(new Error('cancelled'))
    expect(heard).toBe(true)
    expect(await waiting).toBe('cancelled')
  })
})
