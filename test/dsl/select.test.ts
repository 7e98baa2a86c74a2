import { expect, test } from 'vitest'
import { parse, selectAgent } from '../../src/dsl/index.ts'

const TWO = 'metadata { version = "1" }\nagent a { capabilities = ["x"] }\n# between\nagent b {}\n'

test.each(['only', 'alias', '', 'Only'])('a source with one agent answers to %j', (selector) => {
  const selected = selectAgent(parse('policy p { deny: "x" }\nagent only() { }\n# after'), selector)
  expect(selected).toMatchObject({ name: 'only', declaration: 'agent only() { }' })
})

test('one agent of several is named exactly, and only its own text is taken', () => {
  expect(selectAgent(parse(TWO), 'a')).toMatchObject({ name: 'a', declaration: 'agent a { capabilities = ["x"] }' })
  expect(selectAgent(parse(TWO), 'b')).toMatchObject({ name: 'b', declaration: 'agent b {}' })
})

test.each(['A', 'a ', '', 'desk'])('%j names no agent of two, and the hint lists them', (selector) => {
  expect(() => selectAgent(parse(TWO), selector, '"desk.symbi"')).toThrow(
    expect.objectContaining({
      code: 'AGENT_AMBIGUOUS',
      message: expect.stringContaining('agent of "desk.symbi"'),
      hint: 'Name one of them: a, b',
    }),
  )
})

test('a hint lists a dozen agents and counts the others', () => {
  const many = Array.from({ length: 40 }, (_, at) => `agent ${'n'.repeat(100)}${at} {}`).join('\n')
  expect(() => selectAgent(parse(many), 'x')).toThrow(
    expect.objectContaining({ hint: expect.stringMatching(/^Name one of them: (n{64}, ){11}n{64} and 28 more$/) }),
  )
})

test('a source without agents is refused', () => {
  expect(() => selectAgent(parse('metadata { version = "1" }'), 'a')).toThrow(
    expect.objectContaining({ code: 'AGENT_UNKNOWN' }),
  )
})

test('two agents of one name refuse the source, whoever is asked for', () => {
  for (const selector of ['a', 'b']) {
    expect(() => selectAgent(parse('agent a {}\nagent b {}\n agent a {}'), selector)).toThrow(
      expect.objectContaining({
        code: 'SOURCE_INVALID',
        message: 'Cannot use the source: 3:8: a second agent is called "a"',
        facts: { line: 3, column: 8 },
      }),
    )
  }
})

test('a source with an error of syntax is refused with its place, whoever is asked for', () => {
  expect(() => selectAgent(parse('agent a {}\nagent b {'), 'a', '"x.symbi"')).toThrow(
    expect.objectContaining({
      code: 'SOURCE_INVALID',
      message: expect.stringMatching(/^Cannot use "x\.symbi": 2:9: E101 /),
      hint: expect.any(String),
    }),
  )
})
