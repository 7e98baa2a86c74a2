/** Projects, servers and the built program, for the tests of commands. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { buildWhenStale } from '../../scripts/build.mjs'
import type { Console } from '../../src/cli/console.ts'
import { run } from '../../src/cli/program.ts'
import { openRuntime, type Runtime, type Service, scripted, serve, type Tool } from '../../src/runtime/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { SECRET, testKey } from '../support/key-files.ts'
import { ROOT } from '../support/sources.ts'

export const TOKEN = `fixture.${SECRET}`
export const world = nodeWorld()

/** Commands are tested as they are run: built, by a Node of their own. */
export function build(): void {
  buildWhenStale(ROOT, { stdout: 2 })
}

export const HEALTH_SCRIPT = JSON.stringify({
  model: 'demo',
  rules: [
    { when: { last_role: 'tool', contains: 'Policy denied' }, reply: { content: 'I was not allowed to.' } },
    { when: { last_role: 'tool' }, reply: { content: 'All is well.' } },
    {
      when: { contains: 'forbidden' },
      reply: { tool_calls: [{ id: 'c1', name: 'list_agents', arguments: {} }] },
    },
    { when: { contains: 'stall' }, reply: { stall: true } },
    { when: { contains: 'fail' }, reply: { error: 'provider' } },
    { when: { contains: 'colour' }, reply: { content: 'a\u001b[31mred\u001b[0m \u0007\u009b2J\u202eend' } },
    { when: { contains: 'count' }, reply: { tool_calls: [{ id: 'c1', name: 'count_up', arguments: {} }] } },
    { when: { contains: 'again' }, reply: { content: 'Still there.' } },
    { when: {}, reply: { tool_calls: [{ id: 'c1', name: 'system_health', arguments: {} }] } },
  ],
})

const POLICY = `permit(principal, action == Action::"respond", resource);
permit(principal, action == Action::"tool_call::system_health", resource);
permit(principal, action == Action::"tool_call::count_up", resource);
`

export interface TestProject extends TemporaryFolder {
  readonly governed: string
  journals(): readonly string[]
}

/** A project with a key, its chat token and a policy, as `init` would leave it. */
export async function testProject(): Promise<TestProject> {
  const folder = await temporaryFolder()
  await mkdir(folder.of('.symbiont'), { mode: 0o700 })
  await chmod(folder.of('.symbiont'), 0o700)
  await writeFile(folder.of('.symbiont', 'api-keys.json'), JSON.stringify([await testKey('fixture')]), { mode: 0o600 })
  await writeFile(folder.of('.symbiont', 'chat.token'), `${TOKEN}\n`, { mode: 0o600 })
  await mkdir(folder.of('policies'))
  await writeFile(folder.of('policies', 'default.cedar'), POLICY)
  const governed = folder.of('.symbiont', 'governed')
  const journals = (): readonly string[] => readdirSync(governed).filter((name) => name.endsWith('.jsonl'))
  return { ...folder, governed, journals }
}

export interface TestServer extends AsyncDisposable {
  readonly runtime: Runtime
  readonly service: Service
  readonly url: string
  /** How often the tool `count_up` ran. */
  readonly runs: () => number
}

/** A server on the project in this process. `onRun` is what the tool `count_up` waits for. */
export async function testServer(
  project: TestProject,
  { onRun }: { readonly onRun?: (signal: AbortSignal) => Promise<void> } = {},
): Promise<TestServer> {
  let runs = 0
  const countUp: Tool = {
    definition: {
      name: 'count_up',
      description: 'Counts.',
      parameters: { type: 'object', additionalProperties: false },
    },
    run: async (_args, { signal }) => {
      runs += 1
      await onRun?.(signal)
      return String(runs)
    },
  }
  const runtime = await openRuntime({
    project: project.path,
    provider: await scripted({ text: HEALTH_SCRIPT }, world),
    tools: [countUp],
  })
  const service = await serve(runtime, { port: 0, log: { write: () => undefined }, rateLimit: null })
  return {
    runtime,
    service,
    url: service.server.chatUrl,
    runs: () => runs,
    [Symbol.asyncDispose]: () => service.cancelNow(),
  }
}

