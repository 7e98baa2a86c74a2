import { appendFile, chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/core/index.ts'
import { heldGate, permissiveGate } from '../../src/policy/index.ts'
import { openRuntime, scripted } from '../../src/runtime/index.ts'
import { writePins } from '../../src/upstream/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { APPROVE, deskIn, OPERATOR, pay } from '../policy/approvals/support.ts'
import { type DemoProject, demoProject, inProcess, jsonLines, startUp, symbi } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

const world = nodeWorld()

/** Rows by check. Port 0 keeps the port of this machine out of it, unless a test says otherwise. */
async function doctor(project: string, ...more: string[]) {
  const { code, stdout } = await inProcess(['doctor', '--project', project, '--json', '--port', '0', ...more])
  const rows = Object.fromEntries(jsonLines(stdout).map((row) => [String(row.check), row]))
  const failed = Object.values(rows).flatMap(({ check, status }) => (status === 'failed' ? [check] : []))
  return { code, rows, failed }
}

/** A project with two finished runs behind it. */
async function usedProject(): Promise<DemoProject> {
  const project = await demoProject()
  const provider = await scripted({ path: project.of('demo-model.json') }, world)
  await using runtime = await openRuntime({ project: project.path, provider })
  await runtime.ask('Inspect system health')
  await runtime.ask('hello')
  return project
}

const journalsOf = async (project: DemoProject): Promise<readonly string[]> =>
  (await readdir(project.of('.symbiont', 'governed')))
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => project.of('.symbiont', 'governed', name))

test('doctor finds a fresh project fit, prints a table, and exits 0', async () => {
  await using project = await demoProject()
  const { code, stdout, stderr } = await symbi(['doctor', '--project', project.path, '--port', '0'])
  expect([code, stderr]).toEqual([0, ''])
  const checks = ['project', 'configuration', 'node', 'platform', 'layout', 'modes', 'disk', 'signing key', 'policies']
  const more = ['agents', 'model', 'tools', 'tool servers', 'port', 'journals', 'claims', 'approvals']
  for (const check of [...checks, ...more]) {
    expect(stdout).toMatch(new RegExp(`^ok +${check} +\\S`, 'm'))
  }
})

test('doctor --json prints one row a line, each with check, level, status, found and hint', async () => {
  await using project = await usedProject()
  const { code, rows } = await doctor(project.path)
  expect(code).toBe(0)
  for (const row of Object.values(rows)) {
    expect(Object.keys(row)).toEqual(['check', 'level', 'status', 'found', 'hint'])
    expect(row).toMatchObject({ level: 'required', status: 'ok', hint: null })
  }
  expect(rows.journals?.found).toBe('2 verified')
  expect(rows.claims?.found).toBe('2 recorded')
  expect(rows['signing key']?.found).toMatch(/^usable, public key [0-9a-f]{64}$/)
})

test('doctor says which agents can be used, and of each other name why not', async () => {
  await using project = await demoProject()
  const agent = (name: string, text: string): Promise<void> => writeFile(project.of('agents', name), text)
  await mkdir(project.of('agents'), { recursive: true })
  await agent('desk.symbi', 'agent reader {}\nagent writer {}\n')
  expect((await doctor(project.path)).rows.agents).toMatchObject({
    status: 'ok',
    found: '2 agents can be delegated to, in 1 file',
  })
  await agent('broken.symbi', 'agent broken {\n')
  await agent('hourly.symbi', 'agent hourly {}\nschedule s { cron: "0 0 * * * *" }\n')
  const { code, rows } = await doctor(project.path)
  expect(code).toBe(0)
  expect(rows.agents).toMatchObject({
    status: 'warning',
    found: '2 agents can be delegated to, in 3 files; 2 names cannot be used',
    items: [
      expect.stringMatching(/^broken: agents\/broken\.symbi:1:14: E101 /),
      expect.stringMatching(/^hourly: agents\/hourly\.symbi:2:1: E180 /),
    ],
  })
})

test('doctor fails on a folder of agents that would keep a server from starting', async () => {
  await using project = await demoProject()
  await mkdir(project.of('agents'), { recursive: true })
  await chmod(project.of('agents'), 0o777)
  const { code, rows } = await doctor(project.path)
  expect([code, rows.agents]).toMatchObject([
    1,
    { status: 'failed', found: expect.stringContaining('everybody may write') },
  ])
})

