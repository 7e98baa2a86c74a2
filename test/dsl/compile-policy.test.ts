import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileInlinePolicy, type Diagnostic, inlinePolicyDiagnostics, parse } from '../../src/dsl/index.ts'
import { compiledIn, policyIn } from '../support/inline-policy.ts'

const sha = (text: string): string => `sha256:${createHash('sha256').update(text, 'utf8').digest('hex')}`
const told = (diagnostics: readonly Diagnostic[]): readonly string[] =>
  diagnostics.map(({ kind, code, start }) => `${kind} ${code} ${start.line}:${start.column}`)
const inBlock = (rules: string): string => `agent fixture { policy p { ${rules} } }`
const inCondition = (condition: string): string => inBlock(`allow: "read" if ${condition}`)

describe('what is selected', () => {
  const SOURCE = `metadata { version = "1" }
policy house { deny: "shell" }
agent first { policy own { allow: "read" } }
agent second { policy other { allow: "write" } policy third { deny: "x" } }
policy late { deny: "delegate::first" }
`

  test('is every block of the file, in its order, and then those of the agent, and never those of a sibling', () => {
    const of = (name: string) => compiledIn(SOURCE, name).policy?.metadata.policies
    expect(of('first')).toEqual(['house', 'late', 'own'])
    expect(of('second')).toEqual(['house', 'late', 'other', 'third'])
  })

  test('is named by hashes of the JSON strings of the whole text and of the declaration', () => {
    const { policy } = compiledIn(SOURCE, 'first')
    expect(policy?.metadata).toEqual({
      semantics: 'inline_effect_policy_v1',
      source_hash: sha(JSON.stringify(SOURCE)),
      declaration_hash: sha(JSON.stringify('agent first { policy own { allow: "read" } }')),
      agent_name: 'first',
      policies: ['house', 'late', 'own'],
    })
  })

  test('may be nothing at all: an agent without policies has one that restricts nothing', () => {
    expect(policyIn('agent fixture {}')).toMatchObject({
      blocks: [],
      metadata: { policies: [], agent_name: 'fixture' },
    })
  })

  test('is frozen through and through', () => {
    const policy = policyIn(inCondition('invocation.arguments.n > -1'))
    expect(() => (policy.blocks as unknown[]).push(1)).toThrow()
    expect(Object.isFrozen(policy.blocks[0]?.rules[0]?.condition)).toBe(true)
  })

  test('knows of each rule its text and its place', () => {
    const policy = policyIn('agent a {\n  policy p {\n    deny:  "é"  if true\n    allow: true\n  }\n}')
    expect(policy.blocks[0]?.rules.map(({ text, start }) => [text, start.line, start.column])).toEqual([
      ['deny:  "é"  if true', 3, 5],
      ['allow: true', 4, 5],
    ])
  })
})

