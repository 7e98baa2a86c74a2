import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ApiKeys } from '../../src/access/index.ts'
import { DEMO_MODEL_TEXT, DEMO_MODEL_WITH_WORKERS_TEXT } from '../../src/cli/init/init-demo-model.ts'
import { PROFILES } from '../../src/cli/init/init-profiles.ts'
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
  expect(await checkPolicies(world, project.of('policies'))).toMatchObject({ policies: 3, problems: [] })
  for (const surface of ['coordinator', 'mcp-server']) {
    const text = await readFile(project.of('policies', surface, 'monitoring.cedar'), 'utf8')
    const named = [...text.matchAll(/Action::"([^"]+)"/g)].map(([, name]) => name?.replace('tool_call::', ''))
    expect(named.sort()).toEqual(
      ['agent_status', 'list_agents', 'list_schedules', 'query_metrics', 'scheduler_health', 'system_health'].sort(),
    )
  }
  const shared = await readFile(project.of('policies', 'default.cedar'), 'utf8')
  expect([...shared.matchAll(/Action::"([^"]+)"/g)].map(([, name]) => name)).toEqual(['respond', 'terminate'])
})

/** What the demo model says to one message, in a conversation that names its agent first. */
async function demoAnswer(text: string, agent: string | null, role: 'user' | 'tool', content: string) {
  const model = await scripted({ text }, world)
  const named = agent === 'coordinator' ? 'You are the coordinator of this project.' : `You are agent '${agent}'.`
  const system = agent === null ? [] : [{ role: 'system', content: named }]
  const last = { role, content, ...(role === 'tool' ? { tool_call_id: 'demo' } : {}) }
  return await model.complete({ messages: [...system, last] } as never, {} as never, new AbortController().signal)
}

describe.each([
  ['minimal and assistant', DEMO_MODEL_TEXT],
  ['multi-agent', DEMO_MODEL_WITH_WORKERS_TEXT],
])('the demo model of %s', (_profile, text) => {
  test.each([
    ['Inspect system health', 'system_health'],
    ['Health, please', 'system_health'],
    ['List the agents', 'list_agents'],
    ['Show the metrics', 'query_metrics'],
    ['List the schedules', 'list_schedules'],
    ['Is the scheduler well?', 'scheduler_health'],
  ])('answers %j by asking %s', async (question, tool) => {
    for (const agent of [null, 'coordinator', 'reviewer', 'operator', 'assistant']) {
      expect((await demoAnswer(text, agent, 'user', question)).tool_calls.map(({ name }) => name)).toEqual([tool])
    }
    expect((await demoAnswer(text, null, 'tool', '{"components":1}')).content).toContain('{"components":1}')
    expect((await demoAnswer(text, null, 'tool', '[Policy denied] no')).content).toMatch(/^Policy did not allow/)
    expect((await demoAnswer(text, null, 'user', 'Hello')).content).toContain('I am a script')
  })
})

test.each([
  ['Let the reviewer inspect the system', { agent: 'reviewer', task: 'Inspect system health' }],
  ['Review this runtime', { agent: 'reviewer', task: 'Inspect system health' }],
  ['Let the reviewer list the schedules', { agent: 'reviewer', task: 'List the schedules' }],
  ['Ask the operator', { agent: 'operator', task: 'Is the scheduler well?' }],
])('the demo model of multi-agent hands %j to a worker, and passes on what it found', async (question, args) => {
  const ask = (agent: string, role: 'user' | 'tool', content: string) =>
    demoAnswer(DEMO_MODEL_WITH_WORKERS_TEXT, agent, role, content)
  const [call] = (await ask('coordinator', 'user', question)).tool_calls
  expect([call?.name, JSON.parse(call?.arguments ?? '')]).toEqual(['delegate', args])
  expect((await ask(args.agent, 'user', args.task)).tool_calls, 'the worker looks').toHaveLength(1)
  expect((await ask(args.agent, 'user', question)).tool_calls.map(({ name }) => name)).not.toContain('delegate')
  const found = (await ask(args.agent, 'tool', '{"components":1}')).content
  expect(found).toBe(`The ${args.agent} found this:\n\n{"components":1}`)
  const told = (await ask('coordinator', 'tool', found)).content
  expect(told).toBe(`I asked the ${args.agent}, in a run of its own:\n\n${found}`)
  const denied = (await ask(args.agent, 'tool', '[Policy denied] inline policy x')).content
  expect((await ask('coordinator', 'tool', denied)).content).toContain(
    'nothing was done: [Policy denied] inline policy',
  )
})

