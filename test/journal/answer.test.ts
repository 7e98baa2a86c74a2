import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/core/index.ts'
import type { Event } from '../../src/events/index.ts'
import { answerIn } from '../../src/journal/index.ts'
import { approved, prefix, started, terminated } from '../support/history.ts'

const call = (action: object | null) => ({ action }) as never
const judged = (...actions: readonly (object | null)[]) => approved(1, ...actions.map(call))
const said = (content: string): JsonObject => ({ Respond: { content } })
const answerOf = (...events: Parameters<typeof prefix>[0]) =>
  answerIn(prefix([started, ...events, terminated()]).entries)

test('a run answered with the last reply that policy let out, be it an answer or the end of the work', () => {
  expect(answerOf(judged(said('one'), said('two')))).toBe('two')
  expect(answerOf(judged({ Terminate: { reason: 'done', output: 'all seen' } }))).toBe('all seen')
  expect(answerOf(judged(said('early')), judged(said('late')))).toBe('late')
})

test('an answer that is empty is an answer', () => {
  expect(answerOf(judged(said('one'), said('')))).toBe('')
})

test.each<[string, readonly (object | null)[]]>([
  ['approved nothing', []],
  ['approved calls of tools only', [{ ToolCall: { call_id: 'a', name: 'look', arguments: '{}' } }]],
  ['approved what is no action', [null, {}, { Respond: {} }, { Respond: { content: 5 } }, { Shout: { content: 'x' } }]],
])('a run whose last decision %s answered nothing', (_, actions) => {
  expect(answerOf(judged(said('before')), judged(...actions))).toBeNull()
})

test('a run that decided nothing, or whose writer did not say what it approved, answered nothing', () => {
  expect(answerOf()).toBeNull()
  const event: Event = { kind: 'PolicyEvaluated', iteration: 1, action_count: 1, denied_count: 0 }
  expect(answerOf(judged(said('before')), event)).toBeNull()
})