describe('a rule', () => {
  test.each([
    ['one name', 'allow: "read"', ['read']],
    ['several names', 'allow: ["read", "delegate::reviewer",]', ['read', 'delegate::reviewer']],
    ['every effect', 'deny: true', true],
    ['no effect', 'allow: false', false],
    ['a name of 256 bytes', `deny: "${'é'.repeat(128)}"`, ['é'.repeat(128)]],
    ['a name with an escape of JSON', 'deny: "a\\u002fb\\/c"', ['a/b/c']],
  ])('may name %s', (_what, rule, selector) => {
    const names = policyIn(inBlock(rule)).blocks[0]?.rules[0]?.selector
    expect(typeof names === 'object' ? names.map(({ text }) => text) : names).toEqual(selector)
  })

  test.each([
    ['require', 'require: "read"', '"require" rule', 'allow: "read_file"'],
    ['audit', 'audit: "read" if true', '"audit" rule', 'deny: "http_request"'],
    ['an empty list', 'allow: []', 'its list is empty', 'false for no effect'],
    ['an empty name', 'allow: ""', 'has 0 bytes', 'Write the name'],
    ['a name of 257 bytes', `allow: "${'é'.repeat(128)}x"`, 'has 257 bytes', 'Write the name'],
    ['an empty name in a list', 'allow: ["a", ""]', 'has 0 bytes', 'Write the name'],
    ['a word without quotes', 'allow: read', 'something else than literal texts', '"read"'],
    ['a word in a list', 'allow: ["a", read]', 'something else than literal texts', '"read"'],
    ['a list in a list', 'allow: [["a"]]', 'something else than literal texts', 'flat list'],
    ['a number', 'allow: 5', 'something else than literal texts', 'in quotes'],
    ['a boolean in a list', 'allow: [true]', 'something else than literal texts', 'in quotes'],
    ['a call', 'allow: execute_tool("read")', 'something else than literal texts', 'in quotes'],
    ['an element', 'allow: names[0]', 'something else than literal texts', 'in quotes'],
    ['a path', 'allow: context.tool', 'something else than literal texts', 'in quotes'],
    ['two names joined', 'allow: "a" || "b"', 'something else than literal texts', 'List the names'],
    ['two texts added', 'allow: "a" + "b"', 'something else than literal texts', 'List the names'],
    ['a negated boolean', 'deny: !false', 'something else than literal texts', 'in quotes'],
    ['parentheses', 'allow: ("a")', 'something else than literal texts', 'parentheses'],
    ['a record', 'allow: { a: "b" }', 'something else than literal texts', 'in quotes'],
    ['a function', 'allow: x => "a"', 'something else than literal texts', 'in quotes'],
    ['a duration', 'allow: 5s', 'something else than literal texts', 'in quotes'],
    ['a secret', 'allow: vault://tools/name', 'something else than literal texts', 'in quotes'],
    ['a wildcard', 'deny: "*"', 'names are exact', 'true for every effect'],
    ['a wildcard in a name', 'deny: ["read_*"]', 'names are exact', 'true for every effect'],
    ['an escape that JSON does not know', 'deny: "a\\x"', 'no JSON string', 'Escape it'],
    ['a line break in quotes', 'deny: "a\nb"', 'no JSON string', 'line break'],
  ])('that names its effects by %s is refused', (_what, rule, message, hint) => {
    const { policy, diagnostics } = compiledIn(inBlock(rule))
    const found = diagnostics.filter(({ code }) => code === 'E170')
    expect(policy).toBeNull()
    expect(found).toMatchObject([
      { kind: 'unsupported', message: expect.stringContaining(message), hint: expect.stringContaining(hint) },
    ])
  })

  test('that names its effects by half a character is refused, by the grammar or here', () => {
    expect(compiledIn(inBlock('deny: "\\ud800"')).policy).toBeNull()
  })

  test('that is refused points at the part that is wrong', () => {
    const source = 'agent a {\n  policy p {\n    allow: ["é", read]\n    require: "x"\n  }\n}'
    const { diagnostics } = compiledIn(source)
    expect(told(diagnostics)).toEqual(['unsupported E170 3:18', 'unsupported E170 4:5'])
    expect(diagnostics[0]?.end).toEqual({ line: 3, column: 22, offset: 45 })
  })
})

