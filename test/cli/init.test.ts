import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ApiKeys } from '../../src/access/index.ts'
import { DEMO_MODEL_TEXT } from '../../src/cli/init-demo-model.ts'
import { Fault } from '../../src/core/index.ts'
import { checkPolicies } from '../../src/policy/index.ts'
import { scripted } from '../../src/providers/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { demoProject, inProcess, symbi } from '../support/cli.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'

const world = nodeWorld()
const init = (project: string, ...more: string[]) => inProcess(['init', '--project', project, ...more])
const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8)

test('init prints what it wrote, and on stderr the line that starts the project', async () => {
  await using folder = await temporaryFolder()
  const { code, stdout, stderr } = await symbi(['init', '--project', 'demo'], { cwd: folder.path })
  expect([code, stdout]).toEqual([
    0,
    `Made the project demo
  wrote demo/policies/
  wrote demo/agents/
  wrote demo/.gitignore
  wrote demo/.symbiont/api-keys.json
  wrote demo/demo-model.json
  wrote demo/symbiont.toml
The token of key "chat" is in demo/.symbiont/chat.token, for you alone
`,
  ])
  expect(stderr).toMatch(/^Start it with: node .*bin\/symbi\.js up --project demo\n$/)
  const again = await inProcess(['init', '--project', folder.of('other'), '--no-interact'])
  expect([again.code, again.stderr], 'a script is told nothing more').toEqual([0, ''])
})

test('init keeps secrets private, and its files whole', async () => {
  await using project = await demoProject()
  expect(await modeOf(project.of('.symbiont'))).toBe('700')
  expect(await modeOf(project.of('.symbiont', 'chat.token'))).toBe('600')
  expect(await modeOf(project.of('.symbiont', 'api-keys.json'))).toBe('600')
  expect((await readFile(project.of('.gitignore'), 'utf8')).split('\n')).toEqual(['.symbiont/', '.env', ''])
  const keys = await readFile(project.of('.symbiont', 'api-keys.json'), 'utf8')
  expect(keys).not.toContain(project.token.split('.')[1])
  const left = await readdir(project.path, { recursive: true })
  expect(left.filter((name) => name.includes('.tmp'))).toEqual([])
})

test('the token that init leaves is an admin key of the project', async () => {
  await using project = await demoProject()
  const settings = { legacyToken: null, refuseLegacyToken: false, rejectLegacyKeys: true, production: true }
  const keys = await ApiKeys.open({ keyFile: project.of('.symbiont', 'api-keys.json'), ...settings }, world, () => {
    throw new Error('nothing to report')
  })
  expect(await keys.authenticate(project.token)).toMatchObject({ key_id: 'chat', agent_scope: null })
})

test('the policies of init permit replies, the end of a run and the six monitoring tools, and nothing else', async () => {
  await using project = await demoProject()
  expect(await checkPolicies(world, project.of('policies'))).toMatchObject({ policies: 2, problems: [] })
  const text = await readFile(project.of('policies', 'coordinator', 'monitoring.cedar'), 'utf8')
  const named = [...text.matchAll(/Action::"([^"]+)"/g)].map(([, name]) => name?.replace('tool_call::', ''))
  expect(named.sort()).toEqual(
    ['agent_status', 'list_agents', 'list_schedules', 'query_metrics', 'scheduler_health', 'system_health'].sort(),
  )
  const shared = await readFile(project.of('policies', 'default.cedar'), 'utf8')
  expect([...shared.matchAll(/Action::"([^"]+)"/g)].map(([, name]) => name)).toEqual(['respond', 'terminate'])
})

test.each([
  ['Inspect system health', 'system_health'],
  ['Health, please', 'system_health'],
  ['List the agents', 'list_agents'],
  ['Show the metrics', 'query_metrics'],
  ['List the schedules', 'list_schedules'],
  ['Is the scheduler well?', 'scheduler_health'],
])('the demo model answers %j by asking %s', async (question, tool) => {
  const model = await scripted({ text: DEMO_MODEL_TEXT }, world)
  const signal = new AbortController().signal
  const answer = async (role: 'user' | 'tool', content: string) =>
    await model.complete(
      { messages: [{ role, content, ...(role === 'tool' ? { tool_call_id: 'demo' } : {}) }] } as never,
      {} as never,
      signal,
    )
  expect((await answer('user', question)).tool_calls.map(({ name }) => name)).toEqual([tool])
  expect((await answer('tool', '{"components":1}')).content).toContain('{"components":1}')
  expect((await answer('tool', '[Policy denied] no')).content).toMatch(/^Policy did not allow/)
  expect((await answer('user', 'Hello')).content).toContain('I am a script')
})

describe('a project that exists', () => {
  test('is refused without --force', async () => {
    await using project = await demoProject()
    const { code, stdout, stderr } = await init(project.path, '--json')
    expect([code, stdout]).toEqual([1, ''])
    expect(JSON.parse(stderr)).toMatchObject({ code: 'PROJECT_EXISTS', details: { hint: expect.any(String) } })
  })

  test('keeps policies, keys and evidence with --force, and gets its settings and demo model again', async () => {
    await using project = await demoProject()
    await writeFile(project.of('policies', 'default.cedar'), '// mine\n')
    await rm(project.of('policies', 'coordinator'), { recursive: true })
    await writeFile(project.of('symbiont.toml'), '[server]\nport = 1\n')
    const { code, stdout } = await init(project.path, '--force', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      project: project.path,
      profile: 'minimal',
      written: ['demo-model.json', 'symbiont.toml'],
      kept: ['policies/', 'agents/', '.gitignore', '.symbiont/api-keys.json'],
      key_id: null,
      token_file: null,
    })
    expect(await readFile(project.of('policies', 'default.cedar'), 'utf8')).toBe('// mine\n')
    expect(await readdir(project.of('policies')), 'a permission that was taken away stays away').toEqual([
      'default.cedar',
    ])
    expect(await readFile(project.of('.symbiont', 'chat.token'), 'utf8')).toBe(`${project.token}\n`)
    expect(await readFile(project.of('symbiont.toml'), 'utf8')).not.toContain('port = 1')
  })

  test('keeps what its .gitignore says, and the mode of that file', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('.gitignore'), 'mine\n.env', { mode: 0o640 })
    expect((await init(folder.path)).code).toBe(0)
    expect(await readFile(folder.of('.gitignore'), 'utf8')).toBe('mine\n.env\n.symbiont/\n')
    expect(await modeOf(folder.of('.gitignore'))).toBe('640')
  })
})

