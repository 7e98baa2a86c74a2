import { expect, test } from 'vitest'
import { chargeOf, outcomeOf } from '../../src/budget/index.ts'
import { recordableUsage } from '../../src/budget/settlement.ts'
import { NO_USAGE } from '../../src/events/index.ts'
import { usage } from '../support/budget.ts'

const reserved = { input_tokens: 100, output_tokens: 50 }

test.each([
  ['nothing reported', usage(0, 0), 'unknown'],
  ['less than was reserved', usage(80, 20), 'confirmed'],
  ['exactly what was reserved', usage(100, 50), 'confirmed'],
  ['a total above its parts, within the amount', usage(80, 20, 150), 'confirmed'],
  ['more input than reserved, made up for by less output', usage(120, 30), 'confirmed'],
  ['one token more than the amount', usage(101, 50), 'exceeded'],
  ['a total above the amount', usage(1, 1, 151), 'exceeded'],
  ['a total below its parts', usage(80, 20, 99), 'exceeded'],
  ['more output than reserved', usage(10, 51), 'exceeded'],
  ['parts without a total', usage(1, 0, 0), 'exceeded'],
  ['a total without parts', usage(0, 0, 1), 'confirmed'],
  ['parts whose sum is beyond u32', usage(0xffffffff, 0xffffffff, 0xffffffff), 'exceeded'],
] as const)('a usage that reports %s is judged by the table', (_, reported, outcome) => {
  expect(outcomeOf(reserved, reported)).toBe(outcome)
})

test('a charge takes the larger of the total and its parts, and saturates', () => {
  expect(chargeOf(usage(80, 20, 99)).total_tokens).toBe(100)
  expect(chargeOf(usage(80, 20, 150)).total_tokens).toBe(150)
  expect(chargeOf(usage(0xffffffff, 1, 5)).total_tokens).toBe(0xffffffff)
})

test.each([
  [{ prompt_tokens: Number.NaN, completion_tokens: 1, total_tokens: 1 }],
  [{ prompt_tokens: -5, completion_tokens: 1, total_tokens: 1 }],
  [{ prompt_tokens: 1.5, completion_tokens: 1, total_tokens: 3 }],
  [{ prompt_tokens: '5' as never, completion_tokens: 1, total_tokens: 6 }],
])('a report that holds anything but counts reports nothing: %j', (reported) => {
  expect(recordableUsage(reported)).toEqual(NO_USAGE)
})

test('a report beyond u32 is recorded saturated, without members that the journal does not know', () => {
  const reported = { prompt_tokens: 1e12, completion_tokens: 2, total_tokens: 1e12 + 2, cached: 7 }
  expect(recordableUsage(reported)).toEqual(usage(0xffffffff, 2, 0xffffffff))
})
