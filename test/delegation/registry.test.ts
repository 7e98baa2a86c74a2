import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AgentFolder, type AgentRegistry, buildRegistry } from '../../src/delegation/index.ts'
import { agentsOf, checkSource, parse } from '../../src/dsl/index.ts'

const folderOf = (files: Readonly<Record<string, string>>): AgentFolder => ({
  files: Object.entries(files).map(([file, text]) => ({ file, text })),
  unread: null,
})
const of = (files: Readonly<Record<string, string>>): AgentRegistry => buildRegistry(folderOf(files))
const namesOf = ({ targets }: AgentRegistry): readonly string[] => targets.map(({ name }) => name)
const reasonOf = (registry: AgentRegistry, name: string): string => {
  const resolved = registry.resolve(name)
  return resolved.kind === 'Unavailable' ? resolved.reason : resolved.kind
}

test('the stem of a file with one agent and the name of that agent are one target [X1]', () => {
  const registry = of({
    'alias.symbi': 'metadata { description = "Reads" }\nagent reviewer { capabilities = ["read"] }\n',
  })
  const byName = registry.resolve('reviewer')
  expect(byName).toEqual(registry.resolve('alias'))
  expect(byName).toMatchObject({
    kind: 'Target',
    target: {
      name: 'reviewer',
      principal: 'cff02623-b268-5127-8e96-9f31668f2d24',
      description: 'Reads',
      declaration: 'agent reviewer { capabilities = ["read"] }',
      timeout_seconds: null,
      sandbox_tier: null,
    },
  })
  expect(namesOf(registry)).toEqual(['reviewer'])
})

test('an agent without a description gets one, and its settings travel with it', () => {
  const registry = of({ 'a.dsl': 'agent calm { with sandbox = "gvisor", timeout = 90.seconds {} }' })
  expect(registry.targets[0]).toMatchObject({
    description: 'calm (.symbi agent)',
    timeout_seconds: 90,
    sandbox_tier: 'tier2',
  })
})

test.each([
  ['a name that two files declare', { 'a.symbi': 'agent x {}', 'b.symbi': 'agent x {}' }, ['a', 'b', 'x']],
  ['an alias that another file declares', { 'x.symbi': 'agent y {}', 'b.symbi': 'agent x {}' }, ['b', 'x', 'y']],
  ['two files of one stem', { 'x.symbi': 'agent y {}', 'x.dsl': 'agent z {}' }, ['x', 'y', 'z']],
  [
    'a name that a malformed file declares as well',
    { 'a.symbi': 'agent x {}', 'b.symbi': 'agent x {' },
    ['a', 'b', 'x'],
  ],
  ['the stem of a malformed file', { 'x.symbi': 'nonsense', 'b.symbi': 'agent x {}' }, ['b', 'x']],
  [
    'the stem of a file with several agents',
    { 'x.symbi': 'agent p {} agent q {}', 'b.symbi': 'agent x {}' },
    ['b', 'x'],
  ],
])('%s takes every name from all of them, in whatever order they are read [X1]', (_, files, lost) => {
  const others = { 'fine.symbi': 'agent fine {}', ...files }
  const forwards = of(others)
  const backwards = of(Object.fromEntries(Object.entries(others).reverse()))
  for (const name of lost) expect(reasonOf(forwards, name)).toContain('agents/')
  expect(namesOf(forwards)).toContain('fine')
  expect(namesOf(forwards)).not.toEqual(expect.arrayContaining([...lost]))
  expect([...backwards.unavailable]).toEqual([...forwards.unavailable])
  expect(backwards.targets).toEqual(forwards.targets)
})

test('the reason of a contested name says where everything stands that has it', () => {
  const registry = of({ 'a.symbi': 'agent x {}', 'b.symbi': '\n  agent x {}' })
  expect(reasonOf(registry, 'x')).toBe('the name "x" stands for 2 things: agents/a.symbi:1:7; agents/b.symbi:2:9')
  expect(reasonOf(registry, 'b')).toBe(
    'agents/b.symbi:2:9: this agent also has the name "x", and so has something else',
  )
})