test('init finishes what an interrupted init began, whatever it had written', async () => {
  await using whole = await demoProject()
  const parts = ['policies', 'agents', '.gitignore', join('.symbiont', 'api-keys.json'), 'demo-model.json']
  for (const missing of parts) {
    await rm(whole.of('symbiont.toml'), { force: true })
    await rm(whole.of(missing), { recursive: true })
    const { code, stdout } = await init(whole.path, '--json')
    expect([missing, code]).toEqual([missing, 0])
    expect(JSON.parse(stdout).written).toHaveLength(2)
    expect(await stat(whole.of(missing))).toBeDefined()
  }
  const token = (await readFile(whole.of('.symbiont', 'chat.token'), 'utf8')).trim()
  expect(token, 'the token of a key that never came to be').not.toBe(whole.token)
})

/** Every fifth of all changes, in five tests that take a fifth of the time. */
test.each([0, 1, 2, 3, 4])(
  'init that fails at any change of the disk leaves no half project: the next init makes a whole one (%i of 0 to 4)',
  async (part) => {
    for (let failAt = part; ; failAt += 5) {
      await using folder = await temporaryFolder()
      const { broken, failed } = worldThatFails(failAt)
      const first = await inProcess(['init', '--project', folder.path], { world: broken })
      if (!failed()) {
        expect([first.code, failAt > 40]).toEqual([0, true])
        return
      }
      expect([failAt, first.code]).toEqual([failAt, 74])
      const hadKeys = await exists(folder.of('.symbiont', 'api-keys.json'))
      const more = (await exists(folder.of('symbiont.toml'))) ? ['--force'] : []
      const second = await init(folder.path, ...more)
      expect([failAt, second.code]).toEqual([failAt, 0])
      expect(await checkPolicies(world, folder.of('policies'))).toMatchObject({ policies: 2, problems: [] })
      if (hadKeys) expect([failAt, await holderOf(folder)]).toEqual([failAt, 'chat']) // else the pair is a fresh one
    }
  },
)

/** From the change of this number on, the disk is gone. */
function worldThatFails(failAt: number): { readonly broken: World; readonly failed: () => boolean } {
  let count = 0
  const files = { ...world.files }
  for (const name of ['create', 'mkdir', 'link', 'rename', 'unlink', 'syncDirectory'] as const) {
    const change = world.files[name] as (...args: unknown[]) => Promise<unknown>
    Object.assign(files, {
      [name]: async (...args: unknown[]) => {
        if (count++ >= failAt) throw new Fault('STORAGE_FAILED', { message: 'Cannot write: the disk is gone' })
        return await change(...args)
      },
    })
  }
  return { broken: { ...world, files }, failed: () => count > failAt }
}

/** Whose token lies in the project's file. */
async function holderOf(folder: TemporaryFolder): Promise<string | null> {
  const token = (await readFile(folder.of('.symbiont', 'chat.token'), 'utf8')).trim()
  const settings = { legacyToken: null, refuseLegacyToken: true, rejectLegacyKeys: true, production: true }
  const keyFile = folder.of('.symbiont', 'api-keys.json')
  const keys = await ApiKeys.open({ keyFile, ...settings }, world, () => undefined)
  return (await keys.authenticate(token))?.key_id ?? null
}

const exists = async (path: string): Promise<boolean> => (await world.files.lstat(path)) !== null

test('init refuses a state folder that others may enter, and writes nothing into it', async () => {
  await using folder = await temporaryFolder()
  await mkdir(folder.of('.symbiont'))
  await chmod(folder.of('.symbiont'), 0o755)
  const { code, stderr } = await init(folder.path)
  expect([code, stderr]).toEqual([74, expect.stringMatching(/^STORAGE_UNSAFE: /)])
  expect(await readdir(folder.path, { recursive: true })).toEqual(['.symbiont'])
})

test.each(['assistant', 'dev-agent', 'nonsense'])('init refuses the profile %j, with a hint', async (profile) => {
  await using folder = await temporaryFolder()
  const { code, stderr } = await init(folder.of('new'), '--profile', profile)
  expect([code, stderr]).toEqual([64, expect.stringMatching(/^USAGE: .*\nhint: .*minimal/)])
  expect(await readdir(folder.path)).toEqual([])
})

test('init refuses a platform without the guarantees that evidence needs', async () => {
  await using folder = await temporaryFolder()
  const weak = { ...world, files: { ...world.files, durable: false } }
  const { code, stderr } = await inProcess(['init', '--project', folder.path], { world: weak })
  expect([code, stderr]).toEqual([69, expect.stringMatching(/^PLATFORM_UNSUPPORTED: /)])
})
