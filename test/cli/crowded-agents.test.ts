import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inProcess, jsonLines, start } from '../support/cli.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'

/** The first 1,024 of its entries are notes, the operator and the reviewer. */
let folder: TemporaryFolder
beforeAll(async () => {
  folder = await temporaryFolder()
  await inProcess(['init', '--project', folder.path, '--profile', 'multi-agent'])
  const notes = Array.from({ length: 1024 - 2 }, (_, at) => folder.of('agents', `${at}.md`))
  for (const note of notes) await writeFile(note, '')
  await writeFile(folder.of('agents', 'zeta.symbi'), 'agent zeta {}\nagent omega {}\n')
  for (let at = 10; at < 80; at += 1) await writeFile(folder.of('agents', `zulu${at}.symbi`), `agent zulu${at} {}\n`)
})
afterAll(() => folder[Symbol.asyncDispose]())

const REASON = 'the folder has 1095 entries and the first 1024 by name are taken; move files out of the folder'
const LIMIT = 'Cannot take every file of the folder "agents": 71 left out, first agents/zeta.symbi'

test('symbi dsl --check names the place of each agent that is left out, and says the limit', async () => {
  const paths = ['reviewer', 'zeta'].map((name) => folder.of('agents', `${name}.symbi`))
  const { code, stdout, stderr } = await inProcess(['dsl', '--check', '--project', folder.path, ...paths])
  expect(code).toBe(1)
  expect(stdout).toContain(`${paths[0]}: ok, 1 agent: reviewer`)
  expect(stdout).toContain(
    `${paths[1]}:1:7: E161 the project does not have this agent under the name "zeta": agents/zeta`,
  )
  expect(stdout).toContain(
    `${paths[1]}:2:7: E161 the project does not have this agent under the name "omega": agents/ze`,
  )
  expect(stdout).toContain(`it is left out (REGISTRY_LIMIT): ${REASON}`)
  expect(stderr).toBe(
    `REGISTRY_LIMIT: ${LIMIT}\nhint: Move what is no agent out of the folder, or split the agents over several projects\n`,
  )
})

test('symbi doctor warns with the limit, and with some of the names', async () => {
  const { code, stdout } = await inProcess(['doctor', '--project', folder.path, '--json', '--port', '0'])
  const row = jsonLines(stdout).find(({ check }) => check === 'agents') as Record<string, unknown>
  expect([code, row]).toMatchObject([
    0,
    {
      status: 'warning',
      found: '2 agents can be delegated to, in 73 files; 72 names cannot be used',
      hint: expect.stringMatching(/^Move what is no agent/),
    },
  ])
  expect(row.items).toHaveLength(66)
  expect(row.items).toMatchObject({
    0: LIMIT,
    1: `omega: agents/zeta.symbi: it is left out (REGISTRY_LIMIT): ${REASON}`,
    65: 'and 8 more',
  })
})

test('symbi up starts, has the other agents, and names what is left out', async () => {
  const running = start(['up', '--port', '0', '--log-level', 'warn'], { cwd: folder.path })
  await running.printed('stdout', 'Ctrl-C')
  running.child.kill('SIGTERM')
  const { code, stdout, stderr } = await running.ended
  expect(code).toBe(0)
  expect(stdout).toContain(`
  agents    operator, reviewer
            cannot be used: omega, zeta, zulu10, zulu11, zulu12, zulu13, zulu14, zulu15 and 64 more;
            "symbi dsl --check" says why
            ${LIMIT}
  model `)
  const lines = jsonLines(stderr)
  expect(lines).toHaveLength(66)
  expect(lines).toMatchObject({
    0: { event: 'the folder of agents exceeds a limit', code: 'REGISTRY_LIMIT', problem: LIMIT },
    1: { event: 'agent cannot be used', name: 'omega', reason: expect.stringContaining(REASON) },
    65: { event: 'more agents cannot be used', count: 8 },
  })
})

test('symbi policy explain says why a delegation has no target, and symbi run why there is nothing to run', async () => {
  const call = folder.of('call.json')
  await writeFile(call, '{"name": "delegate", "arguments": {"agent": "omega", "task": "go on"}}')
  const words = ['policy', 'explain', '--project', folder.path, '--call', call, '--agent']
  const { code, stderr } = await inProcess([...words, 'reviewer'])
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining(`Not available is the agent "omega": agents/zeta.symbi: it is`),
  ])
  for (const args of [
    [...words, 'omega'],
    ['run', 'zeta', '--project', folder.path],
  ]) {
    const refused = await inProcess(args)
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^AGENT_UNAVAILABLE: .*agents\/zeta\.symbi: .*\(REGISTRY_LIMIT\): .*\nhint: Move .* by its path\n$/,
      ),
    ])
  }
})