export interface Done {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly done: Promise<Done>
  /** Resolves with the first match in what came from stderr (or stdout) so far, or later. */
  saw(pattern: RegExp, where?: 'stdout' | 'stderr'): Promise<RegExpExecArray>
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
  readonly input?: string
}

export function start(args: readonly string[], { cwd, env = {}, input }: RunOptions = {}): Running {
  const { SYMBI_TOKEN: _, NO_COLOR: __, npm_command: ___, COLUMNS: ____, ...inherited } = process.env
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'symbi.js'), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...inherited, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  const out = { stdout: '', stderr: '' }
  const watchers = new Set<() => void>()
  for (const where of ['stdout', 'stderr'] as const) {
    child[where].setEncoding('utf8').on('data', (text: string) => {
      out[where] += text
      for (const look of watchers) look()
    })
  }
  if (input !== undefined) child.stdin.end(input)
  child.stdin.on('error', () => undefined)
  const done = new Promise<Done>((resolve) => child.on('close', (code) => resolve({ code, ...out })))
  return {
    child,
    done,
    saw: (pattern, where = 'stderr') =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(out[where])
          if (match === null) return
          watchers.delete(look)
          resolve(match)
        }
        watchers.add(look)
        look()
        void done.then(() => reject(new Error(`ended without ${pattern}: ${JSON.stringify(out)}`)))
      }),
  }
}

export function symbi(args: readonly string[], options: RunOptions = {}): Promise<Done> {
  return start(args, { input: '', ...options }).done
}

/** A command in this process, with a console that only keeps what it is told. For what needs no process of its own. */
export async function command(args: readonly string[], { env = {}, input = '' }: RunOptions = {}): Promise<Done> {
  const out = { stdout: '', stderr: '' }
  const console: Console = {
    result: (line) => {
      out.stdout += `${line}\n`
    },
    note: (line) => {
      out.stderr += `${line}\n`
    },
    progress: () => undefined,
    paint: (_style, text) => text,
    interactive: false,
    typed: false,
    lines: async function* () {
      if (input !== '') yield* input.split('\n')
    },
    onInterrupt: () => () => undefined,
  }
  const code = await run(args, { world, env, console })
  return { code, ...out }
}

/** Objects of JSON lines. */
export function linesOf(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

export function readJournal(project: TestProject, name: string): string {
  return readFileSync(join(project.governed, name), 'utf8')
}

/** Forwards connections to a port until it is told to cut them. */
export async function cuttableProxy(port: number): Promise<AsyncDisposable & { readonly url: string; cut(): void }> {
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined).on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  return {
    url: `ws://127.0.0.1:${(proxy.address() as AddressInfo).port}/ws/chat`,
    cut,
    [Symbol.asyncDispose]: async () => {
      cut()
      proxy.close()
    },
  }
}

/** A chat server that a test plays: it answers what the test says, and keeps what it was sent. */
export async function playedServer(
  play: (frame: { type: string; id: string; content: string }, socket: WebSocket, connection: number) => void,
  upgrade: (request: IncomingMessage) => Promise<void> = async () => undefined,
): Promise<AsyncDisposable & { readonly url: string; readonly frames: string[] }> {
  const frames: string[] = []
  let connections = 0
  const http = createHttpServer()
  const server = new WebSocketServer({ noServer: true })
  http.on('upgrade', (request, socket, head) => {
    void upgrade(request).then(() =>
      server.handleUpgrade(request, socket, head, (ws) => {
        connections += 1
        const connection = connections
        ws.on('message', (data) => {
          const frame = JSON.parse(String(data))
          frames.push(frame.type)
          play(frame, ws, connection)
        })
      }),
    )
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`,
    frames,
    [Symbol.asyncDispose]: async () => {
      for (const socket of server.clients) socket.terminate()
      http.close()
    },
  }
}

export function say(socket: WebSocket, message: object): void {
  socket.send(JSON.stringify(message))
}
