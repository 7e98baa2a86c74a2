/** What `init` made, used as a newcomer would: agents run, tasks are handed over, and nothing has to be edited first. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { inProcess, jsonLines, startUp, symbi } from '../support/cli.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'

async function projectOf(profile: string): Promise<TemporaryFolder> {
  const folder = await temporaryFolder()
  const { code, stderr } = await inProcess(['init', '--project', folder.path, '--profile', profile, '--no-interact'])
  expect([code, stderr]).toEqual([0, ''])
  return folder
}

describe.each(['minimal', 'assistant', 'multi-agent'])('a project of profile %s', (profile) => {
  test('holds only agents and policies about which nothing is to be said', async () => {
    await using project = await projectOf(profile)
    const agents = await inProcess(['dsl', '--check', '--project', project.path])
    expect([agents.code, agents.stdout]).toEqual([0, expect.stringMatching(/: no problems\n$/)])
    expect((await inProcess(['fmt', '--check', project.of('agents')])).code, 'formatted').toBe(0)
    const policies = await inProcess(['policy', 'check', '--project', project.path])
    expect([policies.code, policies.stdout]).toEqual([0, expect.stringMatching(/: no problems\n$/)])
  })
})

test.each([
  ['assistant', 'assistant', 'Inspect system health', '"components"'],
  ['multi-agent', 'reviewer', 'Inspect system health', 'The reviewer found this:'],
  ['multi-agent', 'operator', 'Is the scheduler well?', 'The operator found this:'],
  ['multi-agent', 'reviewer', 'List the schedules', '[Policy denied] inline policy looks_at_health'],
])(
  'profile %s: run %s -i %j answers with %j',
  async (profile, agent, question, answer) => {
    await using project = await projectOf(profile)
    const { code, stdout } = await symbi(['run', agent, '-i', question], { cwd: project.path })
    expect([code, stdout]).toEqual([0, expect.stringContaining(answer)])
  },
  30_000,
)

test('profile assistant: an MCP client that acts as its agent looks at the runtime at once, and does nothing else', async () => {
  await using project = await projectOf('assistant')
  const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'newcomer', version: '0' } }
  const frames = [
    { jsonrpc: '2.0', id: 0, method: 'initialize', params: client },
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'system_health' } },
  ]
  const input = frames.map((frame) => `${JSON.stringify(frame)}\n`).join('')
  const { code, stdout } = await symbi(['mcp', '--agent', 'assistant'], { cwd: project.path, input })
  expect(code).toBe(0)
  const [, answer] = jsonLines(stdout)
  expect(answer).toMatchObject({ id: 1, result: { isError: false } })
})

test('what stands commented out in the settings can be used when the marks are taken away', async () => {
  await using project = await projectOf('minimal')
  const settings = project.of('symbiont.toml')
  const samples = readFileSync(settings, 'utf8').replace(/^# (?=[a-z_]+ = |\[)/gm, '')
  expect(samples).toMatch(/^\[mcp\.servers\.helpdesk\]$/m)
  writeFileSync(settings, samples)
  mkdirSync(project.of('docs'))
  const { code, stdout } = await inProcess(['doctor', '--project', project.path, '--json', '--port', '0'], {
    env: { ANTHROPIC_API_KEY: 'none' },
  })
  const rows = jsonLines(stdout)
  expect([code, rows.filter(({ status }) => status === 'failed')]).toEqual([0, []])
  expect(rows.find(({ check }) => check === 'tool servers')).toMatchObject({
    found: '1 tool server configured; 2 exposed tools are not pinned yet',
  })
})

test('profile multi-agent: what the coordinator hands over leaves two journals that prove each other', async () => {
  await using project = await projectOf('multi-agent')
  await using server = await startUp(project.path)
  const chat = await symbi(['chat', 'Let the reviewer inspect the system'], { cwd: project.path })
  expect([chat.code, chat.stdout]).toEqual([0, expect.stringContaining('I asked the reviewer, in a run of its own:')])
  expect(chat.stdout).toContain('"components"')
  const denied = await symbi(['chat', 'Let the reviewer list the schedules'], { cwd: project.path })
  expect([denied.code, denied.stdout]).toEqual([0, expect.stringContaining('inline policy looks_at_health')])
  const journal = /^journal +(.+)$/m.exec(chat.stderr)?.[1] ?? ''
  expect(readFileSync(journal, 'utf8')).toContain('"target":"reviewer"')
  const tree = await symbi(['audit', 'verify', '--tree', journal], { cwd: project.path })
  expect([tree.code, tree.stdout]).toEqual([0, expect.stringContaining('reviewer')])
  await server.stop()
}, 60_000)
