import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fits } from '../../src/core/index.ts'
import {
  actionShape,
  addUsage,
  DEFAULT_LOOP_CONFIG,
  isUnconfirmed,
  NO_USAGE,
  type Observation,
  terminationShape,
  type Usage,
  usageShape,
} from '../../src/events/index.ts'

const U32_MAX = 0xffffffff
const tokens = fc.oneof(fc.nat(), fc.integer({ min: U32_MAX - 5, max: U32_MAX }))
const usages: fc.Arbitrary<Usage> = fc.record({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
})

test('addUsage() adds each count, and stays at 4294967295 instead of going beyond', () => {
  const usage = (count: number) => ({ prompt_tokens: count, completion_tokens: count, total_tokens: count })
  expect(addUsage(usage(2), usage(3))).toEqual(usage(5))
  expect(addUsage(usage(U32_MAX), usage(1))).toEqual(usage(U32_MAX))
  fc.assert(
    fc.property(usages, usages, (left, right) => {
      const sum = addUsage(left, right)
      expect(fits(usageShape, sum)).toBe(true)
      expect(addUsage(right, left)).toEqual(sum)
      expect(addUsage(left, NO_USAGE)).toEqual(left)
    }),
  )
})

test('an observation is unconfirmed exactly when its effect outcome is unknown', () => {
  const observation = (metadata: Record<string, string>, is_error = false): Observation => ({
    source: 's',
    content: 'c',
    is_error,
    metadata,
  })
  expect(isUnconfirmed(observation({ effect_outcome: 'unknown' }))).toBe(true)
  expect(isUnconfirmed(observation({ effect_outcome: 'result_recorded' }, true))).toBe(false)
  expect(isUnconfirmed(observation({}, true))).toBe(false)
  expect(isUnconfirmed({ source: 's', content: 'c', is_error: true })).toBe(false)
})

test('the default configuration is the one of the specification, and cannot be changed', () => {
  expect(DEFAULT_LOOP_CONFIG).toEqual({
    max_iterations: 25,
    max_total_tokens: 100000,
    timeout: { secs: 300, nanos: 0 },
    tool_timeout: { secs: 30, nanos: 0 },
    default_recovery: { Retry: { max_attempts: 2, base_delay: { secs: 0, nanos: 500000000 } } },
    max_concurrent_tools: 5,
    context_token_budget: 32000,
    temperature: 0.3,
    max_output_tokens: 16384,
    max_delegation_depth: 3,
    delegation_depth: 0,
    delegation_chain: [],
  })
  expect(() => Object.assign(DEFAULT_LOOP_CONFIG, { max_iterations: 1 })).toThrow(TypeError)
  expect(() => Object.assign(DEFAULT_LOOP_CONFIG.timeout, { secs: 1 })).toThrow(TypeError)
})

test.each([
  [terminationShape, 'Completed', true],
  [terminationShape, { Completed: {} }, false],
  [terminationShape, { Error: { message: 'm' } }, true],
  [terminationShape, 'Error', false],
  [actionShape, { ToolCall: { call_id: 'c', name: 'n', arguments: '{}' } }, true],
  [actionShape, { ToolCall: { call_id: 'c', name: 'n', arguments: {} } }, false],
  [actionShape, { ToolCall: { call_id: 'c', name: 'n', arguments: '{}', approved: true } }, true],
  [actionShape, { Delegate: { call_id: 'c', target: 't', message: 'm' } }, true],
  [actionShape, { Terminate: { reason: 'r', output: 'o' } }, true],
  [actionShape, 'Respond', false],
])('a tagged union as on disk, unknown members ignored (%#)', (shape, value, good) => {
  expect(fits<unknown>(shape, value)).toBe(good)
})
