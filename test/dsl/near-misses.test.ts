/** What people write instead of the language. Each is refused with a hint, and the form that the hint shows is accepted. */
import { expect, test } from 'vitest'
import { type Diagnostic, parse } from '../../src/dsl/index.ts'
import { checkOf, codeAt } from './found.ts'

/** Name, what was written, the code and place, a part of the hint, and the same as it should be. */
type Miss = readonly [name: string, wrong: string, found: string, hint: string, right: string]

const inAgent = (member: string): string => `agent a { ${member} }`

const MISSES: readonly Miss[] = [
  [
    'metadata without separators',
    'metadata { version "1" }',
    'E100 1:20',
    'version = "1.0"',
    'metadata { version = "1.0" }',
  ],
  ['metadata without keys', 'metadata { = "x" }', 'E100 1:12', 'version = "1.0"', 'metadata { version = "1.0" }'],
  ['a key in quotes', 'metadata { "version" = "1" }', 'E100 1:12', 'version = "1.0"', 'metadata { version = "1.0" }'],
  ['a mistyped item', 'agnet x {}', 'E110 1:1', 'Did you mean "agent"?', 'agent x {}'],
  ['an item in capitals', 'Policy p { deny: "x" }', 'E110 1:1', 'Did you mean "policy"?', 'policy p { deny: "x" }'],
  [
    'a with-block at the top level',
    'with { sandbox = "docker" }',
    'E110 1:1',
    'agent name { with sandbox = "docker", timeout = 5.minutes {} }',
    'agent name { with sandbox = "docker", timeout = 5.minutes {} }',
  ],
  [
    'capabilities at the top level',
    'capabilities = ["read"]',
    'E110 1:1',
    'agent name { capabilities = ["read"] }',
    'agent name { capabilities = ["read"] }',
  ],
  [
    'constraints at the top level',
    'constraints { memory = "512MB" }',
    'E110 1:1',
    'agent name { with timeout = 5.minutes {} policy limits { deny: ["tool"] } }',
    'agent name { with timeout = 5.minutes {} policy limits { deny: ["tool"] } }',
  ],
  [
    'a rule at the top level',
    'allow: "x"',
    'E110 1:1',
    'policy name { allow: ["tool"] }',
    'policy name { allow: ["tool"] }',
  ],
  [
    'an agent without a name',
    'agent {}',
    'E100 1:7',
    'agent name { capabilities = ["read"] }',
    'agent name { capabilities = ["read"] }',
  ],
  [
    'a name in quotes',
    'agent "x" {}',
    'E100 1:7',
    'agent name { capabilities = ["read"] }',
    'agent name { capabilities = ["read"] }',
  ],
  ['a name with a hyphen', 'agent my-agent-2 {}', 'E100 1:7', '"_"', 'agent my_agent_2 {}'],
  ['a letter that looks like another', 'ag\u0435nt x {}', 'E100 1:3', 'write agent', 'agent x {}'],
  ['a foreign letter in a name', 'agent caf\u00e9 {}', 'E100 1:10', 'ASCII letters', 'agent cafe {}'],
  ['a second agent in an agent', inAgent('agent b {}'), 'E110 1:11', 'agent other {}', 'agent other {}'],
  [
    'a memory in an agent',
    inAgent('memory m { store markdown }'),
    'E110 1:11',
    'memory name { store markdown }',
    'agent a {}',
  ],
  [
    'a webhook in an agent',
    inAgent('webhook w { path "/x" }'),
    'E110 1:11',
    'webhook name { path "/in" }',
    'agent a {}',
  ],
  [
    'a schedule in an agent',
    inAgent('schedule s { at: "x" }'),
    'E110 1:11',
    'schedule name { cron: "0 0 8 * * *", agent: "name" }',
    'agent a {}',
  ],
  ['a channel in an agent', inAgent('channel c {}'), 'E110 1:11', 'channel name { platform: "slack" }', 'agent a {}'],
  [
    'metadata in an agent',
    inAgent('metadata { version = "1" }'),
    'E110 1:11',
    'metadata { version = "1.0" }',
    'metadata { version = "1.0" } agent a {}',
  ],
  [
    'a type in an agent',
    inAgent('type T = { a: int }'),
    'E110 1:11',
    'type Name = { field: String }',
    'type Name = { field: String } agent a {}',
  ],
  [
    'constraints in an agent',
    inAgent('constraints { cpu: 1 }'),
    'E110 1:11',
    'with timeout = 5.minutes {}',
    inAgent('with timeout = 5.minutes {}'),
  ],
  [
    'a rule in an agent',
    inAgent('deny: "x"'),
    'E110 1:11',
    'policy name { deny: ["tool"] }',
    inAgent('policy name { deny: ["tool"] }'),
  ],
  [
    'a sandbox alone',
    inAgent('sandbox = "docker"'),
    'E110 1:11',
    'with sandbox = "docker" {}',
    inAgent('with sandbox = "docker" {}'),
  ],
  [
    'a mistyped member',
    inAgent('capabilites = ["x"]'),
    'E110 1:11',
    'Did you mean "capabilities"?',
    inAgent('capabilities = ["x"]'),
  ],
  [
    'commas between members',
    inAgent('with timeout = 5m {}, policy p { deny: "x" }'),
    'E100 1:31',
    'follow each other',
    inAgent('with timeout = 5m {} policy p { deny: "x" }'),
  ],
  ['an agent in a policy', 'policy p { agent b {} }', 'E110 1:12', 'agent other {}', 'agent other {}'],
  ['an agent in metadata', 'metadata { agent b {} }', 'E110 1:12', 'agent other {}', 'agent other {}'],
  ['a webhook in a channel', 'channel c { webhook w { path "x" } }', 'E110 1:13', 'webhook name { path "/in" }', ''],
  [
    'a memory in a function',
    'function f() { memory m { store markdown } }',
    'E110 1:16',
    'memory name { store markdown }',
    '',
  ],
  [
    'attributes in the braces of "with"',
    inAgent('with { sandbox = "docker" }'),
    'E100 1:16',
    'with sandbox = "docker", timeout = 5.minutes {}',
    inAgent('with sandbox = "docker", timeout = 5.minutes {}'),
  ],
  [
    'a policy that is a list',
    'policy p ["a", "b"]',
    'E100 1:10',
    'policy name { allow: ["tool_a", "tool_b"] }',
    'policy name { allow: ["tool_a", "tool_b"] }',
  ],
  [
    'a policy of bare names',
    'policy p { "a", "b", ["c"] }',
    'E100 1:12',
    'allow: ["tool_a", "tool_b"]',
    'policy p { allow: ["tool_a", "tool_b"] }',
  ],
  [
    'a rule without its colon',
    'policy p { allow ["x"] }',
    'E100 1:18',
    'allow: ["tool_a", "tool_b"]',
    'policy p { allow: ["tool_a", "tool_b"] }',
  ],
  [
    'a rule with another sign',
    'policy p { deny = "x" }',
    'E100 1:17',
    'deny: ["tool_a", "tool_b"]',
    'policy p { deny: ["tool_a", "tool_b"] }',
  ],
  [
    'rules with commas',
    'policy p { allow: "a", deny: "b" }',
    'E100 1:22',
    'allow: ["tool_a", "tool_b"]',
    'policy p { allow: "a" deny: "b" }',
  ],
  [
    'a condition behind "when", as in Cedar',
    'policy p { allow: "tool" when invocation.arguments.path == "a.md" }',
    'E100 1:26',
    'allow: "tool" if invocation.arguments.path == "a.md"',
    'policy p { allow: "tool" if invocation.arguments.path == "a.md" }',
  ],
  [
    'a condition behind "unless", as in Cedar',
    'policy p { allow: "tool" unless invocation.arguments.path == "a.md" }',
    'E100 1:26',
    'allow: "tool" if !(invocation.arguments.path == "a.md")',
    'policy p { allow: "tool" if !(invocation.arguments.path == "a.md") }',
  ],
  [
    'a pattern, as in Cedar',
    'policy p { allow: "tool" if invocation.arguments.path like "a*" }',
    'E100 1:55',
    'if invocation.arguments.path in ["a.md", "b.md"]',
    'policy p { allow: "tool" if invocation.arguments.path in ["a.md", "b.md"] }',
  ],
  [
    'a rule that permits, as in Cedar',
    'policy p { permit: "x" }',
    'E100 1:12',
    'allow: ["tool_a", "tool_b"]; Cedar stands in files of the folder policies',
    'policy p { allow: ["tool_a", "tool_b"] }',
  ],
  [
    'a rule that forbids, as in Cedar',
    'policy p { forbid(principal, action, resource); }',
    'E100 1:12',
    'deny: ["tool_a", "tool_b"]; Cedar stands in files of the folder policies',
    'policy p { deny: ["tool_a", "tool_b"] }',
  ],
  [
    'a Cedar policy in a file of agents',
    'permit(principal, action, resource);',
    'E110 1:1',
    'Cedar stands in files of the folder policies',
    'policy name { allow: ["tool"] }',
  ],
  ['a mistyped effect', 'policy p { alow: "a" }', 'E100 1:12', 'Did you mean "allow"?', 'policy p { allow: "a" }'],
  [
    'a rule that names a tool as code',
    'policy p { allow: execute_tool(fs::read) }',
    'E100 1:34',
    'allow: ["read_file"]',
    'policy p { allow: ["read_file"] }',
  ],
  [
    'a target that is no text',
    'policy p { deny: delegate::reviewer }',
    'E100 1:26',
    'allow: ["delegate::reviewer"]',
    'policy p { deny: ["delegate::reviewer"] }',
  ],
  [
    '"and" in a condition',
    'policy p { deny: "x" if context.a and context.b }',
    'E100 1:35',
    'Write &&',
    'policy p { deny: "x" if context.a && context.b }',
  ],
  [
    '"or" in a condition',
    'policy p { deny: "x" if context.a or !context.b }',
    'E100 1:35',
    'Write ||',
    'policy p { deny: "x" if context.a || !context.b }',
  ],
  [
    '"=" in a condition',
    'policy p { deny: "x" if context.a = 1 }',
    'E100 1:35',
    '==',
    'policy p { deny: "x" if context.a == 1 }',
  ],
  [
    '"=" in a condition in parentheses',
    'policy p { deny: "x" if (context.a = 1) }',
    'E100 1:36',
    '==',
    'policy p { deny: "x" if (context.a == 1) }',
  ],
  ['"=" in the head of an if', 'function f() { if a = 1 {} }', 'E100 1:21', '==', 'function f() { if a == 1 {} }'],
  [
    '"while"',
    'function f() { while a < 1 { g(); } }',
    'E100 1:16',
    'for item in items { … }',
    'function f() { for item in items { g(); } }',
  ],
  [
    '"while" with parentheses',
    'function f() { while (a) { g(); } }',
    'E100 1:16',
    'for item in items { … }',
    'function f() { for item in items { g(); } }',
  ],
  [
    'a let without its end',
    'function f() { let x = 1 let y = 2; }',
    'E100 1:24',
    'end with ;',
    'function f() { let x = 1; let y = 2; }',
  ],
  ['separators in a memory', 'memory m { store = markdown }', 'E100 1:18', 'store markdown', ''],
  ['separators in a webhook', 'webhook w { path: "/in" }', 'E100 1:17', 'path "/in"', ''],
  [
    'a missing comma in a list',
    inAgent('capabilities = ["a" "b"]'),
    'E100 1:31',
    '["a", "b"]',
    inAgent('capabilities = ["a", "b"]'),
  ],
  ['single quotes', "metadata { version = 'x' }", 'E100 1:22', '"…"', 'metadata { version = "x" }'],
  ['typographic quotes', 'metadata { version = \u201cx\u201d }', 'E100 1:22', '"…"', 'metadata { version = "x" }'],
  ['triple quotes', 'metadata { version = """x""" }', 'E100 1:22', '"…"', 'metadata { version = "x" }'],
  ['a block comment', '/* x */ agent a {}', 'E100 1:1', '// or #', '// x\nagent a {}'],
  [
    'milliseconds',
    inAgent('with timeout = 30ms {}'),
    'E120 1:26',
    'no milliseconds',
    inAgent('with timeout = 30.seconds {}'),
  ],
  [
    'a unit in words',
    inAgent('with timeout = 5min {}'),
    'E120 1:26',
    '.minutes',
    inAgent('with timeout = 5.minutes {}'),
  ],
  [
    'a unit in the singular',
    inAgent('with timeout = 1.minute {}'),
    'E120 1:26',
    '.minutes',
    inAgent('with timeout = 1.minutes {}'),
  ],
  ['a size', 'metadata { version = 512MB }', 'E120 1:22', '"512MB"', 'metadata { version = "512MB" }'],
  ['an exponent', 'metadata { version = 1e6 }', 'E120 1:22', '1_000_000', 'metadata { version = 1_000_000 }'],
]

