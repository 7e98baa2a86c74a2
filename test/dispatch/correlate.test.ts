import { describe, expect, test } from 'vitest'
import { correlate, unknownResult } from '../../src/dispatch/correlate.ts'
import type { Observation } from '../../src/events/index.ts'

const A = { callId: 'a', source: 'look' }
const B = { callId: 'b', source: 'touch' }
const result = (call_id: string): Observation => ({
  source: 'x',
  content: call_id,
  is_error: false,
  call_id,
  metadata: {},
})

describe('correlation', () => {
  test('gives each call its own result, unchanged and in the order of the calls', () => {
    const [one, other] = [result('a'), result('b')]
    const found = correlate([A, B], [other, one])
    expect(found[0]).toBe(one)
    expect(found[1]).toBe(other)
  })

  test('says of a call without a result which call it was, and that nobody knows what it did', () => {
    expect(correlate([A], [])).toEqual([
      {
        source: 'look',
        content: 'The executor gave no result for this call; whether the call took effect is unconfirmed',
        is_error: true,
        call_id: 'a',
        metadata: {},
      },
    ])
  })

  test.each<[string, readonly Observation[]]>([
    ['a result of no call', [result('a'), { source: 'look', content: '', is_error: false, metadata: {} }]],
    ['a result of another call', [result('a'), result('b'), result('c')]],
    ['two results of one call', [result('a'), result('b'), result('a')]],
  ])('believes no result of a batch that holds %s', (_, results) => {
    const found = correlate([A, B], results)
    expect(found.map(({ call_id, source, is_error }) => [call_id, source, is_error])).toEqual([
      ['a', 'look', true],
      ['b', 'touch', true],
    ])
    for (const { content } of found) expect(content).toMatch(/^The executor answered with a result .* unconfirmed$/)
  })
})

test('an unknown result carries the kind of its error where there is one', () => {
  expect(unknownResult(A, 'it was late', 'timeout')).toMatchObject({
    content: 'It was late; whether the call took effect is unconfirmed',
    metadata: { error_type: 'timeout' },
  })
})
