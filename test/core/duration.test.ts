import fc from 'fast-check'
import { expect, test } from 'vitest'
import { durationOf, fits, millisecondsOf, shapes } from '../../src/core/index.ts'

test.each([
  [0, { secs: 0, nanos: 0 }],
  [-5, { secs: 0, nanos: 0 }],
  [1, { secs: 0, nanos: 1_000_000 }],
  [1500, { secs: 1, nanos: 500_000_000 }],
  [0.25, { secs: 0, nanos: 250_000 }],
  [999.9999999, { secs: 0, nanos: 999_999_999 }],
  [300_000, { secs: 300, nanos: 0 }],
])('durationOf(%d ms)', (ms, duration) => {
  expect(durationOf(ms)).toEqual(duration)
})

test('a duration has the shape that goes to disk, and comes back within a nanosecond', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (ms) => {
      const duration = durationOf(ms)
      expect(fits(shapes.duration, duration)).toBe(true)
      expect(Math.abs(millisecondsOf(duration) - ms)).toBeLessThan(0.001)
    }),
  )
})
