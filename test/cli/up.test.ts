import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { newId, parseId } from '../../src/core/index.ts'
import { parsePublicKey, verifyRun } from '../../src/journal/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { demoProject, inProcess, jsonLines, type RunningServer, start, startUp, symbi } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

const world = nodeWorld()
const freshId = (): string => newId('invocation', world.random)

type Message = Readonly<Record<string, unknown>> & { readonly type: string }

/** One turn over the socket: resolves with its last message, and tells every message on the way. */
async function chat(
  server: RunningServer,
  token: string,
  content: string,
  told: (message: Message) => void = () => undefined,
) {
  const socket = new WebSocket(server.ws, { headers: { authorization: `Bearer ${token}` } })
  try {
    return await new Promise<Message>((resolve, reject) => {
      socket.once('error', reject)
      socket.once('close', (code) => reject(new Error(`closed with ${code}`)))
      socket.on('open', () => socket.send(JSON.stringify({ type: 'ChatSend', id: freshId(), content })))
      socket.on('message', (data) => {
        const message = JSON.parse(String(data)) as Message
        told(message)
        if (message.type === 'Error' || (message.type === 'ChatChunk' && message.done === true)) resolve(message)
      })
    })
  } finally {
    socket.removeAllListeners('close').close()
  }
}

describe('up --json', () => {
  test('prints one line when it listens, logs to stderr, and exits 0 after a request to stop', async () => {
    await using project = await demoProject()
    await using server = await startUp(project.path)
    expect((await fetch(`${server.api}/api/v1/health`)).status).toBe(200)
    const note = JSON.parse(await readFile(project.of('.symbiont', 'server.json'), 'utf8'))
    expect(note).toMatchObject({ pid: server.child.pid, url: server.api })
    const { code, stdout, stderr } = await server.stop('SIGINT')
    expect([code, stdout]).toEqual([0, `${JSON.stringify({ event: 'listening', api: server.api, ws: server.ws })}\n`])
    expect(jsonLines(stderr).map(({ event }) => event)).toEqual(
      expect.arrayContaining(['policies in force', 'listening', 'stopping', 'closed']),
    )
    expect(stderr.trim().split('\n'), 'and nothing but log').toHaveLength(jsonLines(stderr).length)
  })

  test('lets a chat look at the system health under the policies of init', async () => {
    await using project = await demoProject()
    await using server = await startUp(project.path)
    const types: string[] = []
    const answer = await chat(server, project.token, 'Inspect system health', ({ type }) => types.push(type))
    expect(answer.content).toMatch(/^This is the health of the system/)
    expect(types.filter((type) => type !== 'Pong')).toEqual([
      'AuditOpened',
      'PolicyDecision',
      'ToolCallStarted',
      'ToolCallResult',
      'PolicyDecision',
      'ChatChunk',
    ])
    expect(server.stderr() + server.stdout()).not.toContain(project.token.split('.')[1])
  })
})

test('up tells a person what runs, who may connect, and what to type next', async () => {
  await using project = await demoProject()
  const env = { COLUMNS: '80', SYMBIONT_REQUIRE_APPROVAL_TOOLS: 'look,delegate' }
  const running = start(['up', '--port', '0'], { cwd: project.path, env })
  await running.printed('stdout', 'Ctrl-C')
  running.child.kill('SIGTERM')
  const { code, stdout } = await running.ended
  expect(code).toBe(0)
  expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
  const lines = stdout.replace(/:\d{4,5}/g, ':PORT').replace(/node \S+symbi\.js/g, 'symbi')
  expect(lines).toBe(`symbi-runtime 0.1.0 is running
  address   http://127.0.0.1:PORT
  chat      ws://127.0.0.1:PORT/ws/chat
  MCP       http://127.0.0.1:PORT/mcp, when there is an agent to act as
  project   .
  policies  2 for chats, from default.cedar, coordinator/monitoring.cedar
  model     demo-model.json, a script and no model: no provider is configured
  access    one API key may connect; a token for this machine is in
            .symbiont/chat.token
  approvals for look, delegate, and where a tool itself asks: "symbi approvals
            list"

Chat with it, in a second terminal in this folder:
  symbi chat "Inspect system health"
Verify what it did:
  symbi audit verify
Ctrl-C stops it.
`)
})

test('up names the agents that can be given tasks, and those that cannot be used', async () => {
  await using folder = await temporaryFolder()
  await symbi(['init', '--project', folder.path, '--profile', 'multi-agent'])
  await writeFile(folder.of('agents', 'broken.symbi'), 'agent broken {\n')
  const running = start(['up', '--port', '0', '--log-level', 'warn'], { cwd: folder.path })
  await running.printed('stdout', 'Ctrl-C')
  running.child.kill('SIGTERM')
  const { stdout, stderr } = await running.ended
  expect(stdout).toMatch(/\n {2}MCP {7}\S+\/mcp, with a key for an agent \("symbi keys add --agent NAME"\)\n/)
  expect(stdout).toContain('\n  approvals where a tool itself asks for one: "symbi approvals list"\n')
  expect(stdout).toContain(`
  agents    operator, reviewer
            cannot be used: broken; "symbi dsl --check" says why
  model `)
  expect(stdout).toMatch(
    /\nHave it hand a task to one of its agents:\n {2}\S.* chat "Let the reviewer inspect the system"\n/,
  )
  expect(jsonLines(stderr)).toMatchObject([
    {
      event: 'agent cannot be used',
      name: 'broken',
      reason: expect.stringMatching(/^agents\/broken\.symbi:1:14: E101/),
    },
  ])
})

