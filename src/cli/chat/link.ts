/**
 * One connection to a chat server: open with a credential in a header, frames out, messages in, an orderly end. Knows
 * nothing of turns. A peer that says nothing for longer than three heartbeats is gone.
 */
import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { ClientMessage } from '../../coordinator/index.ts'
import { CODES, type Code, Fault, isJsonObject, readJson } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import { oneLine } from '../plain-text.ts'
import { readServerMessage, type ServerSaid } from './server-message.ts'

const HANDSHAKE_MS_MAX = 10_000
const SILENCE_MS_MAX = 95_000
const CLOSE_MS_MAX = 2_000
const FRAME_BYTES_MAX = 16 * 1024 * 1024
const REFUSAL_BYTES_MAX = 64 * 1024

export interface Target {
  readonly url: string
  readonly token: string
}

/** The connection is over, and nothing more comes. */
export type Ended = { readonly type: 'Ended'; readonly code: number; readonly reason: string }

export class Link {
  readonly #ws: WebSocket
  readonly #world: World
  readonly #arrived: (ServerSaid | Ended)[] = []
  #wake: () => void = () => undefined
  #stopSilence: () => void = () => undefined

  private constructor(ws: WebSocket, world: World) {
    this.#ws = ws
    this.#world = world
    ws.on('message', (data, isBinary) => {
      this.#listen()
      const message = isBinary ? null : readServerMessage(String(data))
      if (message !== null) this.#take(message)
    })
    ws.on('error', () => undefined) // what went wrong is told by the close that follows
    ws.on('close', (code, reason) => {
      this.#stopSilence()
      this.#take({ type: 'Ended', code, reason: String(reason) })
    })
    this.#listen()
  }

  /** Throws a Fault that says why there is no connection: the server's own code, or `CONNECTION_LOST`. */
  static async open(target: Target, world: World, signal: AbortSignal): Promise<Link> {
    signal.throwIfAborted()
    const ws = new WebSocket(target.url, {
      headers: { authorization: `Bearer ${target.token}` },
      handshakeTimeout: HANDSHAKE_MS_MAX,
      maxPayload: FRAME_BYTES_MAX,
      perMessageDeflate: false,
    })
    const stop = (): void => ws.terminate()
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await new Promise<Link>((resolve, reject) => {
        ws.on('open', () => resolve(new Link(ws, world)))
        ws.on('unexpected-response', (_request, response) => {
          void refusalIn(response).then((fault) => {
            reject(fault)
            ws.terminate()
          })
        })
        ws.on('error', (error) => reject(unreachable(error)))
      })
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  get isOpen(): boolean {
    return this.#ws.readyState === WebSocket.OPEN
  }

  /** Bytes still to be handed to the system are lost when the connection ends; the caller then looks the id up. */
  send(message: ClientMessage): void {
    if (this.isOpen) this.#ws.send(JSON.stringify(message))
  }

  /** The next message, in order. After `Ended` nothing comes. Rejects with the reason of the signal. */
  async next(signal: AbortSignal): Promise<ServerSaid | Ended> {
    for (;;) {
      signal.throwIfAborted()
      const message = this.#arrived[0]?.type === 'Ended' ? this.#arrived[0] : this.#arrived.shift()
      if (message !== undefined) return message
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener('abort', wake) // one signal serves many waits
          resolve()
        }
        this.#wake = wake
        signal.addEventListener('abort', wake, { once: true })
      })
    }
  }

  /** The closing handshake, for a short while; then the connection is cut. */
  async close(): Promise<void> {
    if (this.#ws.readyState === WebSocket.CLOSED) return
    const closed = new Promise<void>((resolve) => this.#ws.once('close', () => resolve()))
    const cancel = this.#world.clock.timer(CLOSE_MS_MAX, () => this.#ws.terminate())
    this.#ws.close(1000)
    await closed
    cancel()
  }

  #take(message: ServerSaid | Ended): void {
    this.#arrived.push(message)
    this.#wake()
  }

  #listen(): void {
    this.#stopSilence()
    this.#stopSilence = this.#world.clock.timer(SILENCE_MS_MAX, () => this.#ws.terminate(), false)
  }
}

/** The server answered the upgrade with an ordinary response: its envelope says why. */
async function refusalIn(response: IncomingMessage): Promise<Fault> {
  const status = response.statusCode ?? 0
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > REFUSAL_BYTES_MAX) break
      chunks.push(chunk)
    }
    const body = readJson(Buffer.concat(chunks), { bytesMax: REFUSAL_BYTES_MAX })
    if (isJsonObject(body) && typeof body.error === 'string' && isCode(body.code)) {
      const hint = isJsonObject(body.details) ? body.details.hint : undefined
      return new Fault(body.code, {
        message: `The server refused the connection: ${oneLine(body.error, 400)}`,
        ...(typeof hint === 'string' ? { hint: oneLine(hint, 400) } : {}),
      })
    }
  } catch {
    // no envelope: whatever answers there, it is not one of our servers, and its status is all that counts
  }
  return new Fault(status === 401 || status === 403 ? 'UNAUTHORIZED' : 'CONNECTION_LOST', {
    message: `Cannot open the chat: the server answered the upgrade with HTTP status ${status}`,
    hint: 'Check the address, and that a symbi server listens there',
  })
}

function isCode(code: unknown): code is Code {
  return typeof code === 'string' && Object.hasOwn(CODES, code)
}

function unreachable(cause: Error): Fault {
  const errno = (cause as NodeJS.ErrnoException).code
  return new Fault('CONNECTION_LOST', {
    message: `Cannot reach the server: ${errno ?? oneLine(cause.message, 200)}`,
    hint: 'Start it with "symbi up", or give its address with --url',
    cause,
  })
}
