/**
 * A connection: the SDK's transport for one client, whatever carries the bytes.
 *
 * Request ids are ours. Clients number their requests as they like, two of them alike, or all of them 1; so each request gets
 * a number of this connection, the SDK sees only that, and the client's own id is put back on the way out. Two requests with
 * one id are two requests, and each answer goes where its request came from.
 *
 * Owns also what a connection may use up: requests in all and at once, and bytes both ways. Leaves the protocol to the SDK.
 */
import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { Bug, digest, Fault, type JsonObject } from '../core/index.ts'
import { type Frame, PROTOCOL, type RequestId } from './frame.ts'
import { knownParams, publicError } from './sdk-edge.ts'

/** Where the messages of one request go. */
export interface Reply {
  /** One message as JSON text, without a line feed. `last`: nothing more belongs to this request. */
  write(text: string, last: boolean): Promise<void>
  /** There will be no answer, because the client cancelled the request. */
  drop(): void
}

export interface ConnectionLimits {
  readonly requestsMax: number
  readonly requestsAtOnceMax: number
  /** Frames and answers together. */
  readonly trafficBytesMax: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  requestsMax: 8_192,
  requestsAtOnceMax: 64,
  trafficBytesMax: 64 * 1024 * 1024,
}

interface Pending {
  readonly id: RequestId
  readonly method: string
  readonly params: JsonObject
  readonly reply: Reply
}

interface Refused {
  readonly code: number
  readonly problem: Fault
  /** The connection has used up what it may use. */
  readonly last: boolean
}

/** By their names alone. What else a client tells is for nobody here, and the SDK would complain of it in the log, word for word. */
const PASSED_ON: ReadonlySet<string> = new Set(['notifications/initialized', 'notifications/symbi/close'])