describe('a condition', () => {
  test.each([
    'true',
    'invocation.arguments.path == "a.md"',
    'invocation.arguments.n >= -9223372036854775808',
    'invocation.arguments.n <= 9_223_372_036_854_775_807',
    'invocation.arguments.n == 000_000_000_000_000_000_000_001',
    'invocation.arguments.n in [-1, 0, 1,]',
    'principal != "3f9a7c52-59c0-5c3a-8f0e-7b5f3a1d8a11"',
    'not (context.a == 1 || !context.b && context.c in ["x"])',
    'context.has_human_approvals == true',
    'invocation.arguments.has_human_approval == true',
    'invocation.resolved.has_human_approval == true',
  ])('may be %s', (condition) => {
    expect(compiledIn(inCondition(condition))).toMatchObject({ policy: {}, diagnostics: [] })
  })

  test.each([
    ['a call', 'allowed(invocation.arguments.path)', 'calls a function'],
    ['a method', 'invocation.arguments.path.startsWith("a")', 'calls a function'],
    ['an element', 'invocation.arguments.list[0] == "a"', 'by its place'],
    ['an element by name', 'invocation["arguments"] == "a"', 'by its place'],
    ['addition', 'invocation.arguments.n + 1 == 2', 'arithmetic'],
    ['subtraction', 'invocation.arguments.n - 1 == 2', 'arithmetic'],
    ['multiplication', 'invocation.arguments.n * 2 == 2', 'arithmetic'],
    ['division', 'invocation.arguments.n / 2 == 2', 'arithmetic'],
    ['a remainder', 'invocation.arguments.n % 2 == 0', 'arithmetic'],
    ['a minus before a path', '-invocation.arguments.n == 1', 'arithmetic'],
    ['two minuses', '--1 == 1', 'arithmetic'],
    ['a minus before parentheses', '-(1) == 1', 'arithmetic'],
    ['a fraction', 'invocation.arguments.n == 1.5', 'fraction'],
    ['a whole number with a point', 'invocation.arguments.n == 1.0', 'fraction'],
    ['a negative fraction', 'invocation.arguments.n == -0.5', 'fraction'],
    ['an integer one too large', 'invocation.arguments.n == 9223372036854775808', '64 bits'],
    ['an integer one too small', 'invocation.arguments.n == -9223372036854775809', '64 bits'],
    ['an integer far too large', `invocation.arguments.n == ${'9'.repeat(5000)}`, '64 bits'],
    ['an integer out of range in a list', 'invocation.arguments.n in [9223372036854775808]', '64 bits'],
    ['a list compared', 'invocation.arguments.list == ["a"]', 'a list stands'],
    ['an empty list', 'invocation.arguments.path in []', 'is empty'],
    ['a list in a list', 'invocation.arguments.path in [["a"]]', 'holds a list'],
    ['a path in a list', 'invocation.arguments.path in [context.path]', 'something else'],
    ['a list that is a path', 'invocation.arguments.path in context.paths', 'no list of values'],
    ['a list in parentheses', 'invocation.arguments.path in (["a"])', 'no list of values'],
    ['a record', 'context.x == { a: 1 }', 'a record'],
    ['a named record', 'context.x == (Point { a: 1 })', 'a record'],
    ['a function', '(x => true)', 'a function'],
    ['a decision', '(if true { true } else { false })', '"if"'],
    ['a duration', 'invocation.arguments.timeout < 30s', 'a duration'],
    ['a secret', 'invocation.arguments.key == vault://keys/one', 'a secret'],
    ['another root', 'tool.name == "a"', 'cannot read "tool"'],
    ['arguments without their root', 'arguments.path == "a"', 'cannot read "arguments"'],
    ['a word', 'read', 'cannot read "read"'],
    ['null', 'context.x == null', 'cannot read "null"'],
    ['principal.x', 'principal.name == "a"', 'has no fields'],
    ['a field of a call', 'tool().x == "a"', 'no path'],
    ['a field of parentheses', '(invocation).arguments.path == "a"', 'no path'],
    ['the approval', 'context.has_human_approval', 'before anybody is asked to approve'],
    ['something below the approval', 'context.has_human_approval.by == "x"', 'before anybody is asked to approve'],
    ['the approved fingerprint', 'context.approved_fingerprint == "x"', 'before anybody is asked to approve'],
    ['an escape that JSON does not know', 'context.x == "\\q"', 'no JSON string'],
  ])('with %s is refused, and so it is in a branch that can never run [N1]', (_what, condition, message) => {
    for (const text of [condition, `false && (${condition})`, `true || (${condition})`, `!(${condition})`]) {
      const { policy, diagnostics } = compiledIn(inCondition(text))
      const found = diagnostics.filter(({ code }) => code === 'E171')
      expect([text, policy]).toEqual([text, null])
      expect(found).toMatchObject([
        { kind: 'unsupported', message: expect.stringContaining(message), hint: expect.stringMatching(/./) },
      ])
    }
  })

  test('of a rule that matches nothing, or is not enforced, is refused like every other', () => {
    expect(told(compiledIn(inBlock('deny: false if f()')).diagnostics)).toEqual(['unsupported E171 1:43'])
    expect(told(compiledIn(inBlock('audit: "x" if f()')).diagnostics)).toEqual([
      'unsupported E170 1:28',
      'unsupported E171 1:42',
    ])
  })

  test('tells everything that is wrong with it', () => {
    const { diagnostics } = compiledIn(inCondition('f() == 1.5 && context.approved_fingerprint == [1]'))
    expect(diagnostics.map(({ code }) => code)).toEqual(['E171', 'E171', 'E171', 'E171'])
  })

  test('binds !, then orders, then == and in, then &&, then ||', () => {
    const shapeOf = (condition: string): unknown => policyIn(inCondition(condition)).blocks[0]?.rules[0]?.condition
    const pairs = [
      ['true || false && true', 'true || (false && true)'],
      ['false && true || true', '(false && true) || true'],
      ['1 < 2 == true && true', '((1 < 2) == true) && true'],
      ['!true == false', '(!true) == false'],
      ['not true in [false]', '(not true) in [false]'],
      ['true == true != false', '(true == true) != false'],
      ['1 == 2 in [true]', '(1 == 2) in [true]'],
    ]
    for (const [loose = '', strict = ''] of pairs) expect(shapeOf(loose)).toEqual(shapeOf(strict))
  })
})

