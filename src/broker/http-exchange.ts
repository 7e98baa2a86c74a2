/**
 * One request over HTTP and its answer: JSON where the answer is all there is to say, and a stream of events where there is
 * something to say before it, or where the answer takes so long that somebody in between would give up waiting.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../world/index.ts'
import type { Reply } from './connection.ts'

const KEEP_ALIVE_MS = 15_000
/** A reader who is so far behind is told its answer and nothing before it. */
const BEHIND_BYTES_MAX = 64 * 1024

export class HttpExchange implements Reply {
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #streams: boolean
  readonly #headers: { readonly [name: string]: string }
  #cancelTimer: () => void

  /** `streams`: the client reads events. */
  constructor(
    response: ServerResponse,
    how: { readonly clock: Clock; readonly streams: boolean; readonly headers: { readonly [name: string]: string } },
  ) {
    this.#response = response
    this.#clock = how.clock
    this.#streams = how.streams
    this.#headers = how.headers
    this.#cancelTimer = () => undefined
    if (how.streams) this.#arm()
    response.once('close', () => this.#cancelTimer())
    response.on('error', () => undefined) // the client is gone; what it asked for goes on
  }

  async write(text: string, last: boolean): Promise<void> {
    if (this.#isOver()) return
    if (!last && (!this.#streams || this.#isBehind())) return
    if (!last || this.#response.headersSent) this.#event(`event: message\ndata: ${text}\n\n`)
    if (!last) return
    this.#cancelTimer()
    if (this.#response.headersSent) {
      this.#response.end()
      return
    }
    const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    this.#response.writeHead(200, { ...this.#headers, ...length }).end(text)
  }

  /** The client cancelled the request, and waits for nothing. */
  drop(): void {
    this.#cancelTimer()
    if (this.#isOver()) return
    if (!this.#response.headersSent) this.#response.writeHead(204, this.#headers)
    this.#response.end()
  }

  #event(text: string): void {
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, {
        ...this.#headers,
        'content-type': 'text/event-stream',
        'x-accel-buffering': 'no',
      })
    }
    this.#response.write(text)
  }

  #arm(): void {
    this.#cancelTimer = this.#clock.timer(KEEP_ALIVE_MS, () => {
      if (this.#isOver()) return
      if (!this.#isBehind()) this.#event(': still at work\n\n')
      this.#arm()
    })
  }

  #isBehind(): boolean {
    return this.#response.writableLength > BEHIND_BYTES_MAX
  }

  #isOver(): boolean {
    return this.#response.writableEnded || this.#response.destroyed
  }
}
