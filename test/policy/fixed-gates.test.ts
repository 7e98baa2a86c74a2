import { describe, expect, test } from 'vitest'
import { denyEverythingGate, failClosedGate, permissiveGate, toolFilterGate } from '../../src/policy/index.ts'
import { bareQuestion, DELEGATE, decide, RESPOND, signal, TERMINATE, toolQuestion } from './support.ts'

const warnings: string[] = []
const gates = {
  'fail-closed': failClosedGate(),
  permissive: permissiveGate((message) => void warnings.push(message)),
  'tool-filter': toolFilterGate(['ls']),
  'deny-everything': denyEverythingGate('the policies cannot be used', ['detail for operators']),
}
type Name = keyof typeof gates

describe.each<[Name, [string, string, string, string, string]]>([
  ['fail-closed', ['Deny', 'Deny', 'Deny', 'Allow', 'Allow']],
  ['permissive', ['Allow', 'Allow', 'Allow', 'Allow', 'Allow']],
  ['tool-filter', ['Allow', 'Deny', 'Allow', 'Allow', 'Allow']],
  ['deny-everything', ['Deny', 'Deny', 'Deny', 'Deny', 'Deny']],
])('the %s gate', (name, expected) => {
  const gate = gates[name]
  const questions = [
    toolQuestion('ls'),
    toolQuestion('rm'),
    bareQuestion(DELEGATE),
    bareQuestion(RESPOND),
    bareQuestion(TERMINATE),
  ]

  test('answers ls, rm, a delegation, a reply and an end as the table says', async () => {
    const kinds = await Promise.all(questions.map(async (question) => (await decide(gate, question)).kind))
    expect(kinds).toEqual(expected)
    expect(gate.name).toBe(name)
  })

  test('has no approver: a contract that requires approval is refused [D3]', async () => {
    const question = toolQuestion('ls', { contract: { requires_approval: true } })
    expect((await gate.approve(question, signal)).kind).toBe('Refused')
    expect((await gate.approve(toolQuestion('ls'), signal)).kind).toBe('NotNeeded')
  })

  test('denies a cancelled question', async () => {
    expect((await gate.decide(bareQuestion(RESPOND), AbortSignal.abort())).kind).toBe('Deny')
  })
})

test('the permissive gate warns loudly at every single action', async () => {
  warnings.length = 0
  for (const name of ['a', 'b', 'a']) await decide(gates.permissive, toolQuestion(name))
  expect(warnings).toHaveLength(3)
  expect(warnings[1]).toMatch(/^INSECURE: .*"b"/)
})

test('the reason is for the model, and the detail for operators', async () => {
  expect(await decide(gates['deny-everything'], bareQuestion(RESPOND))).toEqual({
    kind: 'Deny',
    reason: 'the policies cannot be used',
    policies: [],
    errors: ['detail for operators'],
  })
})