test('doctor says what the ready-made tools may reach, and fails where a server would not start', async () => {
  await using project = await demoProject()
  const tools = async (lines: string) => {
    await writeFile(project.of('symbiont.toml'), `[tools]\n${lines}\n`)
    return (await doctor(project.path)).rows.tools
  }
  expect(await tools('')).toMatchObject({ status: 'ok', found: 'off: no folder and no origin is configured' })
  await mkdir(project.of('docs'))
  expect(await tools('http_origins = ["https://a.example.org"]\nfile_roots = { docs = "docs" }')).toMatchObject({
    status: 'ok',
    found: '1 folder and 1 origin can be used',
  })
  expect(await tools('file_roots = { docs = "gone" }')).toMatchObject({
    status: 'failed',
    found: 'Cannot use the file root "docs": its folder does not exist',
  })
  const origin = '{ origin = "https://a.example.org", headers_env = { Authorization = "SYMBI_HTTP_UNSET" } }'
  expect(await tools(`http_origins = [${origin}]`)).toMatchObject({
    status: 'failed',
    found: expect.stringContaining('the variable "SYMBI_HTTP_UNSET" is not set'),
  })
})

test('doctor says of tool servers what is pinned and what they lack, and starts none of them', async () => {
  await using project = await demoProject()
  const servers = async () => (await doctor(project.path)).rows['tool servers']
  expect(await servers()).toMatchObject({ status: 'ok', found: 'none: no tool server is configured' })
  const entry = '[servers.notes]\ncommand = "no-such-program"\nexpose = ["create", "read"]\n'
  await writeFile(project.of('mcp-config.toml'), entry)
  expect(await servers()).toMatchObject({
    status: 'ok',
    found: '1 tool server configured; 2 exposed tools are not pinned yet',
  })
  const pin = ['create', 'drop'].map((name) => ({
    name,
    description: null,
    inputSchema: { type: 'object' },
    outputSchema: null,
    annotations: null,
  }))
  const pinFile = project.of('.symbiont', 'mcp-pins.json')
  await writePins(world, pinFile, 'notes', { pin }, new AbortController().signal)
  await writeFile(project.of('mcp-config.toml'), `${entry}env_from = ["NOTES_TOKEN"]\n`)
  expect(await servers()).toMatchObject({
    status: 'warning',
    found: '1 tool server configured; 1 exposed tool pinned; 1 exposed tool is not pinned yet',
    items: [
      'pinned, and not exposed any more: mcp__notes__drop',
      '"notes" is to get variables that are not set: NOTES_TOKEN',
    ],
  })
  await chmod(pinFile, 0o644)
  expect(await servers()).toMatchObject({ status: 'failed', found: expect.stringContaining('others may use it') })
  await writeFile(project.of('mcp-config.toml'), 'servers = 1\n')
  expect(await servers()).toMatchObject({ status: 'failed', found: expect.stringContaining('mcp-config.toml') })
})

test('doctor says how many calls wait for a person', async () => {
  await using project = await demoProject()
  const { queue } = await deskIn(project.of('.symbiont', 'approvals'), {}, world)
  const approvals = async () => (await doctor(project.path)).rows.approvals
  const gate = heldGate(
    permissiveGate(() => undefined),
    queue,
  )
  const held = [1, 2, 3].map((amount) => gate.approve(pay({ amount }), new AbortController().signal))
  const [first] = await Promise.all(held)
  expect(await approvals()).toMatchObject({ status: 'warning', found: '3 calls wait for a person' })
  if (first?.kind === 'Pending') await queue.resolve(first.approval_id, APPROVE, OPERATOR)
  expect(await approvals()).toMatchObject({ found: '2 calls wait for a person, 1 decided call is not used yet' })
  await queue[Symbol.asyncDispose]()
  expect(await approvals()).toMatchObject({ status: 'ok', found: 'nothing waits for a person' })
})

test('doctor changes nothing', async () => {
  await using project = await usedProject()
  const before = await readdir(project.path, { recursive: true })
  await doctor(project.path)
  expect(await readdir(project.path, { recursive: true })).toEqual(before)
})