test.each(MISSES)('%s is refused with a hint', (_name, wrong, found, hint) => {
  const errors = parse(wrong).diagnostics
  expect(errors.map(codeAt)).toEqual([found])
  expect(errors[0]).toMatchObject({ kind: 'syntax', hint: expect.stringContaining(hint) } satisfies Partial<Diagnostic>)
})

test.each(MISSES)('%s is accepted as the hint shows it', (_name, _wrong, _found, _hint, right) => {
  expect(checkOf(right)).toEqual([])
})

test('a pattern is a name like any other for the grammar', () => {
  expect(parse('policy p { allow: "*" deny: ["tool_*"] }').diagnostics).toEqual([])
})

test('the letter that looks like another is named, and so is the one it resembles', () => {
  const [error] = parse('agent r\u0435viewer {}').diagnostics
  expect(error?.message).toBe(
    'the name "r\u0435viewer" holds "\u0435" (U+0435), which only looks like the ASCII letter "e"',
  )
})

test('what has no name is named with its article', () => {
  expect(parse('agent 5 {}').diagnostics[0]?.message).toMatch(/^an agent needs a name, and /)
  expect(parse('policy 5 {}').diagnostics[0]?.message).toMatch(/^a policy needs a name, and /)
})

test('a word that is like no other gets a list of what there is', () => {
  const [error] = parse('zebra x {}').diagnostics
  expect(error?.hint).toMatch(/^A file holds metadata, agent, policy/)
})