test('a text in single quotes is refused once, and still nothing of the policy is used', () => {
  for (const rule of ["allow: 'system_health'", "deny: true if context.mode == 'quiet'", 'allow: [\'a\', "b"]']) {
    const { policy, diagnostics } = compiledIn(`agent a { policy p { ${rule} } }`)
    expect(policy).toBeNull()
    expect(diagnostics).toMatchObject([
      { kind: 'syntax', code: 'E100', message: expect.stringContaining('single quotes') },
    ])
  }
})

describe('a warning that a condition has no answer', () => {
  test.each([
    ['an order of texts', 'invocation.arguments.n > "5"', '">" compares text'],
    ['an order of booleans', 'true <= invocation.arguments.n', '"<=" compares true or false'],
    ['an order of the principal', 'principal < 5', '"<" compares text'],
    ['two kinds', '1 == "1"', '"==" compares an integer with text'],
    ['a whole object', 'context == "x"', '"==" compares a whole object with text'],
    ['objects', 'context != invocation', '"!=" compares a whole object'],
    ['a list of two kinds', 'context.x in ["a", 1]', '"in" compares text with an integer'],
    ['a text among integers', 'principal in [1]', '"in" compares text with an integer'],
    ['a text as condition', '"yes"', 'gets text'],
    ['a negated integer', '!5', 'gets an integer'],
    ['an integer beside &&', 'true && 1', 'gets an integer'],
    ['a member that no call has', 'invocation.args.n == 1', 'there is no "invocation.args"'],
    ['a member that no contract has', 'invocation.contract.risk == "high"', 'there is no "invocation.contract.risk"'],
    ['a member of a text', 'invocation.fingerprint.x == "a"', 'there is no "invocation.fingerprint.x"'],
    ['a principal that is a name', 'principal == "reviewer"', 'a UUID in small letters, and never "reviewer"'],
    ['the same the other way round', '"reviewer" != principal', 'never "reviewer"'],
    ['a list of names', 'principal in ["3f9a7c52-59c0-5c3a-8f0e-7b5f3a1d8a11", "me"]', 'never "me"'],
    ['a negation that binds too tightly', 'not context.path == "a"', '"==" compares true or false with text'],
  ])('is given for %s, and the policy can be used', (_what, condition, message) => {
    const { policy, diagnostics } = compiledIn(inCondition(condition))
    expect(policy).not.toBeNull()
    expect(diagnostics).toMatchObject([{ kind: 'warning', code: 'W221', message: expect.stringContaining(message) }])
  })

  test.each([
    'invocation.arguments.path == "a.md" && invocation.resolved.mcp.risk == "low"',
    'invocation.contract.resource_id == "docs" && invocation.source_policy.agent_name == "a"',
    'invocation.action.ToolCall.name == "x" && invocation.fingerprint != "x" && context.anything.at.all == 1',
    'principal == "3f9a7c52-59c0-5c3a-8f0e-7b5f3a1d8a11" || principal == context.owner',
  ])('is not given for what a call has: %s', (condition) => {
    expect(compiledIn(inCondition(condition)).diagnostics).toEqual([])
  })

  test('says how a negation is written around a comparison', () => {
    expect(compiledIn(inCondition('!context.path in ["a"]')).diagnostics[0]?.hint).toContain('in parentheses')
  })
})

