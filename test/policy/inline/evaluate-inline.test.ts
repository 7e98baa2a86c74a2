import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../../src/core/index.ts'
import {
  evaluateInline,
  type InlineQuestion,
  type InlineRuling,
  showRead,
  Unanswerable,
} from '../../../src/policy/index.ts'
import { policyIn } from '../../support/inline-policy.ts'

const AGENT = '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'

function ask(rules: string, parts: Partial<InlineQuestion> & { args?: JsonObject } = {}): InlineRuling {
  const { args = {}, ...rest } = parts
  return evaluateInline(policyIn(`agent fixture { ${rules} }`), {
    effect: 'read',
    principal: AGENT,
    invocation: { arguments: args, contract: { name: 'read' } },
    context: {},
    ...rest,
  })
}

/** `pass`, or what the refusal says behind the name of the block. */
function said(ruling: InlineRuling): string {
  return ruling.kind === 'Refuse'
    ? ruling.reason.replace('inline policy p denied tool_call read', '').trim()
    : ruling.kind.toLowerCase()
}

const when = (condition: string, args: JsonObject = {}, parts: Partial<InlineQuestion> = {}): string =>
  said(ask(`policy p { allow: true if ${condition} }`, { args, ...parts }))

const FALSE = ': no allow rule matched'

describe('blocks and rules', () => {
  test.each([
    ['an agent without policies restricts nothing', '', 'pass'],
    ['a block that only denies lets other effects pass', 'policy p { deny: "write" }', 'pass'],
    ['a deny without a condition refuses at once', 'policy p { deny: "read" }', '(rule 1)'],
    ['a deny overrides an allow before it', 'policy p { allow: "read" deny: "read" }', '(rule 2)'],
    ['a deny overrides an allow behind it', 'policy p { deny: "read" allow: "read" }', '(rule 1)'],
    ['an allow permits its effect', 'policy p { allow: ["write", "read"] }', 'pass'],
    ['a block with an allow rule refuses what none of them names', 'policy p { allow: "write" }', FALSE],
    ['an allow whose condition is false does not permit', 'policy p { allow: "read" if false }', FALSE],
    ['another allow may permit it', 'policy p { allow: "read" if false allow: "read" if true }', 'pass'],
    ['a deny whose condition is false does nothing', 'policy p { deny: "read" if false }', 'pass'],
    ['the selector true names every effect', 'policy p { deny: true }', '(rule 1)'],
    ['the selector false names none', 'policy p { deny: false }', 'pass'],
    ['the selector false permits none', 'policy p { allow: false }', FALSE],
    ['names are exact', 'policy p { deny: ["READ", "rea", "read_file", " read"] }', 'pass'],
    [
      'a condition of a rule that does not match is not evaluated',
      'policy p { deny: "write" if context.x == 1 }',
      'pass',
    ],
  ])('%s [N1]', (_what, rules, outcome) => {
    expect(said(ask(rules))).toBe(outcome.replace(/^: /, ': '))
  })

  test('two blocks must both allow [N1]', () => {
    const both = (first: string, second: string) =>
      ask(`policy a { allow: "${first}" } policy b { allow: "${second}" }`)
    expect(both('read', 'read').kind).toBe('Pass')
    expect(both('read', 'write')).toMatchObject({
      reason: 'inline policy b denied tool_call read: no allow rule matched',
    })
    expect(both('write', 'read')).toMatchObject({
      reason: 'inline policy a denied tool_call read: no allow rule matched',
    })
  })

  test('blocks of the file come first, and those of a sibling do not count', () => {
    const policy = policyIn(
      'agent fixture { policy own { deny: "read" } } policy house { deny: "read" } agent other { policy its { deny: true } }',
    )
    const question = { effect: 'read', principal: AGENT, invocation: {}, context: {} }
    expect(policy.metadata.policies).toEqual(['house', 'own'])
    expect(evaluateInline(policy, question)).toMatchObject({
      reason: 'inline policy house denied tool_call read (rule 1)',
    })
    expect(evaluateInline(policy, { ...question, effect: 'write' }).kind).toBe('Pass')
  })

  test('replies are exempt, even where everything is denied', () => {
    expect(ask('policy p { deny: true }', { effect: null })).toEqual({ kind: 'Exempt' })
  })

  test('a delegation goes by the declared name of its target', () => {
    const ruling = ask('policy p { deny: "delegate::reviewer" }', { effect: 'delegate::reviewer' })
    expect(ruling).toMatchObject({ reason: 'inline policy p denied delegate::reviewer (rule 1)' })
  })
})

