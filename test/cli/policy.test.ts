import { mkdir, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
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
