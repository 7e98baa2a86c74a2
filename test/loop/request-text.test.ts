import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonical, deepFreeze } from '../../src/core/index.ts'
import { requestText } from '../../src/loop/request-text.ts'
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
      for (let count = 0; count <= messages.length; count += 1) {
        const conversation = deepFreeze({ messages: messages.slice(0, count) })
        expect(requestText(conversation, frozen)).toBe(canonical({ conversation, options: frozen }))
      }
    }),
  )
})
