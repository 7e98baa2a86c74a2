import { expect, test } from 'vitest'
import { canonicalProblems, parse, selectAgent } from '../../src/dsl/index.ts'

/** Each as `line:column message`. */
function problemsOf(text: string, selector = 'r'): readonly string[] {
  const parsed = parse(text)
  return canonicalProblems(parsed, selectAgent(parsed, selector).agent).map((problem) => {
    expect(problem).toMatchObject({ kind: 'unsupported', code: 'E180', hint: expect.any(String) })
    return `${problem.start.line}:${problem.start.column} ${problem.message}`
  })
}

test.each([
  ['nothing in it', 'agent r {}'],
  ['empty parentheses', 'agent r() {}'],
  [
    'all the metadata there is',
    'metadata { version = "1", description: "d" author = "a", executor = "orga" } agent r {}',
  ],
  ['capabilities', 'agent r { capabilities = ["read", "write",] }'],
  ['an empty list of capabilities', 'agent r { capabilities: [] }'],
  ['policies of its own and of the file', 'policy a { deny: "x" } agent r { policy b { allow: true } }'],
  ['a sandbox and a timeout', 'agent r { with sandbox = "docker", timeout = "2m" {} }'],
  ['them in two blocks', 'agent r { with sandbox = "docker" {} with timeout = 90 {} }'],
])('an agent with %s can be delegated to', (_, text) => {
  expect(problemsOf(text)).toEqual([])
})

test.each([
  [
    'a schedule',
    'agent r {}\nschedule s { cron: "0 0 2 * * *" }',
    '2:1 the file of an agent that is delegated to holds schedule "s"',
  ],
  [
    'a channel',
    'channel c { platform: "slack" } agent r {}',
    '1:1 the file of an agent that is delegated to holds channel "c"',
  ],
  [
    'a webhook',
    'webhook w { path "/x" } agent r {}',
    '1:1 the file of an agent that is delegated to holds webhook "w"',
  ],
  [
    'a memory',
    'memory m { store markdown } agent r {}',
    '1:1 the file of an agent that is delegated to holds memory "m"',
  ],
  ['a type', 'type T = { x: String } agent r {}', '1:1 the file of an agent that is delegated to holds type "T"'],
  [
    'a function beside it',
    'function f() {} agent r {}',
    '1:1 the file of an agent that is delegated to holds function "f"',
  ],
  [
    'metadata of another key',
    'metadata { license = "MIT" } agent r {}',
    '1:12 metadata "license" has no effect on an agent that is delegated to',
  ],
  ['metadata that is a name', 'metadata { author = me } agent r {}', '1:21 metadata "author" is no string'],
  ['metadata that is a list', 'metadata { author = ["me"] } agent r {}', '1:21 metadata "author" is no string'],
  ['another executor', 'metadata { executor = "claude_code" } agent r {}', '1:23 there is no executor "claude_code"'],
  ['an executor in capitals', 'metadata { executor = "ORGA" } agent r {}', '1:23 there is no executor "ORGA"'],
  ['parameters', 'agent r(task: String, n: int) {}', '1:9 the agent has a parameter "task"'],
  ['a return type', 'agent r() -> String {}', '1:14 the agent has a return type "String"'],
  ['a function', 'agent r { function f() { return 1; } }', '1:11 the agent has a function "f"'],
  [
    'two lists of capabilities',
    'agent r { capabilities = ["a"] capabilities = ["b"] }',
    '1:32 the agent has a second list of capabilities',
  ],
  ['a capability that is a name', 'agent r { capabilities = ["a", b] }', '1:32 a capability is no string'],
  ['another attribute', 'agent r { with memory = "1GB" {} }', '1:16 the attribute "memory" has no effect'],
  ['a hosted sandbox', 'agent r { with sandbox = "E2B" {} }', '1:26 the sandbox "e2b" does not exist here'],
  ['a statement in the with-block', 'agent r { with timeout = 9s { let x = 1; } }', '1:31 the with-block holds code'],
  ['a value in the with-block', 'agent r { with timeout = 9s { run() } }', '1:31 the with-block holds code'],
])('an agent with %s cannot, and the construct is named with its place', (_, text, problem) => {
  expect(problemsOf(text)).toEqual([problem])
})

test('what a sibling holds is no problem, and what the file holds is one of everybody', () => {
  const text = 'agent r {}\nagent s(x: String) { function f() {} }\ntype T = String'
  expect(problemsOf(text)).toEqual(['3:1 the file of an agent that is delegated to holds type "T"'])
  expect(problemsOf(text, 's').map((problem) => problem.slice(0, 4))).toEqual(['2:9 ', '2:22', '3:1 '])
})
