import { mkdir, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { writePins } from '../../src/upstream/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { inProcess, jsonLines, symbi } from '../support/cli.ts'
import { testProject } from './support.ts'

describe('policy evaluate', () => {
  test('prints the decision alone, and on stderr who made it', async () => {
    await using project = await testProject()
    const input = project.of('call.json')
    await writeFile(input, '{"tool":"system_health","arguments":{}}')
    const allowed = await inProcess(['policy', 'evaluate', '--input', input, '--project', project.path])
    expect([allowed.code, allowed.stdout]).toEqual([0, 'allow\n'])
    expect(allowed.stderr).toContain('decided by "default#2" (default.cedar:2)\n')
    expect(allowed.stderr).toContain('judged as the gate of the runtime judges it\n')
    await writeFile(input, '{"tool":"list_agents"}')
    const denied = await inProcess(['policy', 'evaluate', '--input', input, '--project', project.path])
    expect([denied.code, denied.stdout]).toEqual([0, 'deny\n'])
    expect(denied.stderr).toContain('no policy permits it, and the default is to deny')
  })

  test('reads the call from standard input, and is one object with --json', async () => {
    await using project = await testProject()
    const done = await symbi(['policy', 'evaluate', '--stdin', '--json', '--policies', project.of('policies')], {
      input: '{"tool":"system_health"}',
    })
    expect([done.code, done.stderr]).toEqual([0, ''])
    expect(jsonLines(done.stdout)).toMatchObject([
      { decision: 'allow', tool: 'system_health', policies_dir: project.of('policies'), mapping: 'runtime' },
    ])
  }, 60_000)

  test('reads the files of the surface that asks', async () => {
    await using project = await testProject()
    await mkdir(project.of('policies', 'shell'))
    await writeFile(project.of('policies', 'shell', 'no.cedar'), 'forbid(principal, action, resource);')
    await writeFile(project.of('call.json'), '{"tool":"system_health"}')
    const args = ['policy', 'evaluate', '--input', project.of('call.json'), '--project', project.path]
    expect((await inProcess(args)).stdout).toBe('allow\n')
    expect((await inProcess([...args, '--surface', 'shell'])).stdout).toBe('deny\n')
  })

  test('refuses a surface that is none, and names those that are known', async () => {
    await using project = await testProject()
    await mkdir(project.of('policies', 'shell'))
    await writeFile(project.of('call.json'), '{"tool":"system_health"}')
    const args = ['policy', 'evaluate', '--input', project.of('call.json'), '--project', project.path]
    const done = await inProcess([...args, '--surface', 'bogus'])
    expect([done.code, done.stdout]).toEqual([64, ''])
    expect(done.stderr).toContain('Cannot judge a call of the surface "bogus"')
    expect(done.stderr).toContain('hint: Known here: coordinator, run, mcp-server, shell\n')
  })

  test('asks about the resource and the resolution that a run would have, and denies what a run refuses', async () => {
    await using project = await testProject()
    await mkdir(project.of('docs'))
    const tools = '[tools]\nhttp_origins = ["https://a.example"]\nfile_roots = { docs = "docs" }\n'
    await writeFile(project.of('symbiont.toml'), tools)
    const permit = (tool: string, resource: string, when: string): string =>
      `permit(principal, action == Action::"tool_call::${tool}", resource == ${resource}) when { ${when} };\n`
    const read = permit('read_file', 'FileRoot::"docs"', 'context.invocation.resolved.file_path == "a.md"')
    const ask = permit('http_request', 'HttpOrigin::"https://a.example"', 'true')
    await writeFile(project.of('policies', 'more.cedar'), read + ask)
    const evaluated = async (call: object): Promise<Record<string, unknown>> => {
      await writeFile(project.of('call.json'), JSON.stringify(call))
      const args = ['policy', 'evaluate', '--input', project.of('call.json'), '--project', project.path, '--json']
      return jsonLines((await inProcess(args)).stdout)[0] as Record<string, unknown>
    }
    expect(await evaluated({ tool: 'read_file', arguments: { path: 'docs/a.md' } })).toMatchObject({
      decision: 'allow',
      request: { resource: 'FileRoot::"docs"' },
      known: true,
    })
    expect((await evaluated({ tool: 'read_file', arguments: { path: 'docs/b.md' } })).decision).toBe('deny')
    const get = { method: 'GET', url: 'https://a.example/x' }
    expect(await evaluated({ tool: 'http_request', arguments: get })).toMatchObject({ decision: 'allow', known: true })
    expect(await evaluated({ tool: 'read_file', arguments: { path: 'docs/../a.md' } })).toMatchObject({
      decision: 'deny',
      request: null,
      reason: expect.stringMatching(/^policy is not asked: Cannot prepare the call of "read_file": /),
    })
    expect(await evaluated({ tool: 'pay' })).toMatchObject({
      known: false,
      request: { resource: 'Resource::"default"' },
    })
  })

  test('asks about tools of foreign servers as they were pinned, and starts no server', async () => {
    await using project = await testProject()
    const server = '[servers.notes]\ncommand = "no-such-program"\nexpose = ["create"]\nrisk = "high"\napproval = true\n'
    await writeFile(project.of('mcp-config.toml'), server)
    const when = 'when { context.invocation has resolved.mcp && context.invocation.resolved.mcp.risk == "high" }'
    await writeFile(project.of('policies', 'more.cedar'), `permit(principal, action, resource) ${when};`)
    const name = 'mcp__notes__create'
    await writeFile(project.of('call.json'), JSON.stringify({ tool: name, arguments: { text: 'hi' } }))
    const args = ['policy', 'evaluate', '--input', project.of('call.json'), '--project', project.path, '--json']
    expect(jsonLines((await inProcess(args)).stdout)[0]).toMatchObject({ decision: 'deny', known: false })
    const inputSchema = { type: 'object', properties: { text: { type: 'string', maxLength: 5 } } }
    const pin = { name: 'create', description: null, inputSchema, outputSchema: null, annotations: null }
    const pinFile = project.of('.symbiont', 'mcp-pins.json')
    await writePins(nodeWorld(), pinFile, 'notes', { pin: [pin] }, new AbortController().signal)
    expect(jsonLines((await inProcess(args)).stdout)[0]).toMatchObject({
      decision: 'allow',
      known: true,
      approval: 'missing',
    })
  })

  test('says of a tool that the operator listed that a person is asked first, and of a stranger that it is one', async () => {
    await using project = await testProject()
    await writeFile(project.of('symbiont.toml'), '[approvals]\ntools = ["system_health"]\n')
    await writeFile(project.of('call.json'), '{"name":"system_health","arguments":{}}') // as explain reads it
    const args = ['policy', 'evaluate', '--input', project.of('call.json'), '--project', project.path]
    const held = await inProcess(args)
    expect(held.stdout).toBe('allow\n')
    expect(held.stderr).toContain('the operator requires human approval for "system_health": until a person gave one')
    expect(jsonLines((await inProcess([...args, '--json'])).stdout)[0]).toMatchObject({ approval: 'missing' })
    await writeFile(project.of('call.json'), '{"tool":"pay"}')
    expect((await inProcess(args)).stderr).toContain(
      'not known here is the tool "pay": the call was taken as it was given',
    )
  })

  test('a call of a tool client says so in its context, as every such call does', async () => {
    await using project = await testProject()
    const when = 'when { context has surface && context.surface == "mcp-server" }'
    await writeFile(project.of('policies', 'more.cedar'), `permit(principal, action, resource) ${when};`)
    await writeFile(project.of('call.json'), '{"tool":"list_agents"}')
    const args = ['policy', 'evaluate', '--input', project.of('call.json'), '--project', project.path]
    expect((await inProcess(args)).stdout).toBe('deny\n')
    expect((await inProcess([...args, '--surface', 'mcp-server'])).stdout).toBe('allow\n')
  })

  test('denies without any policy, unless missing policies are asked to allow', async () => {
    await using project = await testProject()
    await writeFile(project.of('call.json'), '{"tool_name":"x","tool_input":{}}')
    const args = ['policy', 'evaluate', '--input', project.of('call.json'), '--policies', project.of('none')]
    expect((await inProcess(args)).stdout).toBe('deny\n')
    expect((await inProcess([...args, '--allow-missing'])).stdout).toBe('allow\n')
  })

  test.each([
    ['no JSON', '{', 'INVALID_JSON'],
    ['two equal names', '{"tool":"a","tool":"b"}', 'INVALID_JSON'],
    ['an integer beyond 2^53-1', '{"tool":"a","arguments":{"n":9007199254740993}}', 'INVALID_JSON'],
    ['neither form', '{"what":1}', 'INVALID_REQUEST'],
    ['two subjects', '{"tool":"a","respond":"b"}', 'INVALID_REQUEST'],
  ])('exits 2 for bad input: %s', async (_what, text, code) => {
    await using project = await testProject()
    await writeFile(project.of('call.json'), text)
    const done = await inProcess(['policy', 'evaluate', '--input', project.of('call.json'), '--project', project.path])
    expect([done.code, done.stdout]).toEqual([2, ''])
    expect(done.stderr).toMatch(new RegExp(`^${code}: Cannot .*\nhint: .+\n$`))
  })

  test('exits 2 when the file is not there, and 64 when it is not said where the call is', async () => {
    await using project = await testProject()
    const base = ['policy', 'evaluate', '--project', project.path]
    expect((await inProcess([...base, '--input', project.of('none.json')])).code).toBe(2)
    expect((await inProcess(base)).code).toBe(64)
    expect((await inProcess([...base, '--stdin', '--input', 'x'])).code).toBe(64)
  })
})

describe('policy check', () => {
  test('counts what is in order, and exits 0', async () => {
    await using project = await testProject()
    const done = await inProcess(['policy', 'check', '--project', project.path])
    expect([done.code, done.stdout, done.stderr]).toEqual([0, '1 file, 3 policies: no problems\n', ''])
  })

  test('shows an error at its line with a caret under the column, and exits 1', async () => {
    await using project = await testProject()
    const path = project.of('policies', 'bad.cedar')
    await writeFile(path, '// é\npermit(principal, action, resource)\n  when { 漢 };\n')
    const done = await inProcess(['policy', 'check', path])
    expect(done.code).toBe(1)
    const [row = '', source = '', caret = '', summary] = done.stdout.split('\n')
    expect(row).toMatch(/bad\.cedar:3:\d+: error: /)
    expect(source).toBe('    when { 漢 };')
    expect(caret).toMatch(/^ +\^$/)
    expect(caret.indexOf('^')).toBe(source.indexOf('漢'))
    expect(summary).toMatch(/^1 file, .*: 1 error, 0 warnings$/)
  })

  test('passes on what to do about an error, where something is known', async () => {
    await using project = await testProject()
    await writeFile(project.of('policies', 'bad.cedar'), 'allow(principal, action, resource);\n')
    const done = await inProcess(['policy', 'check', '--project', project.path])
    expect(done.code).toBe(1)
    expect(done.stdout).toMatch(/bad\.cedar:1:1: error: .*\n {4}allow\(.*\n {4}\^\n {4}hint: /)
  })

  test('warns about access without "has", and exits 0 for warnings', async () => {
    await using project = await testProject()
    await writeFile(
      project.of('policies', 'odd.cedar'),
      'forbid(principal, action, resource) when { context.invocation.arguments.path == "/etc" };',
    )
    const done = await inProcess(['policy', 'check', project.of('policies')])
    expect(done.code).toBe(0)
    expect(done.stdout).toMatch(/odd\.cedar:1:\d+: warning: .*\n.*\n +\^\n {4}hint: Ask first: /)
    const lines = jsonLines((await inProcess(['policy', 'check', '--json', project.of('policies')])).stdout)
    expect(lines[0]).toMatchObject({ event: 'problem', severity: 'warning', line: 1 })
    expect(lines.at(-1)).toMatchObject({ event: 'summary', valid: true, files: 2, warnings: 1, errors: 0 })
  })

  test('is wrong about nothing that is not there: a named path must exist', async () => {
    await using project = await testProject()
    const done = await inProcess(['policy', 'check', project.of('none')])
    expect(done.code).toBe(1)
    expect(done.stdout).toContain('Cannot read the policies: it does not exist\n')
  })
})
