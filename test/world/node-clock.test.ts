import { afterEach, describe, expect, test, vi } from 'vitest'
import { Bug, instantOf, isTimestamp } from '../../src/core/index.ts'
import { nodeClock } from '../../src/world/node-clock.ts'

afterEach(() => {
  vi.useRealTimers()
})

const never = new AbortController().signal
const LONGEST = 2 ** 31 - 1

/** Time that moves only when the test says so. */
function stillClock() {
  vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'], now: Date.UTC(2026, 2, 4) })
  return nodeClock()
}

describe('wall()', () => {
  test('gives a new and later time at every call', () => {
    const { wall } = nodeClock()
    const times = Array.from({ length: 20_000 }, wall)
    expect(times.every(isTimestamp)).toBe(true)
    const instants = times.map(instantOf)
    expect(instants.every((instant, index) => index === 0 || instant > instants[index - 1]!)).toBe(true)
  })

  test('tells the time of the wall', () => {
    const before = Date.now() - 101
    const now = Number(instantOf(nodeClock().wall()) / 1_000_000n)
    expect(now).toBeGreaterThanOrEqual(before)
    expect(now).toBeLessThanOrEqual(Date.now() + 101)
  })

  test('never goes back when somebody sets the clock back', () => {
    const { wall } = stillClock()
    const first = instantOf(wall())
    vi.setSystemTime(Date.UTC(2020, 0, 1))
    const second = instantOf(wall())
    expect([second > first, second - first < 1_000_000n]).toEqual([true, true])
  })

  test('follows when the clock was set forward, or the machine slept', () => {
    const { wall } = stillClock()
    wall()
    vi.setSystemTime(Date.UTC(2027, 0, 1))
    expect(wall()).toMatch(/^2027-01-01T00:00:00\.00/)
  })
})

describe('timer()', () => {
  test.each([LONGEST, LONGEST + 1, 5 * LONGEST])(
    'of %d ms fires at its end and not before [trap:timer-overflow]',
    (ms) => {
      const { timer, monotonicMs } = stillClock()
      const start = monotonicMs()
      const fired: number[] = []
      timer(ms, () => fired.push(monotonicMs() - start))
      vi.advanceTimersByTime(ms - 1)
      expect(fired).toEqual([])
      vi.advanceTimersByTime(1)
      expect(fired).toEqual([ms])
      vi.advanceTimersByTime(LONGEST)
      expect(fired).toHaveLength(1)
    },
  )

  test('longer than Node can count does not fire at once in real time [trap:timer-overflow]', async () => {
    const clock = nodeClock()
    let fired = false
    const cancel = clock.timer(LONGEST + 1, () => {
      fired = true
    })
    await clock.sleep(20, never) // Node would have fired it after one
    cancel()
    expect(fired).toBe(false)
  })

  test('can be cancelled, also in a later link of its chain', () => {
    const { timer } = stillClock()
    const fired = vi.fn()
    const cancel = timer(2 * LONGEST, fired)
    vi.advanceTimersByTime(LONGEST + 5)
    cancel()
    cancel()
    vi.advanceTimersByTime(2 * LONGEST)
    expect(fired).not.toHaveBeenCalled()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('has reached its end by the clock that deadlines are read from', async () => {
    const { timer, monotonicMs } = nodeClock()
    const late = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const end = monotonicMs() + index / 3
        return await new Promise<boolean>((resolve) => timer(index / 3, () => resolve(monotonicMs() >= end - 0.001)))
      }),
    )
    expect(late.every(Boolean)).toBe(true)
  })

  test.each([0, -5])('of %d ms fires soon, but not within the call', (ms) => {
    const { timer } = stillClock()
    const fired = vi.fn()
    timer(ms, fired)
    expect(fired).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(fired).toHaveBeenCalledOnce()
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('of %d ms is a Bug', (ms) => {
    expect(() => nodeClock().timer(ms, () => undefined)).toThrow(Bug)
  })
})

describe('sleep()', () => {
  test('rejects with the reason of its signal, and leaves no timer behind', async () => {
    const { sleep } = stillClock()
    const stop = new AbortController()
    const asleep = sleep(1000, stop.signal)
    stop.abort(new Error('enough'))
    await expect(asleep).rejects.toThrow('enough')
    expect(vi.getTimerCount()).toBe(0)
    await expect(sleep(1000, stop.signal)).rejects.toThrow('enough')
  })

  test('resolves at its end, and does not hear its signal afterwards', async () => {
    const { sleep } = stillClock()
    const stop = new AbortController()
    const remove = vi.spyOn(stop.signal, 'removeEventListener')
    const asleep = sleep(1000, stop.signal)
    vi.advanceTimersByTime(1000)
    await expect(asleep).resolves.toBeUndefined()
    expect(remove).toHaveBeenCalledOnce()
  })
})

test('yield() lets work that waits go first', async () => {
  const order: string[] = []
  setImmediate(() => order.push('other'))
  await nodeClock().yield()
  order.push('ours')
  expect(order).toEqual(['other', 'ours'])
})