describe('conditions', () => {
  const args = { text: 'a', count: 5, yes: true, none: null, list: ['a'], inner: { deep: 'x' }, half: 1.5 }

  test.each([
    ['invocation.arguments.text == "a"', 'pass'],
    ['invocation.arguments.text == "b"', FALSE],
    ['invocation.arguments.text != "b"', 'pass'],
    ['invocation.arguments.count == 5', 'pass'],
    ['invocation.arguments.count == 0_005', 'pass'],
    ['invocation.arguments.count > 4 && invocation.arguments.count < 6', 'pass'],
    ['invocation.arguments.count >= 5 && invocation.arguments.count <= 5', 'pass'],
    ['invocation.arguments.count > -5', 'pass'],
    ['invocation.arguments.count > 5', FALSE],
    ['invocation.arguments.count <= 4', FALSE],
    ['invocation.arguments.yes', 'pass'],
    ['!invocation.arguments.yes', FALSE],
    ['not invocation.arguments.yes', FALSE],
    ['invocation.arguments.yes == true', 'pass'],
    ['invocation.arguments.text in ["b", "a"]', 'pass'],
    ['invocation.arguments.count in [4, 6]', FALSE],
    ['invocation.arguments.inner.deep == "x"', 'pass'],
    ['invocation.contract.name == "read"', 'pass'],
    [`principal == "${AGENT}"`, 'pass'],
    ['true || false && false', 'pass'],
    ['(true || false) && false', FALSE],
    ['1 < 2 == true', 'pass'],
    ['true == !false', 'pass'],
    ['9223372036854775807 > 9007199254740993', 'pass'],
    ['-9223372036854775808 < -9223372036854775807', 'pass'],
  ])('%s', (condition, outcome) => {
    expect(when(condition, args)).toBe(outcome)
  })

  test.each([
    ['a missing field', 'invocation.arguments.nothing == "a"', '"invocation.arguments.nothing" is missing'],
    ['a field of a missing field', 'context.no.thing == "a"', '"context.no.thing" is missing'],
    ['a field of a text', 'invocation.arguments.text.length == 1', '"invocation.arguments.text.length" is missing'],
    ['the length of a list', 'invocation.arguments.list.length == 1', '"invocation.arguments.list.length" is missing'],
    ['a name of all objects', 'invocation.constructor == "a"', '"invocation.constructor" is missing'],
    ['the prototype', 'invocation.__proto__.x == "a"', '"invocation.__proto__.x" is missing'],
    ['null', 'invocation.arguments.none == "a"', '"invocation.arguments.none" is null'],
    ['null, asked whether it differs', 'invocation.arguments.none != "a"', '"invocation.arguments.none" is null'],
    [
      'text and an integer',
      'invocation.arguments.text == 1',
      '"invocation.arguments.text" is text and a literal is an integer',
    ],
    [
      'an integer and its text',
      'invocation.arguments.count != "5"',
      '"invocation.arguments.count" is an integer and a literal is text',
    ],
    [
      'text in order',
      'invocation.arguments.text < "b"',
      '"invocation.arguments.text" is text, and only integers have an order',
    ],
    [
      'an integer before a text',
      '1 < invocation.arguments.text',
      '"invocation.arguments.text" is text, and only integers have an order',
    ],
    ['a fraction', 'invocation.arguments.half > 1', '"invocation.arguments.half" is a number that is no exact integer'],
    ['a list', 'invocation.arguments.list == "a"', '"invocation.arguments.list" is a list'],
    ['an object', 'invocation.arguments.inner == "a"', '"invocation.arguments.inner" is an object'],
    ['the whole context', 'context == "a"', '"context" is an object'],
    ['a condition that is text', '"yes"', 'a literal is text and not true or false'],
    [
      'a condition that is a path to text',
      'invocation.arguments.text',
      '"invocation.arguments.text" is text and not true or false',
    ],
    [
      'a negated integer',
      '!invocation.arguments.count',
      '"invocation.arguments.count" is an integer and not true or false',
    ],
    [
      'a text among integers',
      'invocation.arguments.text in [1]',
      '"invocation.arguments.text" is text and the list holds an integer',
    ],
    [
      'a list of two kinds, even where it holds the value',
      'invocation.arguments.text in ["a", 1]',
      '"invocation.arguments.text" is text and the list holds an integer',
    ],
  ])('%s refuses, in an allow and in a deny alike [N1]', (_what, condition, why) => {
    for (const effect of ['allow', 'deny']) {
      expect(said(ask(`policy p { ${effect}: true if ${condition} }`, { args }))).toBe(`(rule 1: ${why})`)
    }
  })

  test('a field that is missing refuses even behind an allow that was true [N1]', () => {
    expect(said(ask('policy p { allow: "read" deny: "read" if context.x == "y" }'))).toBe(
      '(rule 2: "context.x" is missing)',
    )
  })

  test('what a short circuit skips is not evaluated', () => {
    expect(when('true || context.none == 1')).toBe('pass')
    expect(when('false && context.none == 1')).toBe(FALSE)
    expect(when('context.none == 1 || true')).toBe('(rule 1: "context.none" is missing)')
  })

  test('a JSON number beyond the exact integers is compared with nothing', () => {
    expect(when('invocation.arguments.n >= 0', { n: 1e300 })).toContain('no exact integer')
    expect(when('invocation.arguments.n >= 0', { n: 2 ** 53 })).toContain('no exact integer')
    expect(when('invocation.arguments.n == 9007199254740991', { n: Number.MAX_SAFE_INTEGER })).toBe('pass')
    expect(when('invocation.arguments.n == 0', { n: -0 })).toBe('pass')
  })

  test('an own field of any name is just data', () => {
    const odd = JSON.parse('{"__proto__":"x","constructor":"y"}') as JsonObject
    expect(when('invocation.arguments.__proto__ == "x" && invocation.arguments.constructor == "y"', odd)).toBe('pass')
    expect(when('invocation.arguments.principal == "me"', { principal: 'me' })).toBe('pass')
  })

  test('what the context says of approval is not there, even for a policy that was not compiled here', () => {
    const policy = policyIn('agent fixture { policy p { allow: true if context.has.x } }')
    const [block] = policy.blocks
    const [rule] = block?.rules ?? []
    if (block === undefined || rule === undefined) throw new Error('the policy has a rule')
    for (const field of ['has_human_approval', 'approved_fingerprint']) {
      const condition = { kind: 'path', root: 'context', fields: [field] } as const
      const forged = { ...policy, blocks: [{ ...block, rules: [{ ...rule, condition }] }] }
      const context = { [field]: true }
      const ruling = evaluateInline(forged, { effect: 'read', principal: AGENT, invocation: {}, context })
      expect(ruling).toMatchObject({ kind: 'Refuse', reason: expect.stringContaining(`"context.${field}" is missing`) })
    }
  })
})