export class Connection implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #uuid: string
  readonly #limits: ConnectionLimits
  readonly #pending = new Map<number, Pending>()
  readonly #waiting: (() => void)[] = []
  #requests = 0
  #traffic = 0
  /** Nothing more is read; what was taken is still answered. */
  #over = false
  #phase: 'new' | 'greeting' | 'open' = 'new'
  #closed = false
  #isUnheard = false

  constructor(uuid: string, limits: ConnectionLimits = CONNECTION_LIMITS) {
    this.#uuid = uuid
    this.#limits = limits
  }

  async start(): Promise<void> {
    // frames come when the owner of the bytes hands them in
  }

  /** Requests without their answer. */
  get busy(): number {
    return this.#pending.size
  }

  /** True once the client was greeted. */
  get isOpen(): boolean {
    return this.#phase === 'open' && !this.#closed
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Resolves when no request is without its answer. */
  async idle(): Promise<void> {
    if (this.#pending.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** One frame of the client. Everything that belongs to it goes to `reply`. */
  receive(frame: Frame, bytes: number, reply: Reply): void {
    if (this.#closed || this.#over) {
      if (frame.kind === 'Request')
        this.#refuse(frame.id, PROTOCOL.refused, overloaded('it is over', true).problem, reply)
      return
    }
    this.#traffic += bytes
    switch (frame.kind) {
      case 'Broken':
        this.#refuse(frame.id, PROTOCOL.invalidRequest, frame.problem, reply)
        this.#endBeyondTraffic()
        break
      case 'Response':
        this.#endBeyondTraffic()
        break
      case 'Notification':
        this.#notified(frame.method, frame.params)
        this.#endBeyondTraffic()
        break
      case 'Request':
        this.#requested(frame, reply)
        break
    }
  }

  /** The id of the broker call that a request becomes: unique here, and the client's own id can be found in it again. */
  callIdOf(request: RequestId): string {
    return `mcp-${this.#uuid}-${request}-${digest(this.requestOf(request).id).slice('sha256:'.length)}`
  }

  /** What was asked, as the strict reader gave it. */
  requestOf(request: RequestId): { readonly id: RequestId; readonly params: JsonObject } {
    const pending = typeof request === 'number' ? this.#pending.get(request) : undefined
    if (pending === undefined) throw new Bug('a request is looked up while it is without its answer')
    return pending
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('method' in message) {
      const pending = this.#pending.get(Number(options?.relatedRequestId))
      if (pending !== undefined) await this.#write(message, pending.reply, false)
      return
    }
    const number = Number(message.id)
    const pending = this.#pending.get(number)
    if (pending === undefined) return // cancelled meanwhile
    this.#settle(number)
    if (pending.method === 'initialize') this.#phase = 'result' in message ? 'open' : 'new'
    const { id } = pending
    const answer =
      'error' in message
        ? { jsonrpc: '2.0', id, error: publicError(message.error, pending.method) }
        : { jsonrpc: '2.0', id, result: message.result }
    await this.#write(answer, pending.reply, true)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const number of [...this.#pending.keys()]) {
      this.#pending.get(number)?.reply.drop()
      this.#settle(number)
    }
    this.onclose?.()
  }

  #requested({ id, method, params }: Frame & { kind: 'Request' }, reply: Reply): void {
    this.#requests += 1
    const refusal = this.#refusalOf(method)
    if (refusal !== null) {
      this.#refuse(id, refusal.code, refusal.problem, reply)
      if (refusal.last) this.#finish()
      return
    }
    if (method === 'initialize') this.#phase = 'greeting'
    const number = this.#requests
    this.#pending.set(number, { id, method, params, reply })
    this.onmessage?.({ jsonrpc: '2.0', id: number, method, params: knownParams(method, params) } as JSONRPCMessage)
  }

  #refusalOf(method: string): Refused | null {
    const { requestsMax, requestsAtOnceMax, trafficBytesMax } = this.#limits
    if (this.#requests > requestsMax) return overloaded(`a connection may make ${requestsMax}`, true)
    if (this.#traffic > trafficBytesMax)
      return overloaded(`the traffic of a connection ends at ${trafficBytesMax} bytes`, true)
    if (this.#pending.size >= requestsAtOnceMax)
      return overloaded(`${requestsAtOnceMax} others are without an answer`, false)
    if (method === 'ping' || (method === 'initialize') === (this.#phase === 'new')) return null
    const state = method === 'initialize' ? 'the connection was opened before' : '"initialize" comes first'
    const problem = new Fault('INVALID_REQUEST', {
      message: `Cannot take the request: ${state}`,
      hint: 'Open a connection once, with "initialize"',
    })
    return { code: PROTOCOL.invalidRequest, problem, last: false }
  }

  #notified(method: string, params: JsonObject): void {
    if (method !== 'notifications/cancelled') {
      if (PASSED_ON.has(method)) this.onmessage?.({ jsonrpc: '2.0', method })
      return
    }
    const { requestId, reason } = params
    for (const [number, pending] of [...this.#pending]) {
      if (pending.id !== requestId || pending.method === 'initialize') continue
      const why = typeof reason === 'string' ? { reason: reason.slice(0, 256) } : {}
      this.onmessage?.({ jsonrpc: '2.0', method, params: { requestId: number, ...why } })
      pending.reply.drop()
      this.#settle(number)
    }
  }

  /** What is no request has no answer that could refuse it. */
  #endBeyondTraffic(): void {
    if (this.#traffic > this.#limits.trafficBytesMax) this.#finish()
  }

  #finish(): void {
    this.#over = true
    void this.idle().then(() => this.close())
  }

  #refuse(id: RequestId | null, code: number, problem: Fault, reply: Reply): void {
    const error = { code, message: problem.message, data: { code: problem.code, hint: problem.hint ?? null } }
    void this.#write({ jsonrpc: '2.0', id, error }, reply, true)
  }

  #settle(number: number): void {
    this.#pending.delete(number)
    if (this.#pending.size === 0) for (const resolve of this.#waiting.splice(0)) resolve()
  }

  async #write(message: object, reply: Reply, last: boolean): Promise<void> {
    const text = JSON.stringify(message)
    this.#traffic += Buffer.byteLength(text)
    try {
      await reply.write(text, last)
    } catch (error) {
      if (this.#isUnheard) return // said once: of a client that is gone there are as many errors as it had requests
      this.#isUnheard = true
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    }
  }
}

function overloaded(state: string, last: boolean): Refused {
  const hint = last ? 'Connect again' : 'Wait for an answer first'
  const problem = new Fault('OVERLOADED', { message: `Cannot take the request: ${state}`, hint })
  return { code: PROTOCOL.refused, problem, last }
}
