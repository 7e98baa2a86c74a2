/** What every route refuses although the grammar takes it, and what it only warns about. */
import { describe, expect, test } from 'vitest'
import { checkSource, parse } from '../../src/dsl/index.ts'
import { checkOf, codeAt } from './found.ts'

const hintOf = (text: string, code: string): string => {
  const found = checkSource(parse(text)).find((diagnostic) => diagnostic.code === code)
  if (found === undefined) throw new Error(`${code} is not found`)
  return found.hint ?? ''
}

test('two agents with a schedule beside them: what holds, and what is refused by name', () => {
  const desk = `# two agents of one desk
metadata { version = "0.3", author: "the desk", description = "Answers, and changes nothing" }
policy desk_rules {
    deny: ["reboot", "delegate::stranger"]     // binds both
}
agent clerk {
    capabilities = ["read"]
    with sandbox = "gvisor", timeout = 45.seconds {}
    policy letters_only {
        allow: "read_file" if invocation.arguments.path in ["letters/in.md", "letters/out.md"]
        deny:  "read_file" if invocation.arguments.offset != "" && invocation.arguments.offset != "0"
    }
}
agent archivist {
    with sandbox = "Tier1", timeout = "1m 30s" {}
    policy search_only { allow: ["search", "delegate::clerk"] }
}
`
  expect(checkOf(desk)).toEqual([])
  expect(
    checkOf(`${desk}schedule nightly { cron: "0 15 3 * * *", timezone: "Europe/Oslo", agent: "archivist" }`),
  ).toEqual(['E180 18:1'])
})

describe('metadata', () => {
  test.each([
    ['every descriptive key', 'metadata { version = "1" author: "a" description: "d" license: "MIT" tags: ["x"] }', []],
    ['an unknown key', 'metadata { licence = "MIT" }', ['W210 1:12']],
    ['a key that stands twice', 'metadata { version = "1", version = "2" }', ['E150 1:27']],
    ['a key that stands in two blocks', 'metadata { version = "1" }\nmetadata { version = "1" }', ['E150 2:12']],
    ['the reasoning loop', 'metadata { executor = "orga" }', []],
    ['the reasoning loop as a word', 'metadata { executor = orga }', []],
    ['another executor', 'metadata { executor = "claude_code" }', ['E180 1:23']],
    ['an executor that is no text', 'metadata { executor = 1 }', ['E180 1:23']],
    ['an approval that nobody would ask for', 'metadata { human_approval = true }', ['W210 1:12']],
    ['an approval that is no literal', 'metadata { human_approval = "true" }', ['E180 1:29']],
    ['an approval that is maybe', 'metadata { human_approval = maybe }', ['E180 1:29']],
    ['keys of a managed command line', 'metadata { model = "m", allowed_tools = "a,b" }', ['W210 1:12', 'W210 1:25']],
  ])('%s', (_name, text, found) => {
    expect(checkOf(text)).toEqual(found)
  })

  test('a mistyped key leads to the right one', () => {
    expect(hintOf('metadata { autor = "a" }', 'W210')).toBe('Did you mean "author"?')
  })
})