describe('the trace', () => {
  test('shows for each block and rule whether it matched, what its condition came to and what it read', () => {
    const ruling = ask(
      'policy a { deny: "write" if context.x == 1 deny: "read" if invocation.arguments.path == "b" } policy b { deny: true if context.gone } policy c { deny: true }',
      { args: { path: 'a' } },
    )
    if (ruling.kind !== 'Refuse') throw new Error('it refuses')
    expect(ruling.blocks.map(({ name, passed, decidedBy }) => [name, passed, decidedBy])).toEqual([
      ['a', true, null],
      ['b', false, 1],
    ])
    const [first, second] = ruling.blocks[0]?.rules ?? []
    expect([first?.matched, first?.answer, first?.reads]).toEqual([false, null, []])
    expect([second?.matched, second?.answer]).toEqual([true, false])
    expect(second?.reads).toEqual([{ path: 'invocation.arguments.path', value: 'a' }])
    expect(second?.rule.text).toBe('deny: "read" if invocation.arguments.path == "b"')
    const [third] = ruling.blocks[1]?.rules ?? []
    expect(third?.answer).toBeInstanceOf(Unanswerable)
    expect(third?.reads).toEqual([{ path: 'context.gone', value: undefined }])
  })

  test('names the allow that let a block pass', () => {
    const ruling = ask('policy p { allow: "write" allow: "read" allow: true }')
    expect(ruling).toMatchObject({ kind: 'Pass', blocks: [{ decidedBy: 2, passed: true }] })
  })

  test.each<[string, Json | undefined, string]>([
    ['a text', 'a"b', '"a\\"b"'],
    ['an object, its members in order', { b: 1, a: [true, null] }, '{"a":[true,null],"b":1}'],
    ['nothing', undefined, 'missing'],
    ['a long text, cut', 'x'.repeat(500), `"${'x'.repeat(199)}…`],
  ])('shows %s', (_what, value, shown) => {
    expect(showRead({ path: 'p', value })).toBe(shown)
  })

  test('a reason holds no value, neither of the call nor of the rule', () => {
    const args = { password: 'hunter2-argument' }
    for (const condition of [
      'invocation.arguments.password < 5',
      '"hunter2-literal" == 1',
      'invocation.arguments.password in [1]',
    ]) {
      expect(JSON.stringify(said(ask(`policy p { deny: true if ${condition} }`, { args })))).not.toContain('hunter2')
    }
  })

  test('a reason stays short, whatever names are in it', () => {
    const long = 'x'.repeat(3000)
    const ruling = ask(`policy ${long} { deny: true if context.${long} }`, { effect: long })
    if (ruling.kind !== 'Refuse') throw new Error('it refuses')
    expect(ruling.reason.length).toBeLessThan(800)
    expect(ruling.reason.startsWith('inline policy xxx')).toBe(true)
  })
})