describe('blocks', () => {
  test('without rules are refused', () => {
    expect(told(compiledIn('policy house {} agent a { policy p {} }').diagnostics)).toEqual([
      'unsupported E170 1:8',
      'unsupported E170 1:34',
    ])
  })

  test('of one name are refused where they bind one agent, and name the first', () => {
    const twice = compiledIn('agent a {\n policy p { deny: "x" }\n policy p { deny: "y" } }')
    expect([twice.policy, told(twice.diagnostics)]).toEqual([null, ['unsupported E150 3:9']])
    expect(twice.diagnostics[0]?.related).toMatchObject([{ start: { line: 2, column: 9 } }])
    const shared = 'agent a { policy p { deny: "x" } }\npolicy p { deny: "y" }'
    expect(told(compiledIn(shared).diagnostics)).toEqual(['unsupported E150 1:18'])
    const siblings = 'agent a { policy p { deny: "x" } }\nagent b { policy p { deny: "y" } }'
    expect(compiledIn(siblings)).toMatchObject({ policy: {}, diagnostics: [] })
  })

  test('of a sibling may be wrong: they bind nobody else', () => {
    const source = 'agent a {} agent b { policy p { require: "x" } }'
    expect(compiledIn(source, 'a')).toMatchObject({ policy: {}, diagnostics: [] })
    expect(compiledIn(source, 'b').policy).toBeNull()
  })

  test('of a file are told once for all its agents', () => {
    const source = 'policy house { require: "x" } agent a { policy p {} } agent b { policy q {} }'
    expect(told(inlinePolicyDiagnostics(parse(source)))).toEqual([
      'unsupported E170 1:16',
      'unsupported E170 1:48',
      'unsupported E170 1:72',
    ])
    expect(told(inlinePolicyDiagnostics(parse('policy house { require: "x" }')))).toEqual(['unsupported E170 1:16'])
  })

  test('that the grammar could not read are not called empty', () => {
    const { policy, diagnostics } = compiledIn('agent a { policy p { alow: "x" } }')
    expect(policy).toBeNull()
    expect(diagnostics.map(({ code }) => code)).not.toContain('E170')
  })

  test('are of no use in a source with any error', () => {
    expect(compiledIn('agent a { policy p { deny: "x" } } agnet b {}').policy).toBeNull()
  })
})