describe('with-blocks', () => {
  const inAgent = (...blocks: readonly string[]): string =>
    `agent a {\n${blocks.map((block) => `with ${block} {}`).join('\n')}\n}`

  test.each([
    ['docker', 'sandbox = "docker"', []],
    ['tier1', 'sandbox = tier1', []],
    ['gVisor, in other letters', 'sandbox = "gVisor"', []],
    ['TIER3', 'sandbox = "TIER3"', []],
    ['no isolation', 'sandbox = "none"', ['E130 2:16']],
    ['the lowest tier', 'sandbox = tier0', ['E130 2:16']],
    ['a tier of the project', 'sandbox = "landlock"', ['E130 2:16']],
    ['nothing', 'sandbox = ""', ['E130 2:16']],
    ['a number', 'sandbox = 1', ['E130 2:16']],
    ['a list', 'sandbox = ["docker"]', ['E130 2:16']],
    ['a sandbox in the cloud', 'sandbox = "e2b"', ['E180 2:16']],
    ['the name of a method', 'sandbox = "constructor"', ['E130 2:16']],
  ])('a sandbox: %s', (_name, block, found) => {
    expect(checkOf(inAgent(block))).toEqual(found)
  })

  test.each([
    ['a long duration', '90.seconds', []],
    ['a short duration', '5m', []],
    ['a day', '1d', []],
    ['a text', '"30m"', []],
    ['a text with two units', '"1h 30m"', []],
    ['a number of seconds', '300', []],
    ['a number in groups', '86_400', []],
    ['nothing', '0', ['E130 2:16']],
    ['a second too many', '86_401', ['E130 2:16']],
    ['two days', '2d', ['E130 2:16']],
    ['a month', '1months', ['E130 2:16']],
    ['more than there is', '99999999999999999999', ['E130 2:16']],
    ['a fraction', '1.5', ['E130 2:16']],
    ['a text without a unit', '"300"', ['E130 2:16']],
    ['a text with another unit', '"30ms"', ['E130 2:16']],
    ['an empty text', '""', ['E130 2:16']],
    ['a text that adds up to too much', '"23h 90m"', ['E130 2:16']],
    ['a word', 'soon', ['E130 2:16']],
    ['a list', '[30]', ['E130 2:16']],
  ])('a timeout: %s', (_name, value, found) => {
    expect(checkOf(inAgent(`timeout = ${value}`))).toEqual(found)
  })

  test('milliseconds are recognised for what they are', () => {
    expect(hintOf(inAgent('timeout = 300000'), 'E130')).toMatch(
      /^A bare number is seconds, not milliseconds: write 300 or/,
    )
    expect(hintOf(inAgent('timeout = 90001'), 'E130')).not.toContain('milliseconds')
  })

  test.each([
    ['the same sandbox again', ['sandbox = "docker"', 'sandbox = "Tier1"'], []],
    ['the same timeout again', ['timeout = 5m', 'timeout = "300s"', 'timeout = 300'], []],
    ['a timeout in a block of its own', ['sandbox = docker', 'timeout = 5m'], []],
    ['another sandbox', ['sandbox = "docker"', 'sandbox = "gvisor"'], ['E131 3:6']],
    ['another timeout', ['timeout = 5m', 'timeout = 6m'], ['E131 3:6']],
    ['two values in one block', ['timeout = 5m, timeout = 6m'], ['E131 2:20']],
    ['a second sandbox that is none', ['sandbox = "docker"', 'sandbox = "none"'], ['E130 3:16']],
  ])('more than one: %s', (_name, blocks, found) => {
    expect(checkOf(inAgent(...blocks))).toEqual(found)
  })

  test('two that contradict each other are told with both places', () => {
    const [conflict] = checkSource(parse(inAgent('timeout = 5m', 'timeout = 6m')))
    expect(conflict?.related).toMatchObject([{ start: { line: 2, column: 6 } }])
  })

  test('of two agents each has its own', () => {
    expect(checkOf('agent a { with timeout = 5m {} } agent b { with timeout = 6m {} }')).toEqual([])
  })

  test.each(['memory = "512MB"', 'privacy = "strict"', 'max_cpu_cores = 2', 'requires = ["x"]', 'sandboxx = "docker"'])(
    'an attribute without effect is a warning: %s',
    (block) => {
      const found = checkSource(parse(inAgent(block)))
      expect(found.map(codeAt)).toEqual(['W200 2:6'])
      expect(found[0]?.kind).toBe('warning')
    },
  )
})

describe('schedules, channels, webhooks and memories', () => {
  const E180 = 'E180 1:1'
  test.each([
    ['a schedule', 'schedule s { cron: "0 0 8 * * *" }', []],
    [
      'with every field',
      'schedule s { cron: "*/5 0-30 8,9 ? JAN-MAR MON 2030" timezone: "UTC" agent: a policy: "p" audit: none one_shot: true deliver: "slack://ops" }',
      [],
    ],
    ['at a moment', 'schedule s { at: "2030-02-28T08:00:00+01:00", one_shot: "true" }', []],
    ['without a time', 'schedule s {}', ['E140 1:10']],
    ['with two times', 'schedule s { cron: "0 0 8 * * *" at: "2030-01-31T08:00:00Z" }', ['E140 1:34']],
    ['with five fields', 'schedule s { cron: "0 8 * * *" }', ['E140 1:20']],
    ['with eight fields', 'schedule s { cron: "0 0 8 * * * 2030 1" }', ['E140 1:20']],
    ['with a minute that is none', 'schedule s { cron: "0 60 8 * * *" }', ['E140 1:20']],
    ['with a word', 'schedule s { cron: daily }', ['E140 1:20']],
    ['on a day that is none', 'schedule s { at: "2030-02-29T08:00:00Z" }', ['E140 1:18']],
    ['at a time without its offset', 'schedule s { at: "2030-02-28T08:00:00" }', ['E140 1:18']],
    ['in no time zone', 'schedule s { cron: "0 0 8 * * *" timezone: "Oslo time" }', ['E140 1:44']],
    ['with another audit', 'schedule s { cron: "0 0 8 * * *" audit: some }', ['E140 1:41']],
    ['with an unknown field', 'schedule s { cron: "0 0 8 * * *" timezon: "UTC" }', ['E140 1:34']],
    ['with a field that stands twice', 'schedule s { cron: "0 0 8 * * *" agent: a agent: b }', ['E150 1:43']],
    ['a channel', 'channel c { platform: "slack" workspace: "w" channels: ["a", "b"] default_deny: true }', []],
    ['a channel without a platform', 'channel c { workspace: "w" }', ['E140 1:9']],
    ['a channel with an unknown field', 'channel c { platform: slack, agent: a }', ['E140 1:30']],
    ['a channel whose channels are one', 'channel c { platform: slack channels: "a" }', ['E140 1:39']],
    ['a classification', 'channel c { platform: slack data_classification { a: redact, b: block c: allow } }', []],
    ['a classification that is none', 'channel c { platform: slack data_classification { a: hide } }', ['E140 1:54']],
    [
      'a webhook',
      'webhook w { path "/x" provider stripe secret vault://a agent r filter { json_path "$.a" equals "b" } }',
      [],
    ],
    ['a webhook without a path', 'webhook w { agent r }', ['E140 1:9']],
    ['a webhook of an unknown provider', 'webhook w { path "/x" provider gitlab }', ['E140 1:32']],
    ['a filter with an unknown field', 'webhook w { path "/x" filter { matches "x" } }', ['E140 1:32']],
    [
      'a memory',
      'memory m { store markdown path "data" retention 30d search { vector_weight 0.5 keyword_weight 0.5 } }',
      [],
    ],
    ['an empty memory', 'memory m {}', []],
    ['a memory in another store', 'memory m { store redis }', ['E140 1:18']],
    ['a memory that keeps for a number', 'memory m { retention 90 }', ['E140 1:22']],
    ['a weight beyond one', 'memory m { search { vector_weight 1.5 } }', ['E140 1:35']],
  ])('%s', (_name, text, found) => {
    expect(checkOf(text)).toEqual([E180, ...found])
  })

  test('nothing is said to be missing from one that was not understood', () => {
    expect(checkOf('schedule s { cron "0 0 8 * * *" }')).toEqual([E180, 'E100 1:19'])
    expect(checkOf('schedule s { crn = = }')).toEqual([E180, 'E100 1:20'])
  })
})

