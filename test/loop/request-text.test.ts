import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonical, deepFreeze } from '../../src/core/index.ts'
import { tokensOf } from '../../src/loop/context.ts'
import { Requests } from '../../src/loop/request-text.ts'
import type { InferenceOptions, Message } from '../../src/providers/index.ts'

const message: fc.Arbitrary<Message> = fc.record(
  {
    role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const, 'tool' as const),
    content: fc.string({ unit: 'binary' }),
    tool_calls: fc.array(fc.record({ id: fc.string(), name: fc.string(), arguments: fc.json() })),
    tool_call_id: fc.string(),
  },
  { requiredKeys: ['role', 'content'] },
)
const options: fc.Arbitrary<InferenceOptions> = fc.record(
  {
    max_tokens: fc.nat(),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    response_format: fc.constant({ type: 'text' as const }),
    tool_definitions: fc.array(
      fc.record({ name: fc.string(), description: fc.string(), parameters: fc.constant({ type: 'object' }) }),
    ),
    tool_choice: fc.constantFrom({ type: 'auto' as const }, { type: 'tool' as const, name: 'look' }),
  },
  { requiredKeys: ['max_tokens', 'temperature', 'response_format'] },
)

test('the text of a request is its canonical form, at every length of the same conversation', () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), options, (messages, given) => {
      const frozen = deepFreeze(given)
      const requests = new Requests()
      for (let count = 0; count <= messages.length; count += 1) {
        expect(requests.tokensOf(messages.slice(0, count))).toBe(tokensOf(messages.slice(0, count)))
        const { conversation, text } = requests.next(messages.slice(0, count), frozen)
        expect(conversation).toEqual({ messages: messages.slice(0, count) })
        expect(text).toBe(canonical({ conversation, options: frozen }))
      }
    }),
  )
})

test('a conversation that does not go on where the last one ended is written anew', () => {
  const part = fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 6 }))
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), fc.array(part, { maxLength: 6 }), options, (all, parts, given) => {
      const requests = new Requests()
      for (const [from, to] of parts) {
        const shown = all.slice(from, to).map((one, index) => (index === 1 ? { ...one, content: `${from}` } : one))
        expect(requests.tokensOf(shown)).toBe(tokensOf(shown))
        const { conversation, text } = requests.next(shown, given)
        expect(conversation.messages).toEqual(shown)
        expect(text).toBe(canonical({ conversation, options: given }))
      }
    }),
  )
})

test('what a provider is given can no longer change, and neither can what the run goes on with', () => {
  const messages: Message[] = [{ role: 'user', content: 'a', tool_calls: [{ id: '1', name: 'look', arguments: '{}' }] }]
  const requests = new Requests()
  const { conversation } = requests.next(messages, { max_tokens: 1, temperature: 0, response_format: { type: 'text' } })
  messages.push({ role: 'user', content: 'b' })
  expect(conversation.messages).toHaveLength(1)
  for (const part of [
    conversation,
    conversation.messages,
    conversation.messages[0],
    conversation.messages[0]?.tool_calls,
  ])
    expect(Object.isFrozen(part)).toBe(true)
  expect(Object.isFrozen(conversation.messages[0]?.tool_calls?.[0])).toBe(true)
})