describe('doctor fails, with exit 1, on', () => {
  let project: DemoProject
  beforeAll(async () => {
    project = await usedProject()
  })
  afterAll(async () => await project[Symbol.asyncDispose]())

  test('a journal that was edited', async () => {
    const [path = ''] = await journalsOf(project)
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.replace('"iteration":0', '"iteration":1'))
    const { code, rows, failed } = await doctor(project.path)
    expect([code, failed]).toEqual([1, ['journals', 'claims']])
    expect(rows.journals).toMatchObject({
      found: '1 cannot be verified, 1 verified',
      items: [expect.stringContaining('.jsonl: ')],
    })
    await writeFile(path, text)
  })

  test('a journal under the name of another run', async () => {
    const [path = ''] = await journalsOf(project)
    const other = path.replace(/[^.]+\.jsonl$/, `${newId('run', world.random)}.jsonl`)
    await copyFile(path, other)
    expect(await doctor(project.path)).toMatchObject({ code: 1, failed: ['journals'] })
    await rm(other)
  })

  test('a journal under the name of another agent', async () => {
    const [path = ''] = await journalsOf(project)
    const other = path.replace(/[^/]{36}(?=\.[^.]+\.jsonl$)/, newId('agent', world.random))
    await copyFile(path, other)
    expect(await doctor(project.path)).toMatchObject({ code: 1, failed: ['journals'] })
    await rm(other)
  })

  test('a claim that is not one', async () => {
    const path = project.of('.symbiont', 'invocations', `${'0'.repeat(64)}.jsonl`)
    await writeFile(path, '{"kind":"nothing"}\n', { mode: 0o600 })
    const { code, rows } = await doctor(project.path)
    expect(code).toBe(1)
    expect(rows.claims).toMatchObject({ status: 'failed', found: '1 cannot be judged, 2 recorded' })
    await rm(path)
  })

  test('a folder or file that others may use, each by its name', async () => {
    await chmod(project.of('.symbiont', 'governed'), 0o755)
    await chmod(project.of('.symbiont', 'chat.token'), 0o644)
    await chmod(project.of('.symbiont', 'api-keys.json'), 0o640)
    const { code, rows } = await doctor(project.path)
    expect([code, rows.modes?.status]).toEqual([1, 'failed'])
    expect(rows.modes?.items).toEqual([
      expect.stringMatching(/^governed: .*0755/),
      expect.stringMatching(/^chat\.token: .*0644/),
      expect.stringMatching(/^API keys: .*0640/),
    ])
    await chmod(project.of('.symbiont', 'governed'), 0o700)
    await chmod(project.of('.symbiont', 'chat.token'), 0o600)
    await chmod(project.of('.symbiont', 'api-keys.json'), 0o600)
  })

  test('a signing key of a wrong size, or none where there are journals', async () => {
    const path = project.of('.symbiont', 'governed', 'audit-signing.key')
    const seed = await readFile(path)
    await writeFile(path, seed.subarray(1))
    expect((await doctor(project.path)).failed).toEqual(['signing key', 'journals', 'claims'])
    await rm(path)
    expect((await doctor(project.path)).rows['signing key']).toMatchObject({
      status: 'failed',
      hint: expect.stringContaining('backup'),
    })
    await writeFile(path, seed, { mode: 0o600 })
  })

  test('a policy with an error, and names the line', async () => {
    const path = project.of('policies', 'mine.cedar')
    await writeFile(path, 'permit (\n  principal, action')
    const { code, rows, failed } = await doctor(project.path)
    expect([code, failed]).toEqual([1, ['policies']])
    expect(String(rows.policies?.items)).toContain('mine.cedar')
    await rm(path)
  })

  test('settings that cannot be used, and goes on with what needs none', async () => {
    const path = project.of('symbiont.toml')
    const text = await readFile(path, 'utf8')
    await writeFile(path, '[server]\nprot = 1\n')
    const { code, rows, failed } = await doctor(project.path)
    expect([code, failed]).toEqual([1, ['configuration']])
    expect(rows).toMatchObject({
      port: { status: 'skipped' },
      model: { status: 'skipped' },
      journals: { status: 'ok' },
    })
    await writeFile(path, text)
  })

  test('a model that cannot be chosen', async () => {
    expect((await doctor(project.path, '--provider', 'scripted:absent.json')).failed).toEqual(['model'])
  })

  test('a port in use by somebody else', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    const { rows } = await doctor(project.path, '--port', String(port))
    expect(rows.port).toMatchObject({ status: 'failed', found: expect.stringContaining('EADDRINUSE') })
    await new Promise((resolve) => other.close(resolve))
  })

  test('a disk that takes no more', async () => {
    const create: typeof world.files.create = async (path, mode) => {
      const file = await world.files.create(path, mode)
      if (file === null || !path.includes('.doctor.')) return file
      const append = async (): Promise<void> => {
        throw Object.assign(
          new (await import('../../src/core/index.ts')).Fault('STORAGE_FULL', { message: 'Cannot store: full' }),
        )
      }
      return new Proxy(file, { get: (target, name) => (name === 'append' ? append : Reflect.get(target, name)) })
    }
    const full = { ...world, files: { ...world.files, create } }
    const args = ['doctor', '--project', project.path, '--json', '--port', '0']
    const { code, stdout } = await inProcess(args, { world: full })
    expect(code).toBe(1)
    expect(jsonLines(stdout)).toContainEqual(
      expect.objectContaining({ check: 'disk', status: 'failed', found: 'Cannot store: full' }),
    )
    expect((await readdir(project.of('.symbiont'))).filter((name) => name.includes('doctor'))).toEqual([])
  })

  test('a folder that is not there, and skips what it cannot look at', async () => {
    await using empty = await temporaryFolder()
    const { code, rows, failed } = await doctor(empty.of('absent'))
    expect([code, failed]).toEqual([1, ['project']])
    expect(rows).toMatchObject({ node: { status: 'ok' }, layout: { status: 'skipped' }, claims: { status: 'skipped' } })
  })

  test('a platform without the guarantees that evidence needs', async () => {
    const weak = { ...world, files: { ...world.files, durable: false } }
    const { code, stdout } = await inProcess(['doctor', '--project', project.path, '--json', '--port', '0'], {
      world: weak,
    })
    expect(code).toBe(1)
    expect(jsonLines(stdout)).toContainEqual(expect.objectContaining({ check: 'platform', status: 'failed' }))
  })
})

