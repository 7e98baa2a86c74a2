/**
 * The network of the simulated machine: the real server code over connections of ours, and a world outside that answers
 * what a process asks it.
 */
import type { Server } from 'node:http'
import { Fault } from '../../../core/index.ts'
import { type HttpReply, type HttpRequest, type Net, nodeWorld } from '../../../world/index.ts'
import type { Chance } from '../chance.ts'
import type { Owner, Turns } from './turns.ts'
import { Wire } from './wire.ts'

/** What answers outside. */
export interface Outside {
  fetch(owner: Owner, url: string, body: string, signal: AbortSignal): Promise<Response>
  request(owner: Owner, request: HttpRequest, signal: AbortSignal): Promise<HttpReply>
  resolve(name: string): readonly string[]
}

interface Listening {
  readonly owner: Owner
  readonly server: Server
}

const PORT = 8080
/** Of all connections, and after how many pieces that travelled over one. */
const BREAKS = 0.04
const PARCELS_MAX = 12

export class SimNet {
  readonly #turns: Turns
  readonly #chance: Chance
  #listening: Listening | null = null
  readonly #wires = new Map<Wire, Owner>()
  readonly #servers = new Map<Server, Owner>()
  readonly #breaks: Chance
  #isCalm = false
  #broken = 0

  constructor(turns: Turns, chance: Chance, breaks: Chance) {
    this.#turns = turns
    this.#chance = chance
    this.#breaks = breaks
  }

  /** How many connections broke by themselves, so far. */
  get broken(): number {
    return this.#broken
  }

  /** From now on no connection breaks by itself. */
  calm(): void {
    this.#isCalm = true
  }

  netOf(owner: Owner, outside: Outside): Net {
    return {
      fetch: (input, init) =>
        outside.fetch(owner, String(input), String(init?.body ?? ''), init?.signal ?? new AbortController().signal),
      createServer: (limits, handler) => this.#server(owner, nodeWorld().net.createServer(limits, handler)),
      resolve: (name) => this.#turns.perform(this.#latencyMs(), owner, 'resolve', () => outside.resolve(name)),
      request: (request, signal) => outside.request(owner, request, signal),
    }
  }

  /** A new connection to whoever listens; null when nobody does. */
  connect(): Wire | null {
    if (this.#listening === null) return null
    const { owner, server } = this.#listening
    const ends = Wire.pair(this.#turns, this.#chance, owner)
    if (!this.#isCalm && this.#breaks.happens(BREAKS)) {
      const parcels = this.#breaks.between(1, PARCELS_MAX)
      ends.client.breakAfter(parcels, () => {
        this.#broken += 1
      })
    }
    this.#wires.set(ends.server, owner)
    ends.server.once('close', () => this.#wires.delete(ends.server))
    this.#turns.after(this.#latencyMs(), owner, 'connection', () => server.emit('connection', ends.server))
    return ends.client
  }

  /** Connections that a process still has, and whether it listens. */
  heldBy(owner: Owner): { readonly connections: number; readonly listening: boolean } {
    return {
      connections: [...this.#wires.values()].filter((of) => of === owner).length,
      listening: this.#listening?.owner === owner,
    }
  }

  /** The process is dead: its clients notice, sooner or later. */
  crash(owner: Owner): void {
    if (this.#listening?.owner === owner) this.#listening = null
    for (const [wire, of] of this.#wires) if (of === owner) wire.destroy()
    // the library looks after late requests with a timer of its own
    for (const [server, of] of this.#servers) {
      if (of !== owner) continue
      server.close()
      this.#servers.delete(server)
    }
  }

  #server(owner: Owner, server: Server): Server {
    this.#servers.set(server, owner)
    let port = 0
    const listen = (_options: object, listening?: () => void): Server => {
      this.#turns.after(this.#latencyMs(), owner, 'listen', () => {
        if (this.#listening?.owner.alive) {
          server.emit('error', Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' }))
          return
        }
        port = PORT
        this.#listening = { owner, server }
        if (listening !== undefined) server.once('listening', listening)
        server.emit('listening')
      })
      return server
    }
    const close = server.close.bind(server)
    const stop = (closed?: (error?: Error) => void): Server => {
      if (this.#listening?.server === server) this.#listening = null
      return close(closed)
    }
    return Object.assign(server, {
      listen,
      close: stop,
      address: () => (port === 0 ? null : { port, address: '127.0.0.1', family: 'IPv4' }),
    })
  }

  #latencyMs(): number {
    return this.#chance.fraction() * 2
  }
}

/** What a request meets when the answer never comes. */
export function connectionLost(): Fault {
  return new Fault('CONNECTION_LOST', {
    message: 'Cannot ask the server: the connection is gone (ECONNRESET)',
    facts: { errno: 'ECONNRESET' },
  })
}