describe('the profiles of init', () => {
  test('tell what each one adds, and how to try it', async () => {
    await using folder = await temporaryFolder()
    const written: Record<string, readonly string[]> = {}
    for (const profile of PROFILES.keys()) {
      const { code, stdout, stderr } = await init(folder.of(profile), '--profile', profile)
      expect([code, stdout]).toEqual([0, expect.stringContaining(`wrote ${folder.of(profile)}/agents`)])
      expect(stderr).toMatch(TRY_OUT[profile] ?? /never/)
      written[profile] = await filesIn(folder, profile)
    }
    const always = [
      'demo-model.json',
      'policies/coordinator/monitoring.cedar',
      'policies/default.cedar',
      'policies/mcp-server/monitoring.cedar',
      'symbiont.toml',
    ]
    expect(written).toEqual({
      minimal: [...always],
      assistant: [...always, 'agents/assistant.symbi', 'policies/run/monitoring.cedar'].sort(),
      'multi-agent': [
        ...always,
        'agents/operator.symbi',
        'agents/reviewer.symbi',
        'policies/coordinator/delegation.cedar',
        'policies/run/monitoring.cedar',
      ].sort(),
    })
  })

  test.each([
    ['assistant', 'coordinator', { delegate: 'reviewer' }, 'deny'],
    ['assistant', 'run', { tool: 'system_health' }, 'allow'],
    ['assistant', 'run', { tool: 'shell' }, 'deny'],
    ['minimal', 'run', { tool: 'system_health' }, 'deny'],
    ['minimal', 'mcp-server', { tool: 'system_health' }, 'allow'],
    ['minimal', 'mcp-server', { tool: 'shell' }, 'deny'],
    ['multi-agent', 'coordinator', { delegate: 'reviewer' }, 'allow'],
    ['multi-agent', 'coordinator', { delegate: 'operator' }, 'allow'],
    ['multi-agent', 'coordinator', { delegate: 'stranger' }, 'deny'],
    ['multi-agent', 'coordinator', { tool: 'system_health' }, 'allow'],
    ['multi-agent', 'run', { tool: 'list_schedules' }, 'allow'],
    ['multi-agent', 'run', { delegate: 'reviewer' }, 'deny'],
  ])('%s: on the surface %s the call %j is answered with %s', async (profile, surface, call, decision) => {
    await using folder = await temporaryFolder()
    expect((await init(folder.path, '--profile', profile)).code).toBe(0)
    await writeFile(folder.of('call.json'), JSON.stringify(call))
    const args = ['--project', folder.path, '--surface', surface, '--input', folder.of('call.json')]
    expect((await inProcess(['policy', 'evaluate', ...args])).stdout).toBe(`${decision}\n`)
    expect(await checkPolicies(world, folder.of('policies'))).toMatchObject({ problems: [] })
  })

  test('add nothing to agents and policies that are there, and say so', async () => {
    await using folder = await temporaryFolder()
    await mkdir(folder.of('agents'))
    await writeFile(folder.of('agents', 'mine.symbi'), 'agent mine {}\n')
    const { code, stdout, stderr } = await init(folder.path, '--profile', 'multi-agent')
    expect([code, stdout]).toEqual([0, expect.stringMatching(/kept {2}\S+\/agents\/\n/)])
    expect(stderr).toMatch(
      /^Nothing of profile "multi-agent" was added to what was there: agents\/\nStart it with: .*\n$/,
    )
    expect(await readdir(folder.of('agents'))).toEqual(['mine.symbi'])
    const again = await init(folder.path, '--profile', 'assistant', '--force', '--no-interact')
    expect([again.code, again.stderr]).toEqual([
      0,
      'Nothing of profile "assistant" was added to what was there: policies/, agents/\n',
    ])
    expect(await exists(folder.of('policies', 'run', 'monitoring.cedar')), 'the policies of the first time').toBe(true)
  })
})

const TRY_OUT: Readonly<Record<string, RegExp>> = {
  minimal: /^Start it with: .* up --project \S+\n$/,
  assistant: /\nOr run its agent: .* run --project \S+ assistant -i "Inspect system health"\n$/,
  'multi-agent': /\nThen hand over a task: .* chat --project \S+ "Let the reviewer inspect the system"\n$/,
}

async function filesIn(folder: TemporaryFolder, name: string): Promise<readonly string[]> {
  const found = await readdir(folder.of(name), { recursive: true, withFileTypes: true })
  const paths = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const named = paths.map((path) => path.slice(folder.of(name).length + 1))
  return named.filter((path) => !path.split('/').some((part) => part.startsWith('.'))).sort()
}

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
    for (const surface of ['coordinator', 'mcp-server']) {
      await rm(project.of('policies', surface), { recursive: true })
    }
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

/** Of the profile that writes most, every fifth of all changes, in five tests that take a fifth of the time. */
test.each([0, 1, 2, 3, 4])(
  'init that fails at any change of the disk leaves no half project: the next init makes a whole one (%i of 0 to 4)',
  async (part) => {
    for (let failAt = part; ; failAt += 5) {
      await using folder = await temporaryFolder()
      const { broken, failed } = worldThatFails(failAt)
      const init = ['init', '--project', folder.path, '--profile', 'multi-agent']
      const first = await inProcess(init, { world: broken })
      if (!failed()) {
        expect([first.code, failAt > 60]).toEqual([0, true])
        return
      }
      expect([failAt, first.code]).toEqual([failAt, 74])
      const hadKeys = await exists(folder.of('.symbiont', 'api-keys.json'))
      const more = (await exists(folder.of('symbiont.toml'))) ? ['--force'] : []
      const second = await inProcess([...init, ...more])
      expect([failAt, second.code]).toEqual([failAt, 0])
      expect(await checkPolicies(world, folder.of('policies'))).toMatchObject({ policies: 5, problems: [] })
      expect((await readdir(folder.of('agents'))).sort()).toEqual(['operator.symbi', 'reviewer.symbi'])
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

test.each(['import', 'dev-agent', 'nonsense', 'constructor'])(
  'init refuses the profile %j, with a hint',
  async (profile) => {
    await using folder = await temporaryFolder()
    const { code, stderr } = await init(folder.of('new'), '--profile', profile)
    expect([code, stderr]).toEqual([64, expect.stringMatching(/^USAGE: .*\nhint: .*minimal/)])
    expect(await readdir(folder.path)).toEqual([])
  },
)

test('init refuses a platform without the guarantees that evidence needs', async () => {
  await using folder = await temporaryFolder()
  const weak = { ...world, files: { ...world.files, durable: false } }
  const { code, stderr } = await inProcess(['init', '--project', folder.path], { world: weak })
  expect([code, stderr]).toEqual([69, expect.stringMatching(/^PLATFORM_UNSUPPORTED: /)])
})
