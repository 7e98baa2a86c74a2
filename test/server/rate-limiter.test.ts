import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RATE_LIMIT } from '../../src/server/index.ts'
import { RateLimiter } from '../../src/server/rate-limiter.ts'
import { testWorld } from '../support/test-world.ts'

/** A clock that stands still until the test moves it. */
function still() {
  let now = 0
  const advance = (ms: number): void => {
    now += ms
  }
  return { clock: { ...testWorld().clock, monotonicMs: () => now }, advance }
}

test('the default is 100 a minute, 100 at once, for 100,000 clients', () => {
  expect(RATE_LIMIT).toEqual({ perMinute: 100, burst: 100, clientsMax: 100_000 })
})

test('a refusal costs nothing, so a client that keeps asking is served again as soon as it would have been', () => {
  const { clock, advance } = still()
  const limiter = new RateLimiter({ perMinute: 60, burst: 1, clientsMax: 10 }, clock)
  expect(limiter.take('a')).toBe(0)
  for (let count = 0; count < 10; count += 1) {
    advance(90)
    expect(limiter.take('a')).toBe(1)
  }
  advance(100)
  expect(limiter.take('a')).toBe(0)
})

test('in any order of clients and pauses, nobody gets more than burst plus rate, however small the table', () => {
  const steps = fc.array(fc.record({ client: fc.constantFrom('a', 'b', 'c', 'd'), pauseMs: fc.nat(3_000) }), {
    maxLength: 200,
  })
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 4 }), (list, clientsMax) => {
      const { clock, advance } = still()
      const limiter = new RateLimiter({ perMinute: 60, burst: 3, clientsMax }, clock)
      const served = new Map<string, number[]>()
      for (const { client, pauseMs } of list) {
        advance(pauseMs)
        if (limiter.take(client) > 0) continue
        const times = served.get(client) ?? []
        served.set(client, [...times, clock.monotonicMs()])
      }
      for (const times of served.values()) {
        for (let first = 0; first < times.length; first += 1) {
          for (let last = first; last < times.length; last += 1) {
            const allowed = 3 + ((times[last] ?? 0) - (times[first] ?? 0)) / 1000
            expect(last - first + 1).toBeLessThanOrEqual(allowed + 1e-6)
          }
        }
      }
    }),
  )
})

test('a full table refuses unknown clients, serves known ones, and makes room when a bucket is full again [trap:rate-limit-table]', () => {
  const { clock, advance } = still()
  const limiter = new RateLimiter({ perMinute: 60, burst: 2, clientsMax: 2 }, clock)
  expect([limiter.take('a'), limiter.take('b')]).toEqual([0, 0])
  expect(limiter.take('c')).toBeGreaterThan(0)
  expect(limiter.take('a')).toBe(0)
  advance(1_000)
  expect(limiter.take('c')).toBe(0)
  expect(limiter.take('b')).toBeGreaterThan(0)
})

test.each([{ perMinute: 0 }, { perMinute: Number.NaN }, { burst: 0 }, { clientsMax: 0 }])(
  'the limit %j is refused',
  (wrong) => {
    const make = () => new RateLimiter({ ...RATE_LIMIT, ...wrong }, still().clock)
    expect(make).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  },
)