describe('up refuses', () => {
  test('a second server on the project, and says who holds it', async () => {
    await using project = await demoProject()
    await using server = await startUp(project.path)
    const second = await symbi(['up', '--project', project.path, '--port', '0'])
    expect([second.code, second.stdout]).toEqual([75, ''])
    expect(second.stderr).toContain(
      `PROJECT_HELD: Cannot start a second server on this project: it is held by process ${server.child.pid}`,
    )
    expect(second.stderr).toContain(`listening on ${server.api}`)
    expect((await fetch(`${server.api}/api/v1/health`)).status).toBe(200)
  })

  test('a port in use', async () => {
    await using first = await demoProject()
    await using other = await demoProject()
    await using server = await startUp(first.path)
    const { port } = new URL(server.api)
    const { code, stdout, stderr } = await symbi(['up', '--project', other.path, '--port', port, '--json'])
    expect([code, stdout]).toEqual([75, ''])
    expect(jsonLines(stderr)).toContainEqual(expect.objectContaining({ code: 'PORT_IN_USE' }))
  })

  test('an address that others can reach while nobody holds a credential', async () => {
    await using project = await demoProject()
    await rm(project.of('.symbiont', 'api-keys.json'))
    const { code, stderr } = await symbi(['up', '--project', project.path, '--port', '0', '--host', '0.0.0.0'])
    expect([code, stderr]).toEqual([78, expect.stringContaining('PUBLIC_BIND_REFUSED')])
  })

  test('a platform without the guarantees that evidence needs', async () => {
    await using project = await demoProject()
    const weak = { ...world, files: { ...world.files, durable: false } }
    const args = ['up', '--project', project.path, '--port', '0', '--log-level', 'silent']
    expect(await inProcess(args, { world: weak })).toMatchObject({
      code: 69,
      stdout: '',
      stderr: expect.stringMatching(/^PLATFORM_UNSUPPORTED: .*\nhint: /),
    })
  })

  test.each([
    ['a folder that is no project', [], {}, 66, 'PROJECT_MISSING'],
    ['a provider that is not known', ['--provider', 'oracle:delphi'], {}, 64, 'USAGE'],
    ['a provider without its key', ['--provider', 'openai:gpt'], {}, 78, 'CONFIG_INVALID'],
    ['an environment that is misspelt', [], { SYMBIONT_ENV: 'prodution' }, 78, 'CONFIG_INVALID'],
    ['to start without any model', [], {}, 78, 'CONFIG_INVALID'],
  ])('%s', async (name, more, env, exit, code) => {
    await using project = await demoProject()
    await using empty = await temporaryFolder()
    if (name.includes('without any model')) await rm(project.of('demo-model.json'))
    const path = code === 'PROJECT_MISSING' ? empty.path : project.path
    const done = await inProcess(['up', '--project', path, '--port', '0', '--log-level', 'silent', ...more], { env })
    expect([done.code, done.stdout, done.stderr]).toEqual([exit, '', expect.stringMatching(`^${code}: .*\nhint: .`)])
    expect(await readdir(empty.path)).toEqual([])
  })
})

describe('policies', () => {
  test('that cannot be used at the start are said loudly, and everything is denied until they are mended', async () => {
    await using project = await demoProject()
    const broken = project.of('policies', 'default.cedar')
    const good = await readFile(broken, 'utf8')
    await writeFile(broken, 'permit (principal, action')
    await using server = await startUp(project.path)
    expect(jsonLines(server.stderr())).toContainEqual(
      expect.objectContaining({
        event: 'policies cannot be used, everything is denied',
        level: 50,
        code: 'POLICY_INVALID',
      }),
    )
    expect(await chat(server, project.token, 'hello')).toMatchObject({ type: 'Error' })
    await writeFile(broken, good)
    expect(await chat(server, project.token, 'hello')).toMatchObject({ type: 'ChatChunk' })
    await server.printed('stderr', 'policies in force')
    await writeFile(broken, 'permit (principal, action')
    expect(await chat(server, project.token, 'hello')).toMatchObject({ type: 'ChatChunk' })
    await server.printed('stderr', 'the ones from before stay in force')
  })

  test('that cannot be used stand out in what a person reads', async () => {
    await using project = await demoProject()
    await writeFile(project.of('policies', 'default.cedar'), 'permit (principal, action')
    const running = start(['up', '--port', '0', '--project', project.path])
    await running.printed('stdout', 'Ctrl-C')
    running.child.kill('SIGTERM')
    expect((await running.ended).stdout).toMatch(/^ {2}policies {2}UNUSABLE, so everything is denied: /m)
  })

  test('that are switched off are announced with a banner, and at every action', async () => {
    await using project = await demoProject()
    await rm(project.of('policies'), { recursive: true })
    await using server = await startUp(project.path, ['--insecure-allow-all'])
    expect(server.stderr()).toMatch(/!{60,}\n!! POLICY IS SWITCHED OFF/)
    expect(await chat(server, project.token, 'Inspect system health')).toMatchObject({ type: 'ChatChunk' })
    await server.printed('stderr', 'policy is switched off')
  })
})

