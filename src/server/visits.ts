/**
 * Visits: the admitted requests that are without their answer, by connection.
 *
 * A response tells when its client is gone (a request closes as soon as it was read), but one that waits behind another on
 * the same connection tells nothing, so the end of the connection ends all its visits.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Caller } from '../access/index.ts'

/** What we know of a request beside its own text. */
export type Visit = {
  readonly address: string
  readonly startMs: number
  /** Aborted when the client is gone or the server gives up. */
  readonly work: AbortController
  route: string | null
  caller: Caller | null
}

export class Visits {
  /** Each visit with what is called once when it ends. A connection without visits is not listed. */
  readonly #connections = new Map<Duplex, Map<Visit, () => void>>()
  readonly #watched = new WeakSet<Duplex>()
  readonly #waiting: (() => void)[] = []

  begin(visit: Visit, { socket }: IncomingMessage, response: ServerResponse, ended: () => void): void {
    let visits = this.#connections.get(socket)
    if (visits === undefined) {
      visits = new Map()
      this.#connections.set(socket, visits)
      if (!this.#watched.has(socket)) {
        this.#watched.add(socket) // one listener a connection, however many requests it carries
        socket.once('close', () => this.#endAll(socket))
      }
    }
    visits.set(visit, ended)
    response.once('close', () => this.#end(socket, visit))
  }

  /** True while a request of this connection is without its answer. */
  holds(socket: Duplex): boolean {
    return this.#connections.has(socket)
  }

  /** Resolves when there are none. */
  async ended(): Promise<void> {
    if (this.#connections.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  *[Symbol.iterator](): Generator<Visit> {
    for (const visits of this.#connections.values()) yield* visits.keys()
  }

  #endAll(socket: Duplex): void {
    for (const visit of this.#connections.get(socket)?.keys() ?? []) this.#end(socket, visit)
  }

  #end(socket: Duplex, visit: Visit): void {
    const visits = this.#connections.get(socket)
    const ended = visits?.get(visit)
    if (visits === undefined || ended === undefined) return
    visits.delete(visit)
    if (visits.size === 0) this.#connections.delete(socket)
    ended()
    if (this.#connections.size === 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
