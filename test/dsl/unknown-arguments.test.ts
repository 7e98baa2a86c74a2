import { expect, test } from 'vitest'
import { parse, unknownArguments } from '../../src/dsl/index.ts'

const KNOWN = new Map([
  ['read', new Set(['path', 'limit'])],
  ['find', new Set(['path', 'text'])],
  ['ping', new Set<string>()],
])
const found = (rules: string) => unknownArguments(parse(`policy p { ${rules} }`), KNOWN)
const messages = (rules: string): readonly string[] => found(rules).map(({ message }) => message)

test('an argument that the tool of a rule cannot have is warned about, where it is read', () => {
  expect(found('deny: "read" if !(invocation.arguments.size > 5) || invocation.arguments.path == "a"')).toMatchObject([
    {
      kind: 'warning',
      code: 'W221',
      message: '"read" has no argument "size", so the rule denies every effect that it names',
      hint: 'There are path, limit',
      start: { column: 30 },
      end: { column: 55 },
    },
  ])
  expect(messages('deny: ["ping"] if invocation.arguments.x.y in ["a"]')).toEqual([
    '"ping" has no argument "x", so the rule denies every effect that it names',
  ])
  expect(messages('allow: ["read", "find"] if invocation.arguments.size == 1')).toEqual([
    'the tools of this rule have no argument "size", so the rule denies every effect that it names',
  ])
})

test('a policy in an agent is looked at too', () => {
  const parsed = parse('agent a { policy p { deny: "read" if invocation.arguments.size == 1 } }')
  expect(unknownArguments(parsed, KNOWN)).toHaveLength(1)
})

test.each([
  'deny: "read" if invocation.arguments.limit > 5',
  'deny: ["read", "find"] if invocation.arguments.text == "x"', // one of them has it
  'deny: ["read", "unknown"] if invocation.arguments.size == 1',
  'deny: true if invocation.arguments.size == 1',
  'deny: "unknown" if invocation.arguments.size == 1',
  'deny: "read" if context.arguments.size == 1 || invocation.resolved.size == 1',
  'deny: "read"',
])('what may have an answer is not: %s', (rule) => {
  expect(messages(rule)).toEqual([])
})