test('a file with several agents is not addressed by its stem, unless an agent has that name [X1]', () => {
  const registry = of({ 'desk.symbi': 'agent a {} agent b {}', 'c.symbi': 'agent c {} agent d {}' })
  expect(namesOf(registry)).toEqual(['a', 'b', 'c', 'd'])
  expect(reasonOf(registry, 'desk')).toBe('agents/desk.symbi: it declares 2 agents; name one of them: a, b')
  expect(registry.resolve('c')).toMatchObject({ kind: 'Target', target: { name: 'c' } })
  expect([...registry.unavailable]).toEqual([]) // it is how such a file is meant, so nobody is warned
})

test.each([
  ['a file of nothing', '', 'x', 'agents/x.symbi: it declares no agent'],
  ['a brace that is never closed', 'agent r {', 'r', 'agents/x.symbi:1:9: E101'],
  ['an unknown keyword', '\n  agnet r {}', 'x', 'agents/x.symbi:2:3: E110'],
  ['a unit that does not exist', 'agent r { with timeout = 30ms {} }', 'r', 'agents/x.symbi:1:26: E120'],
  ['a letter that looks like another', 'agent r\u0435viewer {}', 'x', 'agents/x.symbi:1:8: E100'],
  [
    'two agents of one name',
    'agent r {}\nagent r {}',
    'r',
    'agents/x.symbi:2:7: a second agent of this file is called "r"',
  ],
  ['a schedule', 'agent r {}\nschedule s { cron: "0 0 2 * * *" }', 'r', 'agents/x.symbi:2:1: E180'],
  ['parameters', 'agent r(x: String) {}', 'r', 'agents/x.symbi:1:9: E180'],
  ['a rule that nothing enforces', 'agent r { policy p { require: "x" } }', 'r', 'agents/x.symbi:1:22: E170'],
  ['another executor', 'metadata { executor = "claude_code" } agent r {}', 'r', 'agents/x.symbi:1:23: E180'],
  ['a sandbox that does not exist', 'agent r { with sandbox = "e2b" {} }', 'r', 'agents/x.symbi:1:26: E180'],
  ['a timeout beyond a day', 'agent r { with timeout = 300000 {} }', 'r', 'agents/x.symbi:1:'],
])('%s makes the name unavailable with its file and place, and others stay available', (_, text, name, reason) => {
  const registry = of({ 'x.symbi': text, 'fine.symbi': 'agent fine {}' })
  expect(reasonOf(registry, name)).toMatch(reason)
  expect(reasonOf(registry, 'x')).toMatch(/^agents\/x\.symbi:/)
  expect(namesOf(registry)).toEqual(['fine'])
})

test('a sibling that cannot be used leaves the other agents of its file alone', () => {
  const registry = of({ 'desk.symbi': 'agent a(x: String) {}\nagent b { with sandbox = "none" {} }\nagent c {}' })
  expect(namesOf(registry)).toEqual(['c'])
  expect(reasonOf(registry, 'a')).toContain('agents/desk.symbi:1:9: E180')
  expect(reasonOf(registry, 'b')).toContain('agents/desk.symbi:2:26: E130')
})

test('what is wrong for the whole file is wrong for each of its agents', () => {
  const registry = of({ 'desk.symbi': 'policy house { audit: "x" }\nagent a {}\nagent b {}' })
  expect(namesOf(registry)).toEqual([])
  expect(reasonOf(registry, 'a')).toContain('agents/desk.symbi:1:16: E170')
  expect(reasonOf(registry, 'b')).toContain('agents/desk.symbi:1:16: E170')
})

test('where more is wrong than is told, no agent of the file is taken for fine', () => {
  const rules = Array.from({ length: 120 }, (_, at) => `require: "x${at}"`).join(' ')
  const registry = of({
    'desk.symbi': `agent a { policy p { ${rules} } }\nagent b { with sandbox = "none" {} }\nagent c {}`,
  })
  expect(namesOf(registry)).toEqual([])
  expect(reasonOf(registry, 'c')).toMatch(/^agents\/desk\.symbi:1:22: E170 .* \(and \d+ more\)$/)
})

