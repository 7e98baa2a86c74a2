import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { instantOf, isTimestamp, type Timestamp, timestampOf } from '../../src/core/index.ts'

const instant = (text: string): bigint => {
  expect(isTimestamp(text)).toBe(true)
  return instantOf(text as Timestamp)
}

test.each([
  '2026-03-04T10:11:12.131415Z',
  '2026-03-04T10:11:12Z',
  '2026-03-04T10:11:12.1Z',
  '2026-03-04T10:11:12.123456789Z',
  '2026-03-04T10:11:12+00:00',
  '2026-03-04T10:11:12.5+00:00',
  '2024-02-29T00:00:00Z',
  '2000-02-29T00:00:00Z',
  '2016-12-31T23:59:60Z',
])('isTimestamp() accepts %s', (text) => {
  expect(isTimestamp(text)).toBe(true)
})

test.each([
  '2026-03-04',
  '2026-03-04T10:11:12',
  '2026-03-04 10:11:12Z',
  '2026-03-04T10:11:12z',
  '2026-03-04t10:11:12Z',
  '2026-03-04T10:11:12-00:00',
  '2026-03-04T10:11:12+01:00',
  '2026-03-04T10:11:12.Z',
  '2026-03-04T10:11:12.1234567890Z',
  '2026-03-04T24:00:00Z',
  '2026-03-04T10:60:00Z',
  '2026-03-04T10:11:61Z',
  '2026-13-04T10:11:12Z',
  '2026-00-04T10:11:12Z',
  '2026-03-00T10:11:12Z',
  '2026-03-32T10:11:12Z',
  '2026-02-29T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '1900-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '02026-03-04T10:11:12Z',
  ' 2026-03-04T10:11:12Z',
  '2026-03-04T10:11:12Z\n',
  '',
  1_772_619_072,
  null,
])('isTimestamp() refuses %j', (text) => {
  expect(isTimestamp(text)).toBe(false)
})

describe('instantOf()', () => {
  test('counts every digit', () => {
    expect(instant('1970-01-01T00:00:00.000000001Z')).toBe(1n)
    expect(instant('1970-01-01T00:00:01.5Z')).toBe(1_500_000_000n)
    expect(instant('2026-03-04T10:11:12.1Z')).toBe(instant('2026-03-04T10:11:12.100000+00:00'))
    expect(instant('2026-03-04T10:11:12.000000001Z') > instant('2026-03-04T10:11:12Z')).toBe(true)
  })

  test('orders where the texts would not', () => {
    expect(instant('2026-03-04T10:11:12.5Z') > instant('2026-03-04T10:11:12Z')).toBe(true)
    expect('2026-03-04T10:11:12.5Z' > '2026-03-04T10:11:12Z').toBe(false)
  })

  test('puts a leap second behind the second before it', () => {
    expect(instant('2016-12-31T23:59:60Z')).toBe(instant('2017-01-01T00:00:00Z'))
    expect(instant('2016-12-31T23:59:60.25Z') > instant('2016-12-31T23:59:59.999999999Z')).toBe(true)
  })

  test('goes back before the epoch', () => {
    expect(instant('1969-12-31T23:59:59.999999999Z')).toBe(-1n)
  })
})

test('timestampOf() writes six digits, and instantOf() reads them back', () => {
  expect(timestampOf(0)).toBe('1970-01-01T00:00:00.000000Z')
  expect(timestampOf(1_772_619_072_131_415)).toBe('2026-03-04T10:11:12.131415Z')
  expect(timestampOf(1_000_001.9)).toBe('1970-01-01T00:00:01.000001Z')
  const range = fc.integer({ min: -2_000_000_000_000_000, max: 9_000_000_000_000_000 })
  fc.assert(
    fc.property(range, (micros) => {
      expect(instant(timestampOf(micros))).toBe(BigInt(micros) * 1000n)
    }),
  )
})
