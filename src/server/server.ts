/**
 * The server: one port for HTTP and WebSocket, from listening to the last closed socket.
 *
 * Shutdown is an order of steps: readiness ends and new work is refused, admitted work may finish, what is left is
 * cancelled, sockets are closed, and the listener ends. It never waits longer than there is something to wait for, and no
 * step is skipped when it is hurried: a cancelled chat still writes its last records.
 */
import type { Server } from 'node:http'
import { type ApiKeys, Tickets } from '../access/index.ts'
import { assert, Bug, Fault } from '../core/index.ts'
import type { World } from '../world/index.ts'
import { isLoopback } from './address.ts'
import { approvalRoutes } from './approval-routes.ts'
import type { ChatDoor } from './chat-door.ts'
import { FrontDoor } from './front-door.ts'
import type { HttpApp } from './http-app.ts'
import type { ClosingDoor, Route } from './mount.ts'
import { CHAT_LIMITS, CORS_ORIGINS, HTTP_LIMITS, RATE_LIMIT, type ServerOptions } from './options.ts'
import { coreRoutes } from './routes.ts'

const HOST = '127.0.0.1'
const PORT = 8080
const DRAIN_MS = 10_000
/** How long cancelled work may take to write its last records before the sockets are destroyed all the same. */
const CANCEL_MS_MAX = 10_000

export interface RunningServer extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** `http://…` and `ws://…/ws/chat`, as a client on this machine reaches them. */
  readonly url: string
  readonly chatUrl: string
  /** Open chat sockets. */
  readonly connections: number
  /** Refuses new work, lets admitted work finish for at most `drainMs` (default 10,000), cancels the rest, and ends. Idempotent. */
  close(options?: { readonly drainMs?: number }): Promise<void>
  /** Ends the drain of `close` now; without a `close` before, it begins one. For the second signal. */
  cancelNow(): Promise<void>
}

/** Resolves when the port is open. Throws `PUBLIC_BIND_REFUSED`, `PORT_IN_USE` or `CONFIG_INVALID` before that. */
export async function startServer(options: ServerOptions, world: World): Promise<RunningServer> {
  const host = options.host ?? HOST
  refusePublicBind(host, options.keys)
  const { keys, chats, log } = options
  // here, because they bring Fastify and ws: a program that runs one agent and serves nothing need not load those
  const [{ ChatDoor }, { buildHttpApp }] = await Promise.all([import('./chat-door.ts'), import('./http-app.ts')])
  const state = { phase: 'starting' as 'starting' | 'serving' | 'closing' }
  const takesWork = (): boolean => state.phase === 'serving'
  const tickets = new Tickets(keys, world)
  const front = new FrontDoor(
    {
      trustedProxies: options.trustedProxies ?? [],
      corsOrigins: options.corsOrigins ?? CORS_ORIGINS,
      rateLimit: options.rateLimit === undefined ? RATE_LIMIT : options.rateLimit,
      host,
    },
    world.clock,
  )
  const door = new ChatDoor(
    { chats, keys, tickets, front, log, takesWork, limits: { ...CHAT_LIMITS, ...options.chat } },
    world,
  )
  const isReady = (): boolean => takesWork() && (options.isReady?.() ?? true)
  const mounted = mountAll(options)
  const routes = [
    ...coreRoutes({ api: options.api, tickets, version: options.version, isReady }, world),
    ...door.routes,
    ...(options.approvals === undefined ? [] : approvalRoutes(options.approvals, keys, world.clock)),
    ...mounted.routes,
  ]
  const doors: readonly ClosingDoor[] = [door, ...mounted.doors]
  refuseDoubles(routes)
  const limits = { ...HTTP_LIMITS, ...options.http }
  const http = await buildHttpApp({ routes, front, keys, log, limits, takesWork }, world)
  http.server.on('upgrade', (request, socket, head) => {
    // A handshake that did not wait for the answer before it would be mixed with it.
    if (http.isAnswering(socket)) socket.destroy()
    else void door.upgrade(request, socket, head)
  })
  const port = await listen(http.server, host, options.port ?? PORT)
  state.phase = 'serving'
  log.write('info', 'listening', { host, port, public: !isLoopback(host) })

  const hurry = new AbortController()
  let closing: Promise<void> | null = null
  const close = (drainMs: number): Promise<void> => {
    state.phase = 'closing'
    closing ??= shutDown({ http, doors, chats: door, hurry: hurry.signal }, drainMs, world).then((isClean) => {
      log.write(isClean ? 'info' : 'warn', 'closed', { clean: isClean })
    })
    return closing
  }
  const base = `${host.includes(':') ? `[${host}]` : host}:${port}`
  return {
    host,
    port,
    url: `http://${base}`,
    chatUrl: `ws://${base}/ws/chat`,
    get connections() {
      return door.count
    },
    close: ({ drainMs = DRAIN_MS } = {}) => close(drainMs),
    cancelNow: () => {
      hurry.abort()
      return close(0)
    },
    [Symbol.asyncDispose]: () => close(DRAIN_MS),
  }
}

