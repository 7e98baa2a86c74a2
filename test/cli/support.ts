/** Projects that ran, servers in this process, and servers that a test plays, for the tests of commands. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import {
  openRuntime,
  type Runtime,
  type RuntimeOptions,
  type Service,
  scripted,
  serve,
  type Tool,
} from '../../src/runtime/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { type Ran, type RunOptions, type Running as Started, start as startProgram } from '../support/cli.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts'
import { SECRET, testKey } from '../support/key-files.ts'

export const TOKEN = `fixture.${SECRET}`
export const world = nodeWorld()

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
  {
    onRun,
    approvals,
  }: {
    readonly onRun?: (signal: AbortSignal) => Promise<void>
    readonly approvals?: NonNullable<RuntimeOptions['approvals']>
  } = {},
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
    ...(approvals === undefined ? {} : { approvals }),
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

export interface Running {
  readonly child: Started['child']
  readonly done: Promise<Ran>
  /** Resolves with the first match in what came from stderr (or stdout) so far, or later. */
  saw(pattern: RegExp, where?: 'stdout' | 'stderr'): Promise<RegExpExecArray>
}

/** As `start` of the support for all commands; with `input`, that is typed and then the input ends. */
export function start(args: readonly string[], options: RunOptions = {}): Running {
  const running = startProgram(args, options)
  if (options.input !== undefined) running.child.stdin.end(options.input)
  return {
    child: running.child,
    done: running.ended,
    saw: async (pattern, where = 'stderr') => {
      await running.printed(where, pattern)
      const match = pattern.exec(running[where]())
      if (match === null) throw new Error(`what matched ${pattern} is gone`)
      return match
    },
  }
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