describe('limits', () => {
  const rules = (count: number): string => 'deny: "x"\n'.repeat(count)

  test('128 rules may bind an agent, and 129 may not', () => {
    expect(policyIn(`policy house {\n${rules(64)}}\nagent a { policy p {\n${rules(64)}} }`).blocks).toHaveLength(2)
    const { policy, diagnostics } = compiledIn(`policy house {\n${rules(64)}}\nagent a { policy p {\n${rules(65)}} }`)
    expect([policy, told(diagnostics)]).toEqual([null, ['unsupported E172 132:1']])
    expect(told(compiledIn(`policy house {\n${rules(130)}}\nagent a {}`).diagnostics)).toEqual([
      'unsupported E172 130:1',
    ])
  })

  test('rules of siblings do not count', () => {
    expect(
      compiledIn(`agent a { policy p {\n${rules(128)}} } agent b { policy p {\n${rules(128)}} }`).policy,
    ).not.toBeNull()
  })

  const tokens = (count: number): string => ['true', ...Array((count - 1) / 2).fill('true')].join(' && ')

  test('an expression may have 255 tokens and not 257, with a tree that is as deep', () => {
    expect(compiledIn(inCondition(tokens(255))).policy).not.toBeNull()
    expect(told(compiledIn(inCondition(tokens(257))).diagnostics)).toEqual(['unsupported E172 1:45'])
    expect(compiledIn(inCondition(`!${tokens(255)}`)).policy).not.toBeNull()
    expect(compiledIn(inCondition(`!!${tokens(255)}`)).policy).toBeNull()
  })

  test('a selector is an expression like any other', () => {
    const names = (count: number): string => `[${Array(count).fill('"x"').join(', ')}]`
    expect(compiledIn(inBlock(`deny: ${names(127)}`)).policy).not.toBeNull()
    expect(told(compiledIn(inBlock(`deny: ${names(128)}`)).diagnostics)).toEqual(['unsupported E172 1:34'])
  })

  test.each([
    ['parentheses', (depth: number) => `${'('.repeat(depth)}true${')'.repeat(depth)}`],
    ['negations', (depth: number) => `${'!'.repeat(depth)}true`],
    ['a list in parentheses', (depth: number) => `${'('.repeat(depth - 1)}context.x in ["a"]${')'.repeat(depth - 1)}`],
  ])('%s may be nested 24 levels deep and not 25', (_what, nest) => {
    expect(compiledIn(inCondition(nest(24))).policy).not.toBeNull()
    expect(told(compiledIn(inCondition(nest(25))).diagnostics)).toEqual(['unsupported E172 1:45'])
  })

  test('a source of 1 MiB may be used, and one of a byte more may not', () => {
    const padded = (bytes: number): string => 'agent a {}'.padEnd(bytes, ' ')
    expect(compiledIn(padded(1024 * 1024)).policy).not.toBeNull()
    const { policy, diagnostics } = compiledIn(padded(1024 * 1024 + 1))
    expect([policy, told(diagnostics)]).toEqual([null, ['unsupported E172 1:1']])
  })

  test('a chain of a thousand parts is refused before it is walked', () => {
    const chain = Array(1000).fill('true').join('||')
    expect(told(compiledIn(inCondition(chain)).diagnostics)).toContain('unsupported E172 1:45')
  })

  test('thousands of agents share what binds all of them', () => {
    const parsed = parse(`policy house { deny: "x" } ${'agent a { policy p { allow: "y" } }\n'.repeat(3000)}`)
    const agents = parsed.tree.items.filter((item) => item.kind === 'agent')
    const blocks = agents.map((agent) => compileInlinePolicy(parsed, agent).policy?.blocks[0])
    expect(new Set(blocks).size).toBe(1)
  })
})

test('whatever is written in a policy, compiling it throws nothing, and gives a policy or says why not', () => {
  const words = (text: string): fc.Arbitrary<string> => fc.constantFrom(...text.split(' '))
  const noise = fc.array(
    words('allow: deny: if "a" true 5 - 1.5 30s . x ( ) [ ] { } , == < && ! not in => policy p context'),
    { maxLength: 12 },
  )
  const operand = words('true 5 -1 "a" principal context.a (true) !context.b ["a"] f() 1.5 context invocation.x.y')
  const chain = fc.array(fc.tuple(words('== != < >= && || in +'), operand), { maxLength: 5 })
  let usable = 0
  const check = (rules: string): void => {
    const { policy, diagnostics } = compiledIn(inBlock(rules))
    expect(policy === null).toBe(diagnostics.some(({ kind }) => kind !== 'warning'))
    if (policy !== null) usable += 1
  }
  fc.assert(
    fc.property(noise, (tokens) => check(tokens.join(' '))),
    { numRuns: 700 },
  )
  fc.assert(
    fc.property(operand, chain, (first, rest) => check(`deny: "a" if ${first} ${rest.flat().join(' ')}`)),
    { numRuns: 700 },
  )
  expect(usable).toBeGreaterThan(50) // so that both answers were really given
}, 60_000)