describe('access', () => {
  test('rests on the legacy token while there are no keys, and the token is never printed', async () => {
    await using project = await demoProject()
    await rm(project.of('.symbiont', 'api-keys.json'))
    const token = Buffer.from(world.random.bytes(20)).toString('hex')
    const env = { SYMBIONT_API_TOKEN: token }
    await using server = await startUp(project.path, [], { env })
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${server.api}/api/v1/agents`, { headers })).status
    expect(await status({ authorization: `Bearer ${token}` })).toBe(200)
    expect(await status({})).toBe(401)
    expect(server.stdout() + server.stderr()).not.toContain(token)
  })

  test('is limited as the settings say', async () => {
    await using project = await demoProject()
    await using server = await startUp(project.path, ['--rate-limit-per-minute', '1', '--rate-limit-burst', '2'])
    const status = async () => (await fetch(`${server.api}/api/v1/agents`)).status
    expect([await status(), await status(), await status()]).toEqual([401, 401, 429])
  })
})

test('a model that fails ends its run, and not the server', async () => {
  await using project = await demoProject()
  const script = project.of('failing.json')
  await writeFile(script, '{"model":"failing","rules":[{"when":{},"reply":{"error":"provider"}}]}')
  await using server = await startUp(project.path, ['--provider', `scripted:${script}`])
  expect(await chat(server, project.token, 'hello')).toMatchObject({ type: 'Error', code: 'LOOP_ERROR' })
  expect((await fetch(`${server.api}/api/v1/health`)).status).toBe(200)
  expect((await server.stop()).code).toBe(0)
})

test('names taken from .env are told on stderr, and their values are not', async () => {
  await using project = await demoProject()
  await writeFile(project.of('.env'), 'UNUSED_API_KEY=hidden-value\nHOME=/elsewhere\n', { mode: 0o600 })
  await using server = await startUp(project.path)
  expect(server.stderr()).toContain('Loaded from .env: UNUSED_API_KEY\n')
  expect(server.stderr()).toMatch(/^Not loaded from \.env.*: HOME$/m)
  expect(server.stderr()).not.toContain('hidden-value')
})

describe('a request to stop', () => {
  test('lets a running turn finish, and exits 0', async () => {
    await using project = await demoProject()
    const script = project.of('slow.json')
    await writeFile(script, '{"model":"slow","rules":[{"when":{},"reply":{"content":"done","delay_ms":300}}]}')
    await using server = await startUp(project.path, ['--provider', `scripted:${script}`])
    const answer = await chat(server, project.token, 'hello', ({ type }) => {
      if (type === 'AuditOpened') server.child.kill('SIGTERM')
    })
    expect(answer).toMatchObject({ type: 'ChatChunk', content: 'done' })
    expect((await server.ended).code).toBe(0)
  })

  test('made twice cancels what runs, whose journal ends and verifies, and exits 0', async () => {
    await using project = await demoProject()
    const script = project.of('stalled.json')
    await writeFile(script, '{"model":"stalled","rules":[{"when":{},"reply":{"stall":true}}]}')
    await using server = await startUp(project.path, ['--provider', `scripted:${script}`])
    let audit = { run_id: '', path: '', public_key: '' }
    const asked = chat(server, project.token, 'hello', (message) => {
      if (message.type === 'AuditOpened') {
        audit = message.audit as typeof audit
        server.child.kill('SIGTERM')
      }
    }).catch(() => null)
    await server.printed('stderr', '"stopping"')
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
    await asked
    const entries = await verifyRun(world, audit.path, parsePublicKey(audit.public_key), parseId('run', audit.run_id))
    expect(entries.at(-1)?.event.kind).toBe('Terminated')
    await using next = await startUp(project.path) // nobody holds the project
    expect(next.api).toMatch(/^http:/)
  })
})

test('a failure that nobody caught is logged, what runs is cancelled, and the exit code is 70', async () => {
  await using project = await demoProject()
  const preload = 'process.on("SIGUSR2",()=>{Promise.reject(new Error("unforeseen"))})'
  const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(preload)}` }
  await using server = await startUp(project.path, [], { env })
  server.child.kill('SIGUSR2')
  const { code, stderr } = await server.ended
  expect(code).toBe(70)
  expect(jsonLines(stderr)).toContainEqual(
    expect.objectContaining({
      event: 'failure that nobody caught',
      error: expect.objectContaining({ message: 'unforeseen' }),
    }),
  )
})
