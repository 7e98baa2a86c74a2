import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fitContext, tokensOf } from '../../src/loop/index.ts'
import type { Message } from '../../src/providers/index.ts'

const system: Message = { role: 'system', content: 's' }
const user = (content: string): Message => ({ role: 'user', content })
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: '',
  tool_calls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
})
const result = (id: string, content = 'r'): Message => ({ role: 'tool', content, tool_call_id: id, tool_name: 'look' })

describe('the estimate of tokens', () => {
  test('counts bytes of content, calls and correlation ids', () => {
    expect(tokensOf([user('')])).toBe(8)
    expect(tokensOf([user('é'.repeat(33))])).toBe(20 + 7)
    expect(tokensOf([calls('a')])).toBe(Math.floor(((4 + 2 + 1 + 30) * 10) / 33) + 7)
    expect(tokensOf([result('a', '')])).toBe(Math.floor(((1 + 20) * 10) / 33) + 7)
  })
})

describe('the sliding window', () => {
  test('changes nothing while the conversation fits', () => {
    const messages = [system, user('hello')]
    expect(fitContext(messages, 1000)).toBe(messages)
  })

  test('keeps the system message and the newest whole groups', () => {
    const messages = [system, user('old'.repeat(500)), calls('a', 'b'), result('a'), result('b'), user('new')]
    expect(fitContext(messages, 120)).toEqual([system, calls('a', 'b'), result('a'), result('b'), user('new')])
  })

  test('keeps the newest group even when it alone is too long', () => {
    const huge = [calls('a'), result('a', 'x'.repeat(10_000))]
    expect(fitContext([system, user('q'), ...huge], 100)).toEqual([system, ...huge])
  })

  test('without a system message keeps only the newest groups', () => {
    expect(fitContext([user('old'.repeat(500)), user('new')], 60)).toEqual([user('new')])
  })

  test('drops results whose call is gone: a conversation of nothing else becomes empty', () => {
    const orphans = [result('a', 'x'.repeat(1000)), result('b', 'x'.repeat(1000))]
    expect(fitContext(orphans, 60)).toEqual([])
    expect(fitContext([...orphans, user('new')], 60)).toEqual([user('new')])
  })

  test('never splits a call from its results and never begins with a result', () => {
    const message = fc.oneof(
      fc.string({ maxLength: 80 }).map(user),
      fc
        .uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })
        .map((ids) => [calls(...ids), ...ids.map((id) => result(id))]),
    )
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 10, max: 400 }),
        (groups, budget) => {
          const kept = fitContext([system, ...groups.flat()], budget)
          const answered = new Set(kept.flatMap(({ tool_calls }) => tool_calls?.map(({ id }) => id) ?? []))
          for (const { role, tool_call_id } of kept)
            if (role === 'tool') expect(answered.has(tool_call_id ?? '')).toBe(true)
          expect(kept[0]).toEqual(system)
          expect(kept.find(({ role }) => role !== 'system')?.role).not.toBe('tool')
        },
      ),
    )
  })
})

test('observation masking shortens only results older than the newest six messages', () => {
  const old = [calls('a'), result('a', 'x'.repeat(3000))]
  const recent = Array.from({ length: 6 }, (_, index) => user(`m${index}`))
  const kept = fitContext([system, ...old, ...recent], 300, { kind: 'observation-masking' })
  expect(kept).toHaveLength(9)
  expect(kept[2]?.content).not.toContain('xxx')
})

test('observation masking that is not enough falls back to the sliding window', () => {
  const old = [calls('a'), result('a', 'x'.repeat(3000))]
  const recent = Array.from({ length: 6 }, (_, index) => user(`m${index} ${'y'.repeat(300)}`))
  const kept = fitContext([system, ...old, ...recent], 300, { kind: 'observation-masking' })
  expect(kept).toEqual([system, ...recent.slice(-2)])
})

test('observation masking leaves the result that a short conversation is about', () => {
  const messages = [calls('a'), result('a', 'x'.repeat(3000))]
  expect(fitContext(messages, 100, { kind: 'observation-masking' })).toEqual(messages)
})

test('an anchored summary of a conversation that nobody began keeps the newest, and says what it left out', () => {
  const middle = Array.from(
    { length: 20 },
    (_, index): Message => ({ role: 'assistant', content: 'x'.repeat(200 + index) }),
  )
  const kept = fitContext(middle, 400, { kind: 'anchored-summary', newest: 3 })
  expect(kept.map(({ role, content }) => [role, content.length])).toEqual([
    ['user', '[17 earlier messages of this conversation were omitted]'.length],
    ['assistant', 217],
    ['assistant', 218],
    ['assistant', 219],
  ])
})

test('an anchored summary that would leave nothing out changes nothing, and the window does what it can', () => {
  const messages = [system, user('first'), calls('a'), result('a', 'x'.repeat(3000))]
  expect(fitContext(messages, 100, { kind: 'anchored-summary', newest: 10 })).toEqual([system, ...messages.slice(2)])
})

test('an anchored summary keeps the first question, counts what it left out, and keeps the newest', () => {
  const middle = Array.from({ length: 20 }, (_, index) => user(`${index} ${'x'.repeat(200)}`))
  const kept = fitContext([system, user('first'), ...middle], 400, { kind: 'anchored-summary', newest: 3 })
  expect(kept.map(({ content }) => content.slice(0, 12))).toEqual([
    's',
    'first',
    '[17 earlier ',
    '17 xxxxxxxxx',
    '18 xxxxxxxxx',
    '19 xxxxxxxxx',
  ])
})