interface Closing {
  readonly http: HttpApp
  /** All that hold work between requests; the chats are among them. */
  readonly doors: readonly ClosingDoor[]
  readonly chats: ChatDoor
  readonly hurry: AbortSignal
}

/** True unless some cancelled work did not end in time. */
async function shutDown({ http, doors, chats, hurry }: Closing, drainMs: number, world: World): Promise<boolean> {
  http.endStreams()
  http.server.closeIdleConnections()
  const work = Promise.all([http.idle(), ...doors.map((door) => door.drain())])
  await within(work, drainMs, hurry, world)
  http.stop()
  const cancelled = Promise.all([http.idle(), ...doors.map((door) => door.cancel())])
  const isClean = await within(cancelled, CANCEL_MS_MAX, null, world)
  chats.terminate()
  const closed = new Promise<void>((resolve) => http.server.close(() => resolve()))
  http.server.closeAllConnections()
  await closed
  await http.app.close()
  return isClean
}

/** Waits for the work, but no longer than the time, and no longer than the signal allows. True if the work ended. */
async function within(work: Promise<unknown>, ms: number, hurry: AbortSignal | null, world: World): Promise<boolean> {
  if (hurry?.aborted) return false
  let cancel = (): void => undefined
  let stop = (): void => undefined
  const over = new Promise<false>((resolve) => {
    stop = () => resolve(false)
    cancel = world.clock.timer(ms, stop)
    hurry?.addEventListener('abort', stop, { once: true })
  })
  const isDone = await Promise.race([work.then(() => true), over])
  cancel()
  hurry?.removeEventListener('abort', stop)
  return isDone
}

function refusePublicBind(host: string, keys: ApiKeys): void {
  if (isLoopback(host) || keys.hasCredential) return
  throw new Fault('PUBLIC_BIND_REFUSED', {
    message: `Cannot listen on "${host}": others can reach it, and no credential exists`,
    hint: 'Add a key with "symbi keys add", or listen on 127.0.0.1',
  })
}

function mountAll(options: ServerOptions): {
  readonly routes: readonly Route[]
  readonly doors: readonly ClosingDoor[]
} {
  const routes: Route[] = []
  const doors: ClosingDoor[] = []
  for (const mount of options.mounts ?? []) {
    mount({ route: (route) => void routes.push(route), closing: (door) => void doors.push(door) })
  }
  return { routes, doors }
}

function refuseDoubles(routes: readonly Route[]): void {
  const names = routes.map(({ method, path }) => `${method} ${path}`)
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) !== index) throw new Bug(`two doors offer the route ${name}`)
  }
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => reject(listenFault(error, host, port))
    server.once('error', failed)
    server.listen({ host, port, backlog: 1024 }, () => {
      server.removeListener('error', failed)
      resolve()
    })
  })
  const address = server.address()
  assert(typeof address === 'object' && address !== null, 'a TCP server has an address')
  return address.port
}

function listenFault(cause: NodeJS.ErrnoException, host: string, port: number): Fault {
  const facts = { errno: cause.code ?? 'UNKNOWN', port }
  if (cause.code === 'EADDRINUSE') {
    return new Fault('PORT_IN_USE', {
      message: `Cannot listen on "${host}" port ${port}: the address is in use`,
      hint: 'Stop the other server, or choose a port with "--port"; 0 takes any free one',
      facts,
      cause,
    })
  }
  return new Fault('CONFIG_INVALID', {
    message: `Cannot listen on "${host}" port ${port}: the system answered ${facts.errno}`,
    hint: 'Choose an address of this machine, and a port that this user may open',
    facts,
    cause,
  })
}
