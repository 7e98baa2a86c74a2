import { expect, test } from 'vitest'
import { unknownNames } from '../../src/dsl/index.ts'
import { policyIn } from '../support/inline-policy.ts'

const KNOWN = new Set(['system_health', 'list_agents', 'delegate::reviewer'])

test('a rule that names an unknown tool or target is warned about, at the name', () => {
  const policy = policyIn(
    'policy house { deny: "shell" }\nagent a { policy p { allow: ["system_health", "list_agent", "delegate::alias"] } }',
  )
  expect(unknownNames(policy, KNOWN)).toMatchObject([
    {
      kind: 'warning',
      code: 'W220',
      message: expect.stringContaining('tool is called "shell"'),
      start: { line: 1, column: 22 },
      end: { column: 29 },
    },
    { message: expect.stringContaining('"list_agent"'), hint: 'Did you mean "list_agents"?', start: { line: 2 } },
    { message: expect.stringContaining('target of delegation'), hint: expect.stringContaining('declared with') },
  ])
})

test('known names, and the selectors true and false, are not', () => {
  const policy = policyIn(
    'agent a { policy p { deny: true allow: false deny: ["list_agents", "delegate::reviewer"] } }',
  )
  expect(unknownNames(policy, KNOWN)).toEqual([])
})

test('a tool of a foreign server is known once it is exposed by name, or pinned, and the hint says so', () => {
  const [warning] = unknownNames(policyIn('agent a { policy p { allow: "mcp__desk__notes_create" } }'), KNOWN)
  expect(warning?.hint).toContain('"symbi mcp pin"')
})

test('an agent that is named like a tool gets the name of its delegation as a hint', () => {
  expect(unknownNames(policyIn('agent a { policy p { deny: "reviewer" } }'), KNOWN)[0]?.hint).toBe(
    'Did you mean "delegate::reviewer"?',
  )
})

test('other spellings are other names', () => {
  expect(unknownNames(policyIn('agent a { policy p { deny: "System_Health" } }'), KNOWN)).toHaveLength(1)
})
