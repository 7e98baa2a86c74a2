import { mkdir, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { writePins } from '../../src/upstream/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { inProcess, jsonLines, type Ran, symbi } from '../support/cli.ts'
import { type TestProject, testProject } from './support.ts'

const SOURCE = `policy house {
    deny: "delegate::untrusted"
}
agent reader {
    policy own {
        allow: ["system_health", "agent_status", "read_file", "delegate::helper"]
        deny:  "read_file" if invocation.arguments.path == "secret.md"
            || context.mode == "quiet"
        deny:  "agent_status" if invocation.arguments.agent_id == principal
    }
    policy last { deny: "list_agents" }
}
`
const PRINCIPAL = '3f9a7c52-59c0-5c3a-8f0e-7b5f3a1d8a11'

async function desk(call: string, source = SOURCE): Promise<TestProject> {
  const project = await testProject()
  await mkdir(project.of('agents'))
  await writeFile(project.of('agents', 'reader.symbi'), source)
  await writeFile(project.of('call.json'), call)
  return project
}

const words = (project: TestProject, ...more: readonly string[]): readonly string[] => {
  return [
    'policy',
    'explain',
    '--agent',
    'reader',
    '--call',
    project.of('call.json'),
    '--project',
    project.path,
    ...more,
  ]
}

async function explained(
  call: object | string,
  { source, json = false }: { source?: string; json?: boolean } = {},
): Promise<Ran> {
  await using project = await desk(typeof call === 'string' ? call : JSON.stringify(call), source)
  return await inProcess(words(project, ...(json ? ['--json'] : [])))
}

describe('policy explain', () => {
  test('knows the ready-made tools that are configured: a call of theirs is prepared as in a run', async () => {
    await using project = await desk('{"name":"read_file","arguments":{"path":"docs/guide/"}}')
    await mkdir(project.of('docs'))
    const origin = '{ origin = "https://a.example.org", headers_env = { Authorization = "SYMBI_HTTP_UNSET" } }'
    const tools = `[tools]\nhttp_origins = [${origin}]\nfile_roots = { docs = "docs" }\n`
    await writeFile(project.of('symbiont.toml'), tools)
    const { code, stderr, stdout } = await inProcess(words(project, '--json'))
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('docs/guide')
    await writeFile(project.of('call.json'), '{"name":"read_file","arguments":{"path":"docs/../secret.md"}}')
    expect((await inProcess(words(project))).stderr).toContain('#/path cannot be used')
  })

  test('explains calls of other tools while a configured folder is missing, and says so for those that need it', async () => {
    await using project = await desk('{"name":"system_health"}')
    await writeFile(project.of('symbiont.toml'), '[tools]\nfile_roots = { docs = "docs" }\n')
    expect(await inProcess(words(project))).toMatchObject({ code: 0, stderr: '' })
    await writeFile(project.of('call.json'), '{"name":"read_file","arguments":{"path":"secret.md"}}')
    const { code, stdout, stderr } = await inProcess(words(project))
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'deny'])
    expect(stderr).toBe(
      'Not available is the tool "read_file": Cannot use the file root "docs": its folder does not exist\n',
    )
  })

  test('knows the pinned tools of foreign servers, with what policy sees of them, and starts no server', async () => {
    const source = 'agent reader { policy p { deny: true if invocation.resolved.mcp.risk == "high" } }'
    const name = 'mcp__notes__create'
    await using project = await desk(JSON.stringify({ name, arguments: { text: 'hi' } }), source)
    const server = (risk: string): string =>
      `[servers.notes]\ncommand = "no-such-program"\nexpose = ["create"]\nrisk = "${risk}"\n`
    await writeFile(project.of('mcp-config.toml'), server('high'))
    const unpinned = await inProcess(words(project))
    expect(unpinned.code).toBe(0)
    expect(unpinned.stderr).toBe(
      `Not available is the tool "${name}": "notes" has no pinned tool of this name: look at it with "symbi mcp pin"\n`,
    )
    const inputSchema = { type: 'object', properties: { text: { type: 'string', maxLength: 5 } } }
    const pin = { name: 'create', description: null, inputSchema, outputSchema: null, annotations: null }
    const pinFile = project.of('.symbiont', 'mcp-pins.json')
    await writePins(nodeWorld(), pinFile, 'notes', { pin: [pin] }, new AbortController().signal)
    expect(await inProcess(words(project))).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^deny\n/),
    })
    await writeFile(project.of('mcp-config.toml'), server('low'))
    expect(await inProcess(words(project))).toMatchObject({ stdout: expect.stringMatching(/^allow\n/) })
    await writeFile(project.of('call.json'), JSON.stringify({ name, arguments: { text: 'too long' } }))
    expect(await inProcess(words(project))).toMatchObject({ code: 65, stderr: expect.stringContaining('#/text') })
  })

  test('says which block and rule denies, and which values its conditions saw', async () => {
    const call = { name: 'read_file', arguments: { path: 'secret.md' } }
    const { code, stdout, stderr } = await explained(call)
    expect([code, stderr]).toEqual([0, 'Not known here is the tool "read_file": the call was taken as it was given\n'])
    expect(stdout).toBe(`deny
inline policy own denied tool_call read_file (rule 2)
  policy house: passed: no deny was true
    rule 1, line 2: deny: "delegate::untrusted"
      names other effects
  policy own: refused by rule 2
    rule 1, line 6: allow: ["system_health", "agent_status", "read_file", "delegate::helper"]
      matches
    rule 2, line 7: deny: "read_file" if invocation.arguments.path == "secret.md" || context.mode == "quiet"
      matches, and its condition is true
      invocation.arguments.path = "secret.md"
  policy last: not asked any more
`)
  })

  test('says which rule allows, and that approval and Cedar are not asked here', async () => {
    const { code, stdout, stderr } = await explained({ name: 'system_health', arguments: {} })
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(
      'allow\nthe inline policy of agent "reader" lets system_health pass; approval and the Cedar',
    )
    expect(stdout).toContain('  policy own: passed by rule 1\n')
    expect(stdout).toContain('  policy last: passed: no deny was true\n')
  })

  test('says why a condition has no answer', async () => {
    const { stdout } = await explained({ name: 'read_file', arguments: { path: 'a.md' } })
    expect(stdout).toContain('deny\ninline policy own denied tool_call read_file (rule 2: "context.mode" is missing)\n')
    expect(stdout).toContain('      has no answer: "context.mode" is missing\n')
    expect(stdout).toContain('      invocation.arguments.path = "a.md"\n      context.mode = missing\n')
  })

  test('says when no allow rule matched', async () => {
    const { stdout } = await explained({ name: 'query_metrics' })
    expect(stdout).toContain('deny\ninline policy own denied tool_call query_metrics: no allow rule matched\n')
    expect(stdout).toContain('  policy own: refused: no allow rule matched\n')
  })

  test('takes context and principal from beside the call, as the run would have them', async () => {
    const path = { path: 'a.md' }
    expect((await explained({ name: 'read_file', arguments: path, context: { mode: 'loud' } })).stdout).toMatch(
      /^allow\n/,
    )
    expect((await explained({ name: 'read_file', arguments: path, context: { mode: 'quiet' } })).stdout).toMatch(
      /^deny\n/,
    )
    const status = { name: 'agent_status', arguments: { agent_id: PRINCIPAL } }
    expect((await explained(status)).stdout).toMatch(/^allow\n/)
    expect((await explained({ ...status, agent_id: PRINCIPAL })).stdout).toMatch(/^deny\n/)
  })

  test('prepares the call as a run does, before the policy sees it', async () => {
    const call = { name: 'agent_status', arguments: { agent_id: PRINCIPAL.toUpperCase() }, agent_id: PRINCIPAL }
    const { stdout } = await explained(call)
    expect(stdout).toContain(`invocation.arguments.agent_id = "${PRINCIPAL}"\n`)
    expect(stdout).toMatch(/^deny\n/)
  })

  test('cannot be told by the call what only the runtime says', async () => {
    const source = 'agent reader { policy p { deny: true if context.source_policy.agent_name != "reader" } }'
    const { stdout } = await explained(
      { name: 'system_health', context: { source_policy: { agent_name: 'other' } } },
      { source },
    )
    expect(stdout).toMatch(/^allow\n/)
  })

  test.each([
    ['as the model proposes it', { name: 'list_agents', arguments: {} }],
    ['without arguments', { name: 'list_agents' }],
    ['as policy evaluate reads it', { tool: 'list_agents', arguments: {} }],
    ['in the older form of policy evaluate', { tool_name: 'list_agents', tool_input: {} }],
  ])('takes a tool call %s', async (_what, call) => {
    const source = 'agent reader { policy last { deny: "list_agents" } }'
    const { stdout } = await explained(call, { source })
    expect(stdout).toContain('deny\ninline policy last denied tool_call list_agents (rule 1)\n')
  })

  test.each([
    ['by the declared name', { agent: 'helper', task: 'read it' }],
    ['by an alias', { agent: 'alias', task: 'read it' }],
    ['as the model calls it', { name: 'delegate', arguments: { agent: 'alias', task: 'read it' } }],
    ['as policy evaluate reads it', { delegate: 'alias' }],
  ])('takes a delegation %s, and goes by the declared name of the target', async (_what, call) => {
    await using project = await desk(JSON.stringify(call))
    await writeFile(project.of('agents', 'alias.symbi'), 'agent helper {}')
    const { code, stdout, stderr } = await inProcess(words(project))
    expect(code).toBe(0)
    expect(stderr).toMatch(/^No run under an inline policy has the tool "delegate" today, .*\n$/)
    expect(stdout).toContain('allow\nthe inline policy of agent "reader" lets delegate::helper pass')
  })

  test('says why an agent of the project cannot be delegated to', async () => {
    await using project = await desk('{"agent":"untrusted"}')
    await writeFile(project.of('agents', 'untrusted.symbi'), 'agent untrusted(input: String) {}')
    const { stdout, stderr } = await inProcess(words(project))
    expect(stdout).toMatch(/^deny\n/)
    expect(stderr).toMatch(/^Not available is the agent "untrusted": agents\/untrusted\.symbi:1:17: E180 .*\n$/)
  })

  test('explains a delegation to nobody as it was given, and says so', async () => {
    const { stdout, stderr } = await explained({ agent: 'untrusted' })
    expect(stdout).toContain('deny\ninline policy house denied delegate::untrusted (rule 1)\n')
    expect(stderr).toBe('Not known here is the agent "untrusted": the call was taken as it was given\n')
  })

  test.each([{ respond: 'done' }, { terminate: 'enough' }])('says that replies are exempt: %o', async (call) => {
    const { stdout } = await explained(call, { source: 'agent reader { policy p { deny: true } }' })
    expect(stdout).toBe('allow\na reply is not restricted by inline policies\n')
  })

  test('with --json prints one object with the same', async () => {
    const call = { name: 'read_file', arguments: { path: 'a.md' } }
    const { code, stdout } = await explained(call, { json: true })
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(JSON.parse(stdout)).toMatchObject({
      decision: 'deny',
      reason: 'inline policy own denied tool_call read_file (rule 2: "context.mode" is missing)',
      decided_by: { policy: 'own', rule: 2 },
      agent: 'reader',
      file: 'agents/reader.symbi',
      effect: 'read_file',
      known: false,
      source_policy: { agent_name: 'reader', policies: ['house', 'own', 'last'] },
      policies: [
        { name: 'house', passed: true, decided_by: null, rules: [{ rule: 1, matched: false, condition: null }] },
        {
          name: 'own',
          passed: false,
          decided_by: 2,
          rules: [
            { rule: 1, line: 6, column: 9, matched: true, condition: null, unanswerable: null, reads: [] },
            {
              rule: 2,
              matched: true,
              condition: null,
              unanswerable: '"context.mode" is missing',
              reads: [
                { path: 'invocation.arguments.path', value: '"a.md"' },
                { path: 'context.mode', value: null },
              ],
            },
          ],
        },
      ],
      not_asked: ['last'],
    })
    const allowed = await explained({ name: 'system_health' }, { json: true })
    expect(jsonLines(allowed.stdout)).toMatchObject([
      { decision: 'allow', reason: null, decided_by: null, known: true, not_asked: [] },
    ])
  })

  test('shows long values cut, and none that a terminal obeys', async () => {
    const path = `\u001b[31m\u202e${'x'.repeat(1000)}`
    for (const json of [false, true]) {
      const { stdout } = await explained({ name: 'read_file', arguments: { path } }, { json })
      expect(stdout).not.toContain('\u001b')
      expect(stdout).not.toContain('\u202e')
      expect(stdout).toContain('xxx')
      expect(stdout).not.toContain('x'.repeat(210))
    }
  })

  test.each([
    ['no JSON', '{', 65, 'INVALID_JSON'],
    ['two equal names', '{"name":"a","name":"b"}', 65, 'INVALID_JSON'],
    ['no call', '{"what":1}', 65, 'INVALID_REQUEST'],
    ['a list', '[]', 65, 'INVALID_REQUEST'],
    ['two calls in one', '{"name":"a","agent":"b"}', 65, 'INVALID_REQUEST'],
    ['a member that is not known', '{"name":"a","approved":true}', 65, 'INVALID_REQUEST'],
    ['arguments that are a text', '{"name":"a","arguments":"{}"}', 65, 'INVALID_REQUEST'],
    ['a principal that is no id', '{"name":"a","agent_id":"me"}', 65, 'INVALID_REQUEST'],
    ['arguments that the tool refuses', '{"name":"system_health","arguments":{"x":1}}', 65, 'CALL_INVALID'],
  ])('refuses bad input: %s', async (_what, call, exit, code) => {
    const done = await explained(call)
    expect([done.code, done.stdout]).toEqual([exit, ''])
    expect(done.stderr).toMatch(new RegExp(`^${code}: Cannot .*\nhint: .+\n$`))
  })

  test('refuses a source whose policy cannot be enforced, with the place', async () => {
    const done = await explained({ name: 'a' }, { source: 'agent reader {\n  policy p { require: "x" }\n}' })
    expect([done.code, done.stdout]).toEqual([65, ''])
    expect(done.stderr).toMatch(/^SOURCE_INVALID: .*agents\/reader\.symbi:2:14: E170 .*\nhint: .*allow: "read_file"/)
  })

  test('refuses an agent and a file that are not there, and words that are missing', async () => {
    await using project = await desk('{"name":"a"}')
    const base = ['policy', 'explain', '--project', project.path]
    const call = ['--call', project.of('call.json')]
    expect(await inProcess([...base, ...call, '--agent', 'nobody'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^AGENT_UNKNOWN/),
    })
    expect(await inProcess([...base, '--agent', 'reader', '--call', project.of('none.json')])).toMatchObject({
      code: 65,
    })
    expect(await inProcess([...base, ...call])).toMatchObject({ code: 64 })
    expect(await inProcess([...base, '--agent', 'reader'])).toMatchObject({ code: 64 })
  })

  test('runs as a program, and takes paths from the current folder', async () => {
    await using project = await desk('{"name":"list_agents"}', 'agent reader { policy p { deny: true } }')
    const { code, stdout, stderr } = await symbi(
      ['policy', 'explain', '--agent', 'agents/reader', '--call', 'call.json'],
      {
        cwd: project.path,
      },
    )
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^deny\ninline policy p denied tool_call list_agents \(rule 1\)\n/)
  })
})
