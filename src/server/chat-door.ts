/**
 * The chat door: `/ws/chat`, from the upgrade request to the open socket, and the set of all open sockets.
 *
 * Everything is decided before the upgrade, in the order of every other request: address, rate limit, route, origin,
 * credential. A refusal is a plain HTTP answer with the common envelope, and the connection ends.
 */
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { Duplex } from 'node:stream'
import type * as Ws from 'ws'
import type { ApiKeys, Caller, Tickets } from '../access/index.ts'
import type { ChatHost } from '../coordinator/index.ts'
import { assert, Fault } from '../core/index.ts'
import type { World } from '../world/index.ts'
import { ChatSocket } from './chat-socket.ts'
import { authenticateChat } from './credentials.ts'
import { type FrontDoor, pathOf, queryOf } from './front-door.ts'
import type { Log } from './log.ts'
import type { Route } from './mount.ts'
import type { OutboundLimits } from './outbound-queue.ts'
import { refusalOf, refuseSocket, SECURITY_HEADERS } from './refusal.ts'

export type ChatDoorParts = {
  /** Null where there is no model to talk to; then the route does not exist. */
  readonly chats: ChatHost | null
  readonly keys: ApiKeys
  readonly tickets: Tickets
  readonly front: FrontDoor
  readonly log: Log
  readonly limits: ChatLimits
  /** False once the server shuts down. */
  readonly takesWork: () => boolean
}

export type ChatLimits = {
  readonly socketsMax: number
  readonly frameBytesMax: number
  /** How often a socket says Pong, and its key is looked at again. */
  readonly heartbeatMs: number
  /** How long the peer may take to answer a close frame. */
  readonly closeMsMax: number
  readonly outbound: OutboundLimits
}

/** Required, because the door that this package has for `import` reads eight of its files twice: 12 ms of a start. */
const { WebSocketServer } = createRequire(import.meta.url)('ws') as typeof Ws

const PATH = '/ws/chat'
/** The system finds out about peers that vanished without a word. */
const KEEP_ALIVE_MS = 30_000

export class ChatDoor {
  readonly #parts: ChatDoorParts
  readonly #world: World
  readonly #upgrader: Ws.WebSocketServer
  readonly #sockets = new Set<ChatSocket>()
  /** Upgrades that wait for their credential: they count against the limit, and shutdown ends them. */
  readonly #arriving = new Set<Duplex>()

  constructor(parts: ChatDoorParts, world: World) {
    this.#parts = parts
    this.#world = world
    const options = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: parts.limits.frameBytesMax,
      closeTimeout: parts.limits.closeMsMax,
      handleProtocols: () => false as const,
    }
    this.#upgrader = new WebSocketServer(options)
    this.#upgrader.on('headers', (lines) => {
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) lines.push(`${name}: ${value}`)
    })
    this.#upgrader.on('wsClientError', (error, socket) => refuseSocket(socket, notWebSocket(error.message)))
  }

  get count(): number {
    return this.#sockets.size
  }

  /** What a plain request to the path gets: 401 like the upgrade, and with a credential the advice to upgrade. */
  get routes(): readonly Route[] {
    const { chats, keys, tickets } = this.#parts
    if (chats === null) return []
    return [
      {
        method: 'GET',
        path: PATH,
        access: 'public',
        handle: async ({ headers, query }) => {
          if (!query.has('ticket')) await authenticateChat(headers, query, keys, tickets) // a ticket is not spent on this
          throw new Fault('UPGRADE_REQUIRED', {
            message: 'Cannot answer over plain HTTP: the route speaks WebSocket only',
            hint: 'Connect with a WebSocket client',
          })
        },
      },
    ]
  }

  /** For the server's `upgrade` event. Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const vanished = (): void => void socket.destroy()
    socket.on('error', vanished)
    this.#arriving.add(socket)
    try {
      const { caller, address } = await this.#admit(request)
      if (socket.destroyed) return
      request.socket.setKeepAlive(true, KEEP_ALIVE_MS)
      this.#upgrader.handleUpgrade(request, socket, head, (ws) => this.#open(ws, caller, address))
    } catch (error) {
      const refusal = refusalOf(error)
      const level = refusal.status < 500 ? 'info' : 'warn'
      this.#parts.log.write(level, 'upgrade refused', { status: refusal.status, code: refusal.body.code })
      if (!(error instanceof Fault)) this.#parts.log.write('error', 'failure', { error })
      refuseSocket(socket, error)
    } finally {
      this.#arriving.delete(socket)
    }
  }

  /** Lets every chat finish its admitted turns and ends its connection. Resolves when all are gone. */
  async drain(): Promise<void> {
    await Promise.all([...this.#sockets].map((socket) => socket.drain()))
  }

  /** Cancels every chat and ends its connection. Resolves when all are gone. */
  async cancel(): Promise<void> {
    for (const socket of this.#arriving) socket.destroy()
    await Promise.all([...this.#sockets].map((socket) => socket.cancel()))
  }

  terminate(): void {
    for (const socket of this.#sockets) socket.terminate()
  }

  async #admit(request: IncomingMessage): Promise<{ readonly caller: Caller; readonly address: string }> {
    const { front, chats, keys, tickets, limits } = this.#parts
    const address = front.admit(request)
    if (pathOf(request) !== PATH || chats === null) {
      throw new Fault('NOT_FOUND', {
        message: 'Cannot upgrade the connection: there is no such route',
        hint: `The chat is at ${PATH}; every other route speaks plain HTTP without an Upgrade header`,
      })
    }
    if (request.headers.upgrade?.toLowerCase() !== 'websocket')
      throw notWebSocket('the Upgrade header names another one')
    this.#refuseNewWork()
    front.refuseForeignOrigin(request)
    if (this.#sockets.size + this.#arriving.size > limits.socketsMax) {
      throw new Fault('OVERLOADED', {
        message: 'Cannot open the connection: too many are open',
        hint: 'Close connections that are not needed, or raise the limit of the server',
      })
    }
    const caller = await authenticateChat(request.headers, queryOf(request), keys, tickets)
    this.#refuseNewWork() // the credential took a while
    return { caller, address }
  }

  #refuseNewWork(): void {
    if (this.#parts.takesWork()) return
    throw new Fault('SHUTTING_DOWN', {
      message: 'Cannot open the connection: the server is shutting down',
      hint: 'Connect again when it is back',
    })
  }

  #open(ws: Ws.WebSocket, caller: Caller, address: string): void {
    const { chats, keys, log, limits } = this.#parts
    assert(chats !== null, 'only a server with chats upgrades')
    const { heartbeatMs, outbound } = limits
    let socket: ChatSocket
    try {
      socket = new ChatSocket({ ws, caller, chats, keys, log, heartbeatMs, outbound }, this.#world)
    } catch (error) {
      log.write('error', 'failure', { error })
      ws.close(1011, 'the server failed')
      return
    }
    this.#sockets.add(socket)
    log.write('info', 'chat opened', { address, key_id: caller.key_id })
    ws.on('close', (code) => log.write('info', 'chat closed', { address, key_id: caller.key_id, close_code: code }))
    void socket.closed.then(() => this.#sockets.delete(socket))
  }
}

function notWebSocket(reason: string): Fault {
  return new Fault('INVALID_HTTP', {
    message: `Cannot upgrade the connection: it is no WebSocket handshake, ${reason}`,
    hint: 'Use a WebSocket client of version 13',
  })
}
