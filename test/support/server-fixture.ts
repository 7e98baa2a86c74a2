/** A server on a free loopback port with three keys, a fake runtime API, fake chats, and everything it logs. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { WebSocket } from 'ws'
import { type AccessSettings, ApiKeys } from '../../src/access/index.ts'
import type { ServerMessage } from '../../src/coordinator/index.ts'
import { type AgentId, Fault } from '../../src/core/index.ts'
import { type Log, type RunningServer, type ServerOptions, startServer } from '../../src/server/index.ts'
import { FakeChats } from './fake-chats.ts'
import {
  AGENT,
  type KeyFolder,
  keyFolder,
  OTHER_AGENT,
  SECRET,
  settingsFor,
  type TestKey,
  testKey,
} from './key-files.ts'
import { type TestWorld, testWorld } from './test-world.ts'

export const ADMIN = `fixture.${SECRET}`
export const OTHER = `other.${SECRET}`
export const SCOPED = `scoped.${SECRET}`

export type LogLine = { readonly level: string; readonly event: string; readonly facts: unknown }

export interface Fixture extends AsyncDisposable {
  readonly server: RunningServer
  readonly chats: FakeChats
  readonly keys: ApiKeys
  readonly folder: KeyFolder
  readonly records: readonly TestKey[]
  readonly world: TestWorld
  readonly lines: LogLine[]
  get(path: string, token?: string | null, init?: RequestInit): Promise<Response>
  /** An open chat socket. Rejects with the HTTP status when the upgrade is refused. */
  chat(how?: { token?: string | null; query?: string; headers?: Record<string, string> }): Promise<TestSocket>
  /** The status and body of a refused upgrade. */
  refused(query: string, headers?: Record<string, string>): Promise<Refused>
}

export type Envelope = {
  readonly error: string
  readonly code: string
  readonly details: Record<string, unknown> | null
}

export type Refused = { readonly status: number; readonly body: Envelope; readonly headers: Record<string, unknown> }

export const fakeApi: ServerOptions['api'] = {
  getSystemHealth: async () => ({ status: 'healthy' }),
  listAgents: async () => [AGENT as AgentId, OTHER_AGENT as AgentId],
  getAgentStatus: async (agent) => {
    if (agent !== AGENT) throw new Fault('AGENT_NOT_FOUND', { message: 'Cannot find the agent: no agent has this id' })
    return { agent_id: agent, state: 'Ready' }
  },
  getMetrics: async () => ({ agents: { total: 2, running: 0, idle: 2, error: 0 } }),
  listSchedules: async () => [],
  getSchedulerHealth: async () => ({ is_running: false }),
}

export async function fixture(
  options: Partial<ServerOptions> & { readonly access?: Partial<AccessSettings>; readonly records?: TestKey[] } = {},
): Promise<Fixture> {
  const records = options.records ?? [
    await testKey('fixture'),
    await testKey('other'),
    await testKey('scoped', { agent_scope: [AGENT] }),
  ]
  const folder = await keyFolder(records)
  const world = testWorld()
  const lines: LogLine[] = []
  const log: Log = { write: (level, event, facts) => void lines.push({ level, event, facts }) }
  const keys = await ApiKeys.open(settingsFor(folder.path, options.access), world, () => undefined)
  const chats = new FakeChats()
  const server = await startServer(
    { api: fakeApi, keys, chats, log, version: '9.9.9', port: 0, rateLimit: null, ...options },
    world,
  )
  const sockets: WebSocket[] = []
  const dial = (query: string, headers: Record<string, string>): WebSocket => {
    const ws = new WebSocket(`${server.chatUrl}${query}`, { headers, perMessageDeflate: false })
    sockets.push(ws)
    return ws
  }
  return {
    server,
    chats,
    keys,
    folder,
    records,
    world,
    lines,
    get: (path, token = ADMIN, init = {}) =>
      fetch(`${server.url}${path}`, {
        ...init,
        headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...init.headers },
      }),
    chat: async ({ token = ADMIN, query = '', headers = {} } = {}) => {
      const ws = dial(
        query,
        token === null || query !== '' ? headers : { authorization: `Bearer ${token}`, ...headers },
      )
      const socket = new TestSocket(ws)
      await once(ws, 'open')
      return socket
    },
    refused: async (query, headers = {}) => {
      const ws = dial(query, headers)
      ws.on('error', () => undefined)
      const [, response] = await once(ws, 'unexpected-response')
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      return { status: response.statusCode, headers: response.headers, body: JSON.parse(String(Buffer.concat(chunks))) }
    },
    [Symbol.asyncDispose]: async () => {
      for (const ws of sockets) ws.terminate()
      await server.cancelNow()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** A client socket that keeps what arrives until it is asked for. */
export class TestSocket {
  readonly ws: WebSocket
  readonly closed: Promise<number>
  readonly #messages: ServerMessage[] = []
  #arrived: () => void = () => undefined

  constructor(ws: WebSocket) {
    this.ws = ws
    this.closed = new Promise((resolve) => ws.on('close', (code) => resolve(code)))
    ws.on('error', () => undefined)
    ws.on('message', (data) => {
      this.#messages.push(JSON.parse(String(data)) as ServerMessage)
      this.#arrived()
    })
  }

  async next(): Promise<ServerMessage> {
    while (this.#messages.length === 0) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve
      })
    }
    return this.#messages.shift()!
  }

  /** The next message that is no heartbeat. */
  async nextSaid(): Promise<ServerMessage> {
    for (;;) {
      const message = await this.next()
      if (message.type !== 'Pong') return message
    }
  }

  send(text: string | Buffer): void {
    this.ws.send(text)
  }
}

/** Sends bytes as they are and returns everything that comes back until the server ends the connection. */
export async function raw(server: RunningServer, bytes: string): Promise<string> {
  const socket = connect(server.port, server.host)
  socket.on('error', () => undefined)
  socket.write(bytes)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  await once(socket, 'close')
  return String(Buffer.concat(chunks))
}

/** Waits until a condition holds that some event of the server will bring about. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2))
}