test('a hundred warnings keep nobody away', () => {
  const text = `agent a { capabilities = [${'"\\q", '.repeat(120)}] }\nagent b {}`
  expect(checkSource(parse(text))).toHaveLength(100)
  expect(namesOf(of({ 'desk.symbi': text }))).toEqual(['a', 'b'])
})

test('ten thousand nested braces and a string of a mebibyte are refused with their place', () => {
  const deep = `agent r { with timeout = 1s ${'{ if x '.repeat(10_000)}${'}'.repeat(10_000)} }`
  const long = `agent l { capabilities = ["${'x'.repeat(1024 * 1024 - 100)}" }`
  const registry = of({ 'deep.symbi': deep, 'long.symbi': long, 'fine.symbi': 'agent fine {}' })
  expect(reasonOf(registry, 'deep')).toMatch(/^agents\/deep\.symbi:1:\d+: E103/)
  expect(reasonOf(registry, 'long')).toMatch(/^agents\/long\.symbi:1:\d+: E101/)
  expect(reasonOf(registry, 'long').length).toBeLessThanOrEqual(400)
  expect(namesOf(registry)).toEqual(['fine'])
})

test('a stem of letters that look like others gives no alias, and the declared name stays', () => {
  const registry = of({ 'r\u0435viewer.symbi': 'agent evil {}' })
  expect(registry.resolve('evil').kind).toBe('Target')
  expect(reasonOf(registry, 'r\u0435viewer')).toContain('can be mistaken for another; use "evil"')
  expect(registry.resolve('reviewer').kind).toBe('Unknown')
})

test('a name that nobody declared is unknown, whatever objects have by nature', () => {
  const registry = of({ 'a.symbi': 'agent a {}' })
  for (const name of ['b', '', '__proto__', 'constructor', 'A']) expect(registry.resolve(name).kind).toBe('Unknown')
})

test('nothing of a registry can be changed', () => {
  const registry = of({ 'a.symbi': 'agent a { policy p { deny: "x" if principal != "y" } }', 'b.symbi': '' })
  expect(() => Object.assign(registry, { resolve: null })).toThrow()
  expect(() => (registry.targets as unknown as object[]).push({})).toThrow()
  expect(() => Object.assign(registry.targets[0]?.policy.blocks[0]?.rules[0] ?? {}, { effect: 'allow' })).toThrow()
  expect(() => Map.prototype.set.call(registry.unavailable, 'b', 'fine')).toThrow()
  expect([...registry.unavailable.keys()]).toEqual(['b'])
})

const agents = (count: number, name = 'a'): string =>
  Array.from({ length: count }, (_, at) => `agent ${name}${at} {}`).join('\n')

test('a file with more agents than fit is left out whole, and what still fits is taken', () => {
  const registry = of({ 'a.symbi': agents(1000), 'b.symbi': agents(25, 'b'), 'c.symbi': agents(24, 'c') })
  expect(registry.targets).toHaveLength(1024)
  for (const name of ['b0', 'b24', 'b']) {
    expect(reasonOf(registry, name)).toBe(
      'agents/b.symbi: it is left out (REGISTRY_LIMIT): with its 25 there would be 1025 agents and 1024 are allowed; move files out of the folder',
    )
  }
  expect(registry.resolve('c23').kind).toBe('Target')
  expect(registry.problem).toMatchObject({
    code: 'REGISTRY_LIMIT',
    message: 'Cannot take every file of the folder "agents": 1 left out, first agents/b.symbi',
  })
  expect(of({ 'a.symbi': agents(1024) }).problem).toBeNull()
})

test.each([
  ['too many', '', /REGISTRY_LIMIT.* 1025 agents/],
  ['too many and malformed', 'agent broken {', /^agents\/a\.symbi:1026:\d+: E101/],
])('a file with agents that are %s keeps no agent of another file away', (_, more, reason) => {
  const registry = of({ 'a.symbi': `${agents(1025)}\n${more}`, 'b.symbi': agents(1024, 'b') })
  expect(registry.targets).toHaveLength(1024)
  for (const name of ['a', 'a0', 'a1024']) expect(reasonOf(registry, name)).toMatch(reason)
})