describe('names', () => {
  test.each([
    ['agents', 'agent a {}\nagent b {}\nagent a {}', ['E150 3:7']],
    ['types', 'type T = U type T = V', ['E150 1:17']],
    ['functions', 'function f() {} function f() {}', ['E150 1:26']],
    ['policies of the file', 'policy p { deny: "x" }\npolicy p { deny: "y" }', ['E150 2:8']],
    [
      'a policy of the file and one of an agent',
      'policy p { deny: "x" }\nagent a { policy p { deny: "y" } }',
      ['E150 2:18'],
    ],
  ])('two %s have one name', (_name, text, found) => {
    expect(checkOf(text)).toEqual(found)
  })

  test('an agent and a type may share one, and so may policies of two agents', () => {
    expect(checkOf('type a = b agent a { policy p { deny: "x" } } agent b { policy p { deny: "x" } }')).toEqual([])
  })

  test('the first of two is told as well', () => {
    const [twice] = checkSource(parse('agent a {}\nagent a {}'))
    expect(twice).toMatchObject({ kind: 'unsupported', related: [{ start: { line: 1, column: 7 } }] })
  })
})

describe('policies', () => {
  test.each([
    ['what can be enforced', 'policy p { allow: ["a"] deny: "b" if context.c == 1 }', []],
    ['a rule that nobody enforces', 'policy p { require: "a" }\npolicy q { audit: "a" }', ['E170 1:12', 'E170 2:12']],
    ['an empty block', 'policy p {}', ['E170 1:8']],
    ['a condition that nobody evaluates', 'policy p { deny: "a" if f(1) }', ['E171 1:25']],
  ])('%s', (_name, text, found) => {
    expect(checkOf(text)).toEqual(found)
  })

  test('what binds several agents is told once', () => {
    expect(checkOf('policy p { require: "x" }\nagent a {}\nagent b {}\nagent c { policy q { audit: "y" } }')).toEqual([
      'E170 1:12',
      'E170 4:22',
    ])
  })
})

test('everything is told in the order of its place, whoever found it', () => {
  const text =
    'metadata { x = "\\q" }\nagent a { with sandbox = "none", y = 1 {} foo policy p { audit: "x" } }\nagnet b {}\nagent a {}'
  expect(checkOf(text)).toEqual([
    'W210 1:12',
    'W211 1:17',
    'E130 2:26',
    'W200 2:34',
    'E110 2:43',
    'E170 2:58',
    'E110 3:1',
    'E150 4:7',
  ])
})

test('a thousand warnings leave room for the refusal behind them', () => {
  const attributes = Array.from({ length: 1000 }, (_, at) => `x${at} = 1`).join(', ')
  const found = checkSource(parse(`agent a { with ${attributes} {} }\nagent a {}`))
  expect(found).toHaveLength(100)
  expect(found.map(codeAt)).toContain('E150 2:7')
})

describe('what would be ignored, or is too long for where it must stand', () => {
  const name = (length: number): string => 'n'.repeat(length)
  test.each([
    ['an agent of 128 letters', `agent ${name(128)} {}`, []],
    ['an agent of 129 letters', `agent ${name(129)} {}`, ['E172 1:7']],
    ['a policy of 129 letters', `agent a { policy ${name(129)} { allow: true } }`, ['E172 1:18']],
    ['a policy of 129 letters for the whole file', `policy ${name(129)} { deny: false }`, ['E172 1:8']],
    ['a rule about replies', 'policy p { deny: "respond" }', ['E170 1:18']],
    [
      'a rule about the end of a run, in a list',
      'agent a { policy p { allow: ["look", "terminate"] } }',
      ['E170 1:38'],
    ],
  ])('%s', (_what, text, found) => {
    expect(checkOf(text)).toEqual(found)
  })
})
