/**
 * The rules that every connection keeps, whatever carries it: an answer belongs to a question that is still open, under
 * exactly its id, once. The client of the SDK takes `"1"` for 1, and passes over an answer to nothing; here either of them
 * breaks the connection, because a server that mixes up its answers may have mixed up the one that is awaited (law 3).
 *
 * A connection breaks once and for good: what is in flight is unknown, and nothing is sent again.
 */
import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { Fault, messageOf } from '../core/index.ts'
import { ASKED_OF_US_MAX } from './limits.ts'
import { visible } from './visible.ts'

/** Answers that came too late for a cancelled question are let pass; so many ids are remembered. */
const CANCELLED_MAX = 1024

export class StrictTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>
  readonly #inner: Transport
  readonly #open = new Set<number>()
  readonly #cancelled = new Set<number>()
  readonly #onBroken: (reason: string) => void
  #broken: string | null = null
  #askedOfUs = 0

  constructor(inner: Transport, onBroken: (reason: string) => void) {
    this.#inner = inner
    this.#onBroken = onBroken
  }

  /** Why the connection can carry nothing more, or null. */
  get broken(): string | null {
    return this.#broken
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message) => this.#take(message)
    this.#inner.onerror = (error) => this.break(messageOf(error))
    this.#inner.onclose = () => this.break('it ended the connection')
    await this.#inner.start()
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#broken !== null) throw broken(this.#broken)
    if ('method' in message && 'id' in message) this.#open.add(Number(message.id))
    else if ('method' in message && message.method === 'notifications/cancelled') this.#forget(message.params)
    await this.#inner.send(message, options)
    if (!('method' in message)) this.#askedOfUs -= 1
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version)
  }

  /** The reason is told once; whoever waits for an answer is told that there will be none. */
  break(reason: string): void {
    if (this.#broken !== null) return
    this.#broken = visible(reason)
    this.#onBroken(this.#broken)
    void this.#inner.close().catch(() => undefined)
    this.onclose?.()
  }

  async close(): Promise<void> {
    this.break('we ended the connection')
    await this.#inner.close()
  }

  #take(message: JSONRPCMessage): void {
    if (this.#broken !== null) return
    if ('method' in message) {
      if ('id' in message) this.#askedOfUs += 1
      if (this.#askedOfUs > ASKED_OF_US_MAX) this.break('it asks more than it takes answers to')
      else this.onmessage?.(message) // a request has no handler: the client answers that there is no such method
      return
    }
    const { id } = message
    if (typeof id === 'number' && this.#open.delete(id)) {
      this.onmessage?.(message)
      return
    }
    if (typeof id === 'number' && this.#cancelled.delete(id)) return
    this.break(`it answered ${JSON.stringify(id ?? null).slice(0, 80)}, which nobody asked or which it had answered`)
  }

  #forget(params: unknown): void {
    const id = (params as { readonly requestId?: unknown } | undefined)?.requestId
    if (typeof id !== 'number' || !this.#open.delete(id)) return
    if (this.#cancelled.size >= CANCELLED_MAX) this.#cancelled.clear()
    this.#cancelled.add(id)
  }
}

export function broken(reason: string): Fault {
  return new Fault('UPSTREAM_FAILED', { message: `Cannot use the connection: ${reason}` })
}