test('messages stay short, however long the names in a source are', () => {
  const blocks = Array.from({ length: 60 }, (_, index) => `memory m${index} {}`).join(' ')
  const { diagnostics } = parse(`agent ${'x'.repeat(50_000)} { ${blocks} }`)
  expect(diagnostics.length).toBeGreaterThan(10)
  expect(JSON.stringify(diagnostics).length).toBeLessThan(diagnostics.length * 1000)
})

test.each([
  ['with { x = a + b; }', []],
  ['with { x = [a, b]; }', []],
  ['with { x = a in b; }', []],
  ['with { x = not a; }', []],
  ['with { x = if a { 1 } else { 2 }; }', []],
  ['with { x = f(1).y; }', []],
  ['with { sandbox = "docker" }', ['E100']],
  ['with { sandbox = "docker", timeout = 5.minutes }', ['E100']],
  ['with { sandbox = "docker" timeout = 5.minutes }', ['E100']],
])('a with-block that begins with an assignment is told from one with its attributes inside: %s', (text, codes) => {
  expect(parse(`agent a { ${text} }`).diagnostics.map(({ code }) => code)).toEqual(codes)
})

test.each([
  ['function f() { metadata { a: 1 } }', []],
  ['function f() { metadata {} }', []],
  ['function f() { metadata { "a b": 1, c: 2 }; }', []],
  ['function f() { metadata { a: 1 }.a = 2; metadata { b: metadata {} } }', []],
  ['function f() { if x { metadata { a: 1 } } else { metadata { a: 2 } } }', []],
  ['agent a { with timeout = 1s { metadata { a: 1 } } }', []],
  ['function f() { metadata { version = "1" } }', ['E110 1:16']],
  ['function f() { metadata { version "1" } }', ['E110 1:16']],
  ['agent a { metadata { version: "1" } }', ['E110 1:11']],
  ['policy p { metadata {} }', ['E110 1:12']],
  ['memory m { metadata { version: "1" } }', ['E110 1:12']],
  ['function f() { let x = 1;\nmetadata { version: "1" }', ['E101 1:14']],
])(
  'metadata in a block is a record where it has the form of one, and else an item in the wrong place: %s',
  (text, codes) => {
    const { diagnostics } = parse(text)
    expect(diagnostics.map(({ code, start }) => `${code} ${start.line}:${start.column}`)).toEqual(codes)
  },
)
