/**
 * A server over streamable HTTP, on the transport of the SDK. Every request of that transport goes through here, and only
 * here is a byte sent: to addresses that were checked, following no redirect, with headers whose values stand in no message.
 * What comes back is read strictly before the transport sees it, and bounded.
 *
 * The channel on which a server speaks unasked is not opened: there is nothing that it could say to us, and that its list of
 * tools changed is found by asking before each call.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { Bug, Fault, isJsonObject, type Json } from '../core/index.ts'
import type { HttpReply, World } from '../world/index.ts'
import { readMessage } from './frames.ts'
import { checkedAddresses } from './http-address.ts'
import { type Answering, answerOf } from './http-answer.ts'
import { FRAME_BYTES_MAX } from './limits.ts'
import { variable } from './program.ts'
import type { HttpServer } from './server-entry.ts'

/** Told of the one request that carries a call, so that it stands in the journal before it is sent. */
export interface CallWitness {
  starts(request: { readonly method: string; readonly url: string; readonly body: string }): Promise<void>
  ends(response: WireResponse): Promise<void>
}

export interface WireResponse {
  readonly status: number | null
  /** In the order of the wire. */
  readonly headers: readonly (readonly [name: string, value: string])[] | null
  readonly body: Uint8Array | null
  readonly error: string | null
}

/** A server that is left is told so, and not waited for longer than this. */
const LEAVE_MS = 500
/** So many ids of calls that were taken back are remembered. */
const TAKEN_BACK_MAX = 1024

export class HttpWire {
  readonly transport: Transport
  readonly #world: World
  readonly #server: HttpServer
  readonly #secrets: Readonly<Record<string, string>>
  readonly #witnesses = new WeakMap<object, CallWitness>()
  readonly #byId = new Map<unknown, CallWitness>()
  readonly #underWay = new Set<AbortController>()
  readonly #watched = new WeakSet<AbortSignal>()
  /** Requests that carry a question, by its id, and the ids of those that were taken back. */
  readonly #asking = new Map<unknown, AbortController>()
  readonly #takenBack = new Set<unknown>()
  readonly #leave: () => Promise<void>

