import { readFile, stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { newId } from '../../src/core/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { demoProject, inProcess, jsonLines, startUp, symbi } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

const agent = newId('agent', nodeWorld().random)

test('keys add prints the token once, alone on stdout, and stores only its hash', async () => {
  await using project = await demoProject()
  const { code, stdout, stderr } = await symbi(['keys', 'add', '--id', 'ops', '--project', project.path])
  expect([code, stdout, stderr]).toEqual([
    0,
    expect.stringMatching(/^ops\.[\w-]{43}\n$/),
    'Key "ops" (an admin key). Its token is above: keep it now, it is not shown again\n',
  ])
  const file = await readFile(project.of('.symbiont', 'api-keys.json'), 'utf8')
  expect(file).not.toContain(stdout.trim().split('.')[1])
  expect(file).toContain('$argon2id$')
  expect((await stat(project.of('.symbiont', 'api-keys.json'))).mode & 0o777).toBe(0o600)
})

test('keys add --json prints one object, and limits the key to the agents', async () => {
  await using project = await demoProject()
  const args = ['keys', 'add', '--id', 'bot', '--agent', agent, '--description', 'for the bot', '--json']
  const { code, stdout, stderr } = await inProcess([...args, '--project', project.path])
  expect([code, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({ key_id: 'bot', token: expect.stringMatching(/^bot\./) })
  const list = await inProcess(['keys', 'list', '--json', '--project', project.path])
  expect(jsonLines(list.stdout)).toEqual([
    expect.objectContaining({ key_id: 'chat', agent_scope: null, revoked: false }),
    expect.objectContaining({ key_id: 'bot', agent_scope: [agent], description: 'for the bot' }),
  ])
  expect(list.stdout).not.toContain('argon2')
})

test('keys list shows who may connect as a table', async () => {
  await using project = await demoProject()
  await inProcess(['keys', 'revoke', 'chat', '--project', project.path])
  const { stdout } = await inProcess(['keys', 'list', '--project', project.path])
  expect(stdout).toMatch(/^KEY {3}STATE {4}SCOPE {2}CREATED +DESCRIPTION\nchat {2}revoked {2}admin {2}20\S+ {2}made by/)
})

test('a key that is revoked while the server runs opens nothing more', async () => {
  await using project = await demoProject()
  await using server = await startUp(project.path)
  const ask = async () =>
    (await fetch(`${server.api}/api/v1/agents`, { headers: { authorization: `Bearer ${project.token}` } })).status
  expect(await ask()).toBe(200)
  const revoked = await symbi(['keys', 'revoke', 'chat', '--project', project.path])
  expect([revoked.code, revoked.stdout]).toEqual([0, 'Revoked "chat"\n'])
  expect(await ask()).toBe(401)
})

test.each([
  [['add', '--id', 'chat'], 1, 'KEY_EXISTS'],
  [['add', '--id', 'a.b'], 65, 'INVALID_REQUEST'],
  [['add', '--id', 'x', '--agent', 'nobody'], 1, 'AGENT_UNKNOWN'],
  [['add'], 64, 'USAGE'],
  [['revoke', 'stranger'], 1, 'KEY_NOT_FOUND'],
  [['revoke'], 64, 'USAGE'],
  [['list', 'more'], 64, 'USAGE'],
] as const)('keys %j exits %i with %s and prints no result', async (args, exit, code) => {
  await using project = await demoProject()
  const done = await inProcess(['keys', ...args, '--project', project.path, '--json'])
  expect([done.code, done.stdout]).toEqual([exit, ''])
  expect(JSON.parse(done.stderr)).toMatchObject({ code })
})

test('keys makes no project of a folder that is none', async () => {
  await using folder = await temporaryFolder()
  for (const path of [folder.path, folder.of('absent')]) {
    const { code, stderr } = await inProcess(['keys', 'add', '--id', 'x', '--project', path])
    expect([code, stderr]).toEqual([66, expect.stringMatching(/^PROJECT_MISSING: .*\nhint: .*symbi init/)])
  }
})

test('keys works on the file that the settings name', async () => {
  await using project = await demoProject()
  await using folder = await temporaryFolder()
  const file = folder.of('keys.json')
  await inProcess(['keys', 'add', '--id', 'far', '--api-keys-file', file, '--project', project.path])
  expect(await readFile(file, 'utf8')).toContain('"far"')
  const { stdout } = await inProcess(['keys', 'list', '--json', '--api-keys-file', file, '--project', project.path])
  expect(jsonLines(stdout).map(({ key_id }) => key_id)).toEqual(['far'])
})