describe('doctor warns, with exit 0, about', () => {
  test('unresolved invocations, which it lists, and unfinished last lines', async () => {
    await using project = await usedProject()
    const [path = ''] = await journalsOf(project)
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.slice(0, -20)) // what a crash in the last write leaves behind
    const { code, rows } = await doctor(project.path)
    expect(code).toBe(0)
    expect(rows.journals).toMatchObject({ status: 'warning', found: '2 verified, 1 with an unfinished last line' })
    expect(rows.claims).toMatchObject({
      status: 'warning',
      found: '1 recorded, 1 unresolved',
      items: [expect.stringMatching(/^ws:chat:v1 [0-9a-f-]{36}$/)],
    })
  })

  test('a claim that a crash cut off before it named a journal', async () => {
    await using project = await demoProject()
    await mkdir(project.of('.symbiont', 'invocations'), { mode: 0o700 })
    const path = project.of('.symbiont', 'invocations', `${'1'.repeat(64)}.jsonl`)
    await writeFile(path, '', { mode: 0o600 })
    await appendFile(path, '{"kind":"cla')
    const { code, rows } = await doctor(project.path)
    expect([code, rows.claims?.status, rows.claims?.found]).toEqual([0, 'warning', '1 unresolved'])
  })

  test('a name that the making of the key left behind', async () => {
    await using project = await usedProject()
    await writeFile(project.of('.symbiont', 'governed', '.audit-signing.key.0011.tmp'), '', { mode: 0o600 })
    const { code, rows } = await doctor(project.path)
    expect([code, rows['signing key']?.status, rows['signing key']?.items]).toEqual([
      0,
      'warning',
      ['.audit-signing.key.0011.tmp'],
    ])
  })

  test('a project without a key in force', async () => {
    await using project = await demoProject()
    await inProcess(['keys', 'revoke', 'chat', '--project', project.path])
    expect((await doctor(project.path)).rows.modes).toMatchObject({
      status: 'warning',
      found: expect.stringContaining('0 API keys'),
    })
  })
})

test('doctor beside a running server finds its port taken by its own project', async () => {
  await using project = await demoProject()
  await using server = await startUp(project.path)
  const { port } = new URL(server.api)
  const { code, rows } = await doctor(project.path, '--port', port)
  expect([code, rows.port?.found]).toEqual([0, `${port} is used by the running server of this project`])
})
