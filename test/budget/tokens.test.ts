import { expect, test } from 'vitest'
import { inputTokensOf, openBudget } from '../../src/budget/index.ts'
import { random } from '../support/budget.ts'

test('inputTokensOf() takes the exact count of a provider, and 0 is 0', () => {
  expect(inputTokensOf(123, 9_999)).toBe(123)
  expect(inputTokensOf(0, 9_999)).toBe(0)
})

test('inputTokensOf() counts a token for each byte and 1024 more where there is no exact count', () => {
  expect(inputTokensOf(null, 0)).toBe(1024)
  expect(inputTokensOf(null, 4_194_304)).toBe(4_195_328)
})

test('inputTokensOf() saturates at u32 instead of wrapping round', () => {
  expect(inputTokensOf(null, 0xffffffff)).toBe(0xffffffff)
  expect(inputTokensOf(null, Number.MAX_SAFE_INTEGER)).toBe(0xffffffff)
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 1.5, 2 ** 32])(
  'a token number of %s is refused everywhere: as limit, as input and as output [trap:budget-zero]',
  (value) => {
    expect(() => openBudget(value, { random })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    expect(() => inputTokensOf(value, 1)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    expect(() => openBudget(10, { random }).child(value)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  },
)

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5])('a request of %s bytes cannot be counted', (bytes) => {
  expect(() => inputTokensOf(null, bytes)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
})