  private constructor(
    world: World,
    server: HttpServer,
    secrets: Readonly<Record<string, string>>,
    sdk: typeof import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
  ) {
    this.#world = world
    this.#server = server
    this.#secrets = secrets
    const inner = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
      fetch: (_url, init) => this.#fetch(init ?? {}),
      requestInit: { redirect: 'error' },
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1000,
        maxReconnectionDelay: 1000,
        reconnectionDelayGrowFactor: 1,
      },
    })
    const send = inner.send.bind(inner)
    inner.send = (message, options) => {
      if (!Array.isArray(message) && 'method' in message) this.#note(message)
      return send(message, options)
    }
    this.#leave = () => inner.terminateSession()
    this.transport = inner as Transport
  }

  /** Throws `UPSTREAM_UNAVAILABLE` when a credential is not there. */
  static async open(
    world: World,
    server: HttpServer,
    env: Readonly<Record<string, string | undefined>>,
  ): Promise<HttpWire> {
    const secrets: Record<string, string> = {}
    for (const [header, name] of Object.entries(server.headersEnv)) {
      const value = variable(env, name)
      if (!/^[\t\x20-\x7e]+$/.test(value)) {
        throw new Fault('UPSTREAM_UNAVAILABLE', {
          message: `Cannot use the tool server: the environment variable "${name}" holds characters that no header can carry`,
        })
      }
      secrets[header.toLowerCase()] = value
    }
    return new HttpWire(world, server, secrets, await import('@modelcontextprotocol/sdk/client/streamableHttp.js'))
  }

  /**
   * The client hands the very parameters on that the caller gave: so a call and its request find each other. A call that was
   * taken back has no receipt: its late answer is nobody's, and is not waited for without end.
   */
  #note(message: { readonly method: string; readonly params?: unknown }): void {
    const { params } = message
    if (typeof params !== 'object' || params === null) return
    const witness = this.#witnesses.get(params)
    if (witness !== undefined && 'id' in message) this.#byId.set(message.id, witness)
    if (message.method === 'notifications/cancelled' && 'requestId' in params) this.#takeBack(params.requestId)
  }

  #takeBack(id: unknown): void {
    this.#byId.delete(id)
    const stop = this.#asking.get(id)
    if (stop === undefined) return
    if (this.#takenBack.size >= TAKEN_BACK_MAX) this.#takenBack.clear()
    this.#takenBack.add(id)
    this.#endsSoon(stop)
  }

  /** The request with exactly these parameters is a call, and this is its witness. */
  watch(params: object, witness: CallWitness): void {
    this.#witnesses.set(params, witness)
  }

  async leave(): Promise<void> {
    const wait = new AbortController()
    const { clock } = this.#world
    await Promise.race([
      this.#leave().catch(() => undefined),
      clock.sleep(LEAVE_MS, wait.signal).catch(() => undefined),
    ])
    wait.abort()
  }

  async #fetch(init: RequestInit): Promise<Response> {
    const method = init.method ?? 'GET'
    if (method === 'GET') return new Response(null, { status: 405 })
    const body = typeof init.body === 'string' ? init.body : null
    if (body !== null && Buffer.byteLength(body) > FRAME_BYTES_MAX) {
      throw new Fault('PAYLOAD_TOO_LARGE', { message: `Cannot send a message of more than ${FRAME_BYTES_MAX} bytes` })
    }
    const { asked, isCall } = body === null ? NOTHING : questionIn(readMessage(body))
    await this.#byId.get(asked)?.starts({ method, url: this.#server.url, body: body ?? '' })
    // Without its witness no call leaves: it was taken back while its intent was written, and nobody waits for its answer.
    if (isCall && !this.#byId.has(asked)) return new Response(null, { status: 202 })
    const answering: Answering = {
      asked,
      isTakenBack: () => this.#takenBack.has(asked),
      ends: (response) => this.#ends(asked, response),
    }
    try {
      return await this.#exchange(method, init, body, answering, () => !isCall || this.#byId.has(asked))
    } catch (error) {
      // The journal says what is known, and the call stays unknown by its own receipt.
      const response = { status: null, headers: null, body: null, error: errorWords(error) }
      await this.#ends(asked, response).catch(() => undefined)
      if (this.#takenBack.has(asked)) return new Response(null, { status: 202 })
      throw error
    }
  }

  /** Told once. */
  async #ends(asked: unknown, response: WireResponse): Promise<void> {
    const witness = this.#byId.get(asked)
    this.#byId.delete(asked)
    await witness?.ends(response)
  }

  async #exchange(
    method: string,
    init: RequestInit,
    body: string | null,
    answering: Answering,
    isWanted: () => boolean,
  ): Promise<Response> {
    const { stop, done } = this.#stoppedWith(init.signal ?? null, answering.asked)
    // An answer is awaited by somebody who has a deadline; nobody waits for what a server says to a notification.
    const forget = answering.asked === null ? this.#endsSoon(stop) : (): void => undefined
    try {
      const reply = await this.#request(method, init, body, stop.signal, isWanted)
      const letGo = async (): Promise<void> => {
        await reply[Symbol.asyncDispose]()
        done()
      }
      return await answerOf({ ...reply, [Symbol.asyncDispose]: letGo }, answering)
    } catch (error) {
      done()
      throw error
    } finally {
      forget()
    }
  }

  #endsSoon(stop: AbortController): () => void {
    return this.#world.clock.timer(this.#server.startTimeoutMs, () =>
      stop.abort(new Fault('UPSTREAM_FAILED', { message: 'Cannot wait for the server: it does not end a request' })),
    )
  }

  /** A signal of its own for each request: the transport has one for all, and one listens to that for all of them. */
  #stoppedWith(all: AbortSignal | null, asked: unknown): { readonly stop: AbortController; done(): void } {
    const stop = new AbortController()
    if (all !== null && !this.#watched.has(all)) {
      this.#watched.add(all)
      all.addEventListener('abort', () => {
        for (const one of this.#underWay) one.abort(all.reason)
      })
    }
    if (all?.aborted) stop.abort(all.reason)
    this.#underWay.add(stop)
    if (asked !== null) this.#asking.set(asked, stop)
    const done = (): void => {
      this.#underWay.delete(stop)
      this.#asking.delete(asked)
    }
    return { stop, done }
  }

  async #request(
    method: string,
    init: RequestInit,
    body: string | null,
    signal: AbortSignal,
    isWanted: () => boolean,
  ): Promise<HttpReply> {
    const addresses = await checkedAddresses(this.#world, this.#server.url, signal)
    // the last moment: a call whose run ended while its address was looked up does not leave
    if (!isWanted())
      throw new Fault('RUN_CANCELLED', { message: 'Cannot send the call: it was taken back before it left' })
    const headers = { ...Object.fromEntries(new Headers(init.headers)), ...this.#secrets }
    return await this.#world.net.request(
      {
        method,
        url: this.#server.url,
        headers,
        body: body === null ? null : Buffer.from(body),
        addresses,
      },
      signal,
    )
  }
}

interface Question {
  /** The id under which an answer is awaited; null for a notification. */
  readonly asked: unknown
  readonly isCall: boolean
}

const NOTHING: Question = { asked: null, isCall: false }

function questionIn(message: Json): Question {
  if (!isJsonObject(message)) throw new Bug('one message is sent at a time')
  if (message.method === undefined || message.id === undefined) return NOTHING
  return { asked: message.id, isCall: message.method === 'tools/call' }
}

function errorWords(error: unknown): string {
  return error instanceof Fault ? error.message.slice(0, 500) : 'the exchange failed'
}
