import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { VERSION } from '../../src/core/index.ts'
import { inProcess, symbi } from '../support/cli.ts'
import { testProject } from './support.ts'

test.each(['--version', '-V'])('%s prints the version and nothing else', async (flag) => {
  expect(await symbi([flag])).toEqual({ code: 0, signal: null, stdout: `${VERSION}\n`, stderr: '' })
})

test('a version that is asked for beside other arguments is answered as well', async () => {
  expect(await inProcess(['--version', '--json'])).toMatchObject({ code: 0, stdout: `${VERSION}\n` })
})

describe('a usage error exits 64 with its code and a hint, and prints no result', () => {
  test.each([
    [['upp'], "unknown command 'upp'", 'Did you mean up?'],
    [['up', '--prot', '1'], "unknown option '--prot'", 'Did you mean --port?'],
    [['up', '--http-port', '8081'], "unknown option '--http-port'", ''],
    [['up', '--slack.token', 'x'], "unknown option '--slack.token'", ''],
    [['up', 'more'], 'too many arguments', ''],
    [['up', '--port'], "option '-p, --port <number>' argument missing", ''],
    [['doctor', '--fix'], "unknown option '--fix'", ''],
  ])('%j', async (args, reason, hint) => {
    const { code, stdout, stderr } = await inProcess(args)
    expect([code, stdout]).toEqual([64, ''])
    expect(stderr).toMatch(/^USAGE: Cannot understand the command: .*\nhint: .+\n$/)
    expect(stderr).toContain(reason)
    expect(stderr).toContain(hint)
  })

  test('as JSON where JSON was asked for', async () => {
    const { stderr } = await inProcess(['up', '--nonsense', '--json'])
    expect(JSON.parse(stderr)).toEqual({
      error: "Cannot understand the command: unknown option '--nonsense'",
      code: 'USAGE',
      details: { hint: 'Add --help to see what the command takes' },
    })
  })
})

test('an empty list is no line at all with --json, on neither stream', async () => {
  await using project = await testProject()
  await writeFile(project.of('.symbiont', 'api-keys.json'), '[]', { mode: 0o600 })
  for (const words of [
    ['keys', 'list'],
    ['mcp', 'tools'],
  ]) {
    const done = await inProcess([...words, '--json', '--project', project.path])
    expect([done.code, done.stdout, done.stderr]).toEqual([0, '', ''])
  }
})

test('no command at all shows the commands on stderr', async () => {
  const { code, stdout, stderr } = await inProcess([])
  expect([code, stdout]).toEqual([64, ''])
  for (const name of ['init', 'up', 'keys', 'doctor']) expect(stderr).toMatch(new RegExp(`^  ${name} `, 'm'))
})

test('the help of symbi mcp says that it serves by itself, and what that takes', async () => {
  expect((await inProcess(['mcp', '--help'])).stdout).toContain('"symbi mcp --agent NAME" serves one client')
})

test.each([['--help'], ['up', '--help'], ['keys', 'add', '--help']].map((args) => [args]))(
  '%j is a result, and exits 0',
  async (args) => {
    const { code, stdout, stderr } = await inProcess(args)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^Usage: symbi /)
  },
)