test('a name of a file that is left out stands for nothing elsewhere either', () => {
  const registry = of({ 'a.symbi': agents(1024), 'b.symbi': 'agent x {}', 'x.symbi': agents(2, 'y') })
  expect(reasonOf(registry, 'x')).toContain('the name "x" stands for 2 things')
  const files = [{ file: 'a.symbi', text: 'agent x {}' } as const, { file: 'z.symbi', leftOut: 'why', declares: ['x'] }]
  expect(reasonOf(buildRegistry({ files, unread: null }), 'x')).toContain('the name "x" stands for 2 things')
})

test('whichever files are left out, nothing is available that would not be with all of them', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd')
  const text = fc
    .tuple(fc.array(name, { maxLength: 3 }), fc.constantFrom('', '', 'agnet', '}'))
    .map(([names, end]) => `${names.map((one) => `agent ${one} {}`).join('\n')}\n${end}`)
  const file = fc.record({ stem: name, ending: fc.constantFrom('.symbi', '.dsl'), text, isLeftOut: fc.boolean() })
  let available = 0
  fc.assert(
    fc.property(fc.uniqueArray(file, { selector: ({ stem, ending }) => stem + ending, maxLength: 6 }), (files) => {
      const whole = of(Object.fromEntries(files.map(({ stem, ending, text }) => [stem + ending, text])))
      const crowded = buildRegistry({
        files: files.map(({ stem, ending, text, isLeftOut }) => {
          const declares = agentsOf(parse(text).tree).map((agent) => agent.name.text)
          return isLeftOut ? { file: stem + ending, leftOut: 'why', declares } : { file: stem + ending, text }
        }),
        unread: null,
      })
      for (const one of ['a', 'b', 'c', 'd']) {
        const resolved = crowded.resolve(one)
        if (resolved.kind === 'Unknown') expect(whole.resolve(one).kind).toBe('Unknown')
        if (resolved.kind !== 'Target') continue
        available += 1
        expect(whole.resolve(one)).toEqual(resolved)
      }
    }),
  )
  expect(available).toBeGreaterThan(0)
})

test('a long file counts once for each of its agents', () => {
  const comment = `# ${'x'.repeat(1024 * 1024 - 1000)}\n`
  expect(of({ 'a.symbi': comment + agents(16) }).targets).toHaveLength(16)
  const registry = of({ 'a.symbi': comment + agents(17), 'fine.symbi': 'agent fine {}' })
  expect(namesOf(registry)).toEqual(['fine'])
  expect(reasonOf(registry, 'a0')).toMatch(/each of its 17 agents counts with the whole file, .* 16777216 are allowed/)
})

test.each([
  [
    'not all files were looked through',
    { ...folderOf({ 'a.symbi': 'agent a {}' }), unread: 'too much (REGISTRY_LIMIT)' },
  ],
  [
    'more names are declared than are kept',
    {
      files: [
        { file: 'a.symbi', text: 'agent a {}' },
        { file: 'b.symbi', leftOut: 'why', declares: Array.from({ length: 128 * 1024 }, (_, at) => `n${at}`) },
      ],
      unread: null,
    },
  ],
])('where %s no agent can be used, and every name says why', (_, folder: AgentFolder) => {
  const registry = buildRegistry(folder)
  expect(registry.targets).toEqual([])
  for (const name of ['a', 'nobody']) expect(reasonOf(registry, name)).toContain('(REGISTRY_LIMIT)')
  expect([...registry.unavailable.keys()]).toContain('a')
  expect(registry.problem?.code).toBe('REGISTRY_LIMIT')
})

test('one file may declare as many agents as a project may have, and describe them all', () => {
  const { targets } = of({ 'many.symbi': `metadata { description = "all" } ${agents(1024)}` })
  expect(targets).toHaveLength(1024)
  expect(targets.every(({ description }) => description === 'all')).toBe(true)
})

test('what is wrong in one agent of a file is no problem of those beside it', () => {
  const registry = of({ 'desk.symbi': 'agent a {}\nagent b { with timeout = 0s {} }\nagent c {}\n' })
  expect(namesOf(registry)).toEqual(['a', 'c'])
  expect(reasonOf(registry, 'b')).toMatch(/^agents\/desk\.symbi:2:/)
})
