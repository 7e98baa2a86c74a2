import { chmod, link, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { inProcess, jsonLines, symbi } from '../support/cli.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'

/** A folder with agent files, which need no project around them. */
async function agentFiles(files: Readonly<Record<string, string | Uint8Array>>): Promise<TemporaryFolder> {
  const folder = await temporaryFolder()
  await mkdir(folder.of('agents'))
  for (const [name, content] of Object.entries(files)) await writeFile(folder.of('agents', name), content)
  return folder
}

const check = (folder: TemporaryFolder, ...more: string[]) =>
  inProcess(['dsl', '--check', '--project', folder.path, ...more])
const rows = (stdout: string) =>
  jsonLines(stdout) as unknown as readonly {
    readonly file: string
    readonly ok?: boolean
    readonly tree?: { readonly items: readonly { readonly kind: string }[] } | null
    readonly agents: readonly Record<string, unknown>[]
    readonly diagnostics: readonly {
      readonly kind: string
      readonly code: string
      readonly line: number
      readonly column: number
      readonly message: string
      readonly hint: string | null
      readonly refused_by: string | null
    }[]
  }[]
const codesOf = (stdout: string): readonly string[] =>
  rows(stdout).flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code))

describe('dsl --check', () => {
  test('without a file looks at the agents of the project, and says one line for each that can be used', async () => {
    await using folder = await agentFiles({
      'two.symbi': 'agent proof_reader {}\nagent fact_checker { policy asks { allow: "delegate::proof_reader" } }\n',
      'one.dsl': 'agent one {}',
      'empty.symbi': '# nothing yet\n',
      'notes.txt': 'no agent',
    })
    expect(await symbi(['dsl', '--check'], { cwd: folder.path })).toMatchObject({
      code: 0,
      stderr: '',
      stdout: `agents/empty.symbi: ok, no agents
agents/one.dsl: ok, 1 agent: one
agents/two.symbi: ok, 2 agents: proof_reader, fact_checker
3 files, 3 agents: no problems
`,
    })
  })

  test('shows an error at its line with a caret and a hint, goes on with the other files, and exits 1', async () => {
    await using folder = await agentFiles({
      'bad.symbi': 'agent reviewer {\n    with timeout = 30ms {}\n}\n',
      'good.symbi': 'agent good {}\n',
    })
    const { code, stdout, stderr } = await symbi(['dsl', '--check', 'agents'], { cwd: folder.path })
    expect([code, stderr]).toEqual([1, ''])
    const [place, source, caret = '', hint, ...rest] = stdout.split('\n')
    expect(place).toMatch(/^agents\/bad\.symbi:2:20: E120 .*"30ms"/)
    expect(source).toBe('        with timeout = 30ms {}')
    expect(caret.trimEnd()).toMatch(/^ {23}\^{4}$/)
    expect(hint).toMatch(/^ +hint: .*seconds/)
    expect(rest).toEqual(['agents/good.symbi: ok, 1 agent: good', '2 files, 1 agent: 1 error, 0 warnings', ''])
  })

  test('exits 0 for warnings, and says the file is in order', async () => {
    await using folder = await agentFiles({ 'x.symbi': 'agent x { policy p { deny: ["shell"] } }\n' })
    const { code, stdout } = await check(folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/x\.symbi:1:29: W220 .*"shell"/)
    expect(stdout).toMatch(/x\.symbi: ok, 1 agent: x\n1 file, 1 agent: 0 errors, 1 warning\n$/)
  })

  test('looks names up in the project of the file, wherever the command is typed', async () => {
    await using elsewhere = await temporaryFolder()
    await using folder = await agentFiles({
      'operator.symbi': 'agent operator {}\n',
      'reviewer.symbi': 'agent reviewer { policy p { allow: ["delegate::operator", "delegate::nobody"] } }\n',
    })
    await writeFile(folder.of('symbiont.toml'), '')
    await mkdir(folder.of('drafts'))
    const draft = 'agent draft { policy p { deny: ["delegate::operator", "delegate::nobody"] } }\n'
    await writeFile(folder.of('drafts', 'draft.symbi'), draft)
    await writeFile(elsewhere.of('loose.symbi'), draft)
    const checked = async (path: string) => (await inProcess(['dsl', '--check', path])).stdout
    for (const path of [folder.of('agents', 'reviewer.symbi'), folder.of('drafts', 'draft.symbi')]) {
      const stdout = await checked(path)
      expect(stdout).toContain('no target of delegation is called "delegate::nobody"')
      expect(stdout).toContain('1 file, 1 agent: 0 errors, 1 warning\n')
    }
    expect(await checked(elsewhere.of('loose.symbi'))).toContain('1 file, 1 agent: no problems\n') // nobody knows its names
    const named = await inProcess(['dsl', '--check', elsewhere.of('loose.symbi'), '--project', folder.path])
    expect(named.stdout).toContain('1 file, 1 agent: 0 errors, 1 warning\n')
  })

  test('warns of conditions about arguments that the tools of the runtime do not take', async () => {
    await using folder = await agentFiles({
      'x.symbi': `agent x { policy p {
        deny: "list_agents" if invocation.arguments.x == 1
        deny: "read_file" if invocation.arguments.file == "a.md"
        deny: "http_request" if invocation.arguments.method == "POST"
      } }`,
    })
    const { code, stdout } = await check(folder, '--json')
    const [{ diagnostics } = { diagnostics: [] }] = rows(stdout)
    expect([code, diagnostics.map(({ code, line }) => `${code} ${line}`)]).toEqual([0, ['W221 2', 'W221 3']])
  })

  test('says who refuses what the runtime cannot enforce, and exits 1', async () => {
    await using folder = await agentFiles({
      'called.symbi': 'agent called(input: String) {}\n',
      'ruled.symbi': 'agent ruled { policy p { require: "system_health" } }\n',
    })
    const { code, stdout } = await check(folder)
    expect(code).toBe(1)
    expect(stdout).toMatch(/called\.symbi:1:14: E180 [\s\S]*?refused by delegation; "symbi run" takes the agent/)
    expect(stdout).toMatch(/ruled\.symbi:1:26: E170 [\s\S]*?refused by every route\n/)
    expect(stdout).not.toMatch(/: ok/)
    const found = rows((await check(folder, '--json')).stdout)
    expect(found.map(({ diagnostics }) => diagnostics.map(({ kind, refused_by }) => [kind, refused_by]))).toEqual([
      [['unsupported', 'delegation']],
      [['unsupported', 'every route']],
    ])
  })

  test.each([
    'schedule nightly { cron: "0 30 2 * * *", agent: "x" }',
    'channel ops { platform: "slack" }',
    'webhook in { path "/in" }',
    'memory notes { store markdown }',
  ])('ignores nothing that no part of the runtime enforces: %s', async (block) => {
    for (const text of [block, `${block} agent x {}`]) {
      const { code, stdout } = await inProcess(['dsl', '--check', '--json', '-c', text])
      expect([code, codesOf(stdout)]).toEqual([1, ['E180']])
    }
  })

  test('says once what is refused, without the warning about the same place', async () => {
    const { stdout } = await inProcess(['dsl', '--check', '--json', '-c', 'agent x { with memory = "1GB" {} }'])
    expect(codesOf(stdout)).toEqual(['E180'])
  })

  test('judges no more agents of a file than a project may have', async () => {
    const many = Array.from({ length: 1025 }, (_, at) => `agent a${at} {}`).join('\n')
    const { code, stdout } = await inProcess(['dsl', '--check', '--json', '-c', many])
    expect([code, codesOf(stdout), rows(stdout)[0]?.agents]).toEqual([1, ['E172'], []])
  })

  test.each([
    ['alone', 1024, ''],
    ['with rules for all that name nothing', 1024, `policy p { deny: [${'"shall", '.repeat(30_000)}"x"] }\n`],
  ])(
    'looks at what all agents of a file share once: as many as a project may have, %s',
    async (_what, count, shared) => {
      const many = Array.from({ length: count }, (_, at) => `agent a${at} {}`).join('\n')
      await using folder = await agentFiles({ 'many.symbi': `${shared}${many}\n` })
      for (const how of [['--check'], []]) {
        const { stdout } = await inProcess(['dsl', ...how, '--json', '--project', folder.path, folder.of('agents')])
        expect(rows(stdout)[0]?.agents).toHaveLength(count)
        expect(codesOf(stdout).length).toBeLessThanOrEqual(202)
      }
    },
    60_000,
  )

  test('with --json is one object a file, and nothing else', async () => {
    await using folder = await agentFiles({ 'bad.symbi': 'agnet x {}\n', 'good.symbi': 'agent good {}\n' })
    const { code, stdout } = await check(folder, '--json', folder.of('agents'))
    expect([code, stdout.split('\n').length]).toEqual([1, 3])
    expect(rows(stdout)).toMatchObject([
      {
        file: folder.of('agents', 'bad.symbi'),
        ok: false,
        diagnostics: [{ kind: 'syntax', code: 'E110', line: 1, column: 1, hint: expect.stringContaining('agent') }],
        agents: [],
      },
      { file: folder.of('agents', 'good.symbi'), ok: true, diagnostics: [], agents: [{ name: 'good' }] },
    ])
  })

  test('tells what is wrong with a file as a file, and goes on with the others', async () => {
    await using folder = await agentFiles({
      'bytes.symbi': Uint8Array.of(0x61, 0xff),
      'good.symbi': '\ufeffagent good {}\r\n',
      'large.symbi': '#'.repeat(1024 * 1024 + 1),
      'nul.symbi': 'agent \0 {}',
    })
    await symlink('good.symbi', folder.of('agents', 'link.symbi'))
    await mkdir(folder.of('agents', 'folder.symbi'))
    const { code, stdout } = await check(folder, '--json')
    expect(code).toBe(1)
    const told = Object.fromEntries(
      rows(stdout).map(({ file, diagnostics }) => [file.split('/').at(-1), diagnostics.map((one) => one)]),
    )
    expect(told).toEqual({
      'bytes.symbi': [expect.objectContaining({ code: 'E102', column: 2, message: expect.stringContaining('UTF-8') })],
      'folder.symbi': [expect.objectContaining({ code: 'E104', message: expect.stringContaining('no regular file') })],
      'good.symbi': [],
      'large.symbi': [expect.objectContaining({ code: 'E104', message: expect.stringContaining('1048577 bytes') })],
      'link.symbi': [expect.objectContaining({ code: 'E104', message: expect.stringContaining('it is a link') })],
      'nul.symbi': [expect.objectContaining({ code: 'E102', column: 7, message: expect.stringContaining('NUL') })],
    })
    const missing = await inProcess(['dsl', '--check', folder.of('none.symbi')])
    expect(missing.code).toBe(1)
    expect(missing.stdout).toMatch(/none\.symbi:1:1: E104 .*it does not exist\n {4}hint: .*\n1 file, 0 agents: 1 error/)
  })

  test.each([
    ['', 'agent good {}', []],
    ['agents that share a name', 'agent taken {}', ['a.symbi', 'taken.symbi']],
  ])('names agents of the project that cannot be reached: %s', async (_what, text, files) => {
    await using folder = await agentFiles({ 'a.symbi': text, 'taken.symbi': 'agent other {}\n' })
    const { code, stdout } = await check(folder, '--json')
    const found = rows(stdout).filter(({ diagnostics }) => diagnostics.length > 0)
    expect([code, found.map(({ file }) => file.split('/').at(-1))]).toEqual([files.length === 0 ? 0 : 1, files])
    for (const { diagnostics, agents } of found) {
      expect(diagnostics).toMatchObject([{ kind: 'unsupported', code: 'E161', line: 1, column: 7 }])
      expect(agents).toMatchObject([{ governed: false, why_not: expect.stringContaining('taken') }])
    }
  })

  test('names agents whose file the project does not take: one with a second name, one that everybody may write', async () => {
    await using folder = await agentFiles({ 'linked.symbi': 'agent linked {}\n', 'open.symbi': 'agent open {}\n' })
    await link(folder.of('agents', 'linked.symbi'), folder.of('elsewhere'))
    await chmod(folder.of('agents', 'open.symbi'), 0o666)
    const { code, stdout } = await check(folder)
    expect(code).toBe(1)
    expect(stdout).toMatch(/linked\.symbi:1:7: E161 .*2 links/)
    expect(stdout).toMatch(/open\.symbi:1:7: E161 .*everybody may write/)
  })

  test.each<[string, string, (folder: TemporaryFolder) => Promise<void>, RegExp]>([
    [
      'a hard link',
      'linked.symbi',
      (folder) => link(folder.of('agents', 'linked.symbi'), folder.of('other')),
      /2 links/,
    ],
    [
      'writable by all',
      'open.symbi',
      (folder) => chmod(folder.of('agents', 'open.symbi'), 0o666),
      /everybody may write/,
    ],
    ['hidden', '.hidden.symbi', async () => undefined, /hidden files are not read/],
    ['not among those that are read', 'notes.txt', async () => undefined, /no file that it reads declares it/],
  ])('does not call an agent governed whose file is %s, whatever its name is', async (_what, file, spoil, reason) => {
    await using folder = await agentFiles({ [file]: 'agent reviewer {}\n' })
    await spoil(folder)
    const { code, stdout } = await check(folder, '--json', folder.of('agents', file))
    const [row] = rows(stdout)
    expect([code, row?.ok]).toEqual([1, false])
    expect(row?.diagnostics).toMatchObject([
      { code: 'E161', line: 1, column: 7, message: expect.stringMatching(reason), refused_by: 'delegation' },
    ])
    expect(row?.agents).toMatchObject([{ name: 'reviewer', governed: false, why_not: expect.stringMatching(reason) }])
  })

  test.each(['agent reviewer {}\n', 'agent reviewer {} # another'])(
    'does not take the agent of another file for one whose own file is not read: %j',
    async (text) => {
      await using folder = await agentFiles({ 'linked.symbi': 'agent reviewer {}\n', 'real.symbi': text })
      await link(folder.of('agents', 'linked.symbi'), folder.of('other'))
      await writeFile(folder.of('agents', 'draft.txt'), 'agent reviewer {} # a draft')
      const paths = ['linked.symbi', 'real.symbi', 'draft.txt'].map((name) => folder.of('agents', name))
      const { stdout } = await check(folder, '--json', ...paths)
      expect(rows(stdout).map(({ agents }) => agents[0]?.governed)).toEqual([false, true, false])
    },
  )

  test('ends with a failure when the folder as a whole cannot be used', async () => {
    await using folder = await agentFiles({ 'x.symbi': 'agent x {}\n' })
    await rename(folder.of('agents'), folder.of('real'))
    await symlink('real', folder.of('agents'))
    const { code, stdout, stderr } = await check(folder)
    expect([code, stdout]).toEqual([74, expect.stringContaining('x.symbi: ok')])
    expect(stderr).toMatch(/^STORAGE_UNSAFE: Cannot read the folder "agents": .*link/)
  })

  test('finds nothing to say about a project without agents', async () => {
    await using folder = await agentFiles({})
    expect(await check(folder)).toMatchObject({ code: 0, stdout: '0 files, 0 agents: no problems\n', stderr: '' })
    await rm(folder.of('agents'), { recursive: true })
    expect((await check(folder)).stdout).toBe('0 files, 0 agents: no problems\n')
    expect(await check(folder, '--project', folder.of('none'))).toMatchObject({
      code: 66,
      stderr: expect.stringMatching(/^PROJECT_MISSING/),
    })
  })

  test('shows nothing that a terminal would obey, neither of a name nor of a source', async () => {
    await using folder = await agentFiles({
      'a\u001b[2J\u202eb\nc.symbi': 'agent x { policy "\u001b[31m\u202e" { } }\n',
    })
    const { code, stdout } = await check(folder)
    expect(code).toBe(1)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
    expect(stdout).toMatch(/a<U\+001B>\[2J<U\+202E>b<U\+000A>c\.symbi:1:18: E/)
    expect((await check(folder, '--json')).stdout.split('\n')).toHaveLength(2)
  })
})

describe('dsl --check warns of rules that name', () => {
  const warned = async (folder: TemporaryFolder, rule: string): Promise<readonly string[]> => {
    const { code, stdout } = await check(folder, '--json', '-c', `agent x { policy p { deny: ["${rule}"] } }`)
    expect(code).toBe(0)
    return codesOf(stdout)
  }

  test.each(['shell', 'System_health', 'delegate::nobody', 'delegate::desk', 'tool_call::system_health', 'delegate'])(
    'what there is not: %s',
    async (rule) => {
      await using folder = await agentFiles({ 'desk.symbi': 'agent reviewer {}\n' })
      expect(await warned(folder, rule)).toEqual(['W220'])
    },
  )

  test.each([
    'agent_status',
    'list_agents',
    'list_schedules',
    'query_metrics',
    'scheduler_health',
    'system_health',
    'read_file',
    'list_files',
    'search_files',
    'http_request',
    'claude_code',
    'delegate::reviewer',
    'delegate::broken',
    'delegate::x',
  ])('never of %s: tools, the agents of the project and those of the file are known', async (rule) => {
    await using folder = await agentFiles({
      'desk.symbi': 'agent reviewer {}\n',
      'b.symbi': 'agent broken(input: String) {}\n',
    })
    expect(await warned(folder, rule)).toEqual([])
  })

  test('what is near something known, with what was perhaps meant', async () => {
    const { stdout } = await inProcess(['dsl', '--check', '-c', 'agent x { policy p { allow: "sytem_health" } }'])
    expect(stdout).toMatch(/<text>:1:29: W220 .*\n.*\n.*\^.*\n +hint: Did you mean "system_health"\?/)
  })
})

describe('dsl', () => {
  const SOURCE = `# desk
metadata { version = "2.1", description: "Reads, never writes" }
policy house_rules { deny: "delegate::untrusted" }
agent reader {
    capabilities = ["read"]
    with sandbox = "gvisor", timeout = 90.seconds {}
    policy docs {
        allow: "system_health" if principal != ""
    }
}
agent writer(input: String) { function go() { return 1; } }
schedule nightly { cron: "0 30 2 * * *", agent: "reader" }
channel ops { platform: "slack", default_agent: "reader" }
`

  test('says what a file says, item by item, and what each agent comes to; what is wrong goes to stderr', async () => {
    await using folder = await agentFiles({ 'desk.symbi': SOURCE })
    const { code, stdout, stderr } = await symbi(['dsl', '-f', 'agents/desk.symbi'], { cwd: folder.path })
    expect([code, stdout]).toEqual([
      0,
      `agents/desk.symbi
  metadata
    version = "2.1"
    description: "Reads, never writes"
  policy house_rules, for every agent of the file
    deny: "delegate::untrusted"
  agent reader
    capabilities = ["read"]
    with sandbox = "gvisor", timeout = 90.seconds
    policy docs
      allow: "system_health" if principal != ""
    = sandbox tier2, at most 90 s; cannot be delegated to: 12:1: E180 the file of an agent that is delegated to holds schedule "nightly"
  agent writer
    function go, which is not run
    = sandbox of the project, the time of its caller; cannot be delegated to: 11:14: E180 the agent has a parameter "input"
  schedule nightly
    cron: "0 30 2 * * *"
    agent: "reader"
  channel ops
    platform: "slack"
    default_agent: "reader"
`,
    ])
    expect(stderr).toMatch(/agents\/desk\.symbi:12:1: E180 /)
    expect(stderr).toMatch(/W220 .*"delegate::untrusted"/)
  })

  test('--json is one object with findings, tree and what each agent comes to', async () => {
    await using folder = await agentFiles({ 'desk.symbi': SOURCE })
    const path = folder.of('agents', 'desk.symbi')
    const { code, stdout, stderr } = await inProcess(['dsl', '--json', path, '--project', folder.path])
    expect([code, stderr, stdout.split('\n').length]).toEqual([0, '', 2])
    const [row] = rows(stdout)
    expect(Object.keys(row ?? {})).toEqual(['file', 'diagnostics', 'tree', 'agents'])
    expect(row?.tree?.items.map(({ kind }) => kind)).toEqual([
      'metadata',
      'policy',
      'agent',
      'agent',
      'schedule',
      'channel',
    ])
    expect(row?.diagnostics[0]).toEqual({
      kind: 'warning',
      code: 'W220',
      line: 3,
      column: 28,
      offset: 99,
      end_line: 3,
      end_column: 49,
      end_offset: 120,
      message: expect.any(String),
      hint: expect.any(String),
      related: [],
      refused_by: null,
    })
    expect(row?.agents).toEqual([
      {
        name: 'reader',
        description: 'Reads, never writes',
        sandbox_tier: 'tier2',
        timeout_seconds: 90,
        policies: ['house_rules', 'docs'],
        governed: false,
        why_not: expect.stringMatching(/^12:1: E180 .*"nightly"$/),
      },
      {
        name: 'writer',
        description: 'Reads, never writes',
        sandbox_tier: null,
        timeout_seconds: null,
        policies: ['house_rules'],
        governed: false,
        why_not: expect.stringMatching(/^11:14: E180 .*"input"$/),
      },
    ])
  })

  test('--json has the tree of what could be read, and null where nothing could', async () => {
    const broken = await inProcess(['dsl', '--json', '-c', 'agent a {}\nagent { }\nagent b {}'])
    expect(broken.code).toBe(1)
    const [row] = rows(broken.stdout)
    expect(row?.tree?.items.length).toBeGreaterThanOrEqual(2)
    expect([row?.agents, row?.diagnostics[0]?.kind]).toEqual([[], 'syntax'])
    await using folder = await agentFiles({ 'x.symbi': Uint8Array.of(0xc0) })
    const nothing = await inProcess(['dsl', '--json', folder.of('agents', 'x.symbi')])
    expect(nothing.code).toBe(1)
    expect(rows(nothing.stdout)).toMatchObject([{ diagnostics: [{ code: 'E102' }], tree: null, agents: [] }])
  })

  test('reads a text from the command line and from standard input, for editors', async () => {
    const typed = await inProcess(['dsl', '-c', 'agent typed {}'])
    expect(typed).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^<text>\n {2}agent typed\n/) })
    const piped = await symbi(['dsl', '--json', '--stdin'], { input: 'agent piped {\n' })
    expect(piped.code).toBe(1)
    expect(rows(piped.stdout)).toMatchObject([
      { file: '<stdin>', diagnostics: [{ code: 'E101', line: 1, column: 13 }] },
    ])
  })

  test('whose agents are governed says what they come to', async () => {
    const { stdout } = await inProcess([
      'dsl',
      '--json',
      '-c',
      'agent x { with sandbox = "docker", timeout = "1m 5s" {} }',
    ])
    expect(rows(stdout)[0]?.agents).toEqual([
      {
        name: 'x',
        description: 'x (.symbi agent)',
        sandbox_tier: 'tier1',
        timeout_seconds: 65,
        policies: [],
        governed: true,
        why_not: null,
      },
    ])
  })

  test.each([
    ['nothing', []],
    ['two sources', ['-f', 'x', '-c', 'y']],
    ['a file and standard input', ['x', '--stdin']],
    ['--json alone', ['--json']],
    ['an unknown flag', ['--chekc']],
  ])('is a usage error: %s', async (_what, args) => {
    expect(await inProcess(['dsl', ...args])).toMatchObject({
      code: 64,
      stdout: '',
      stderr: expect.stringMatching(/USAGE/),
    })
  })
})
