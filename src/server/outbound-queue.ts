/**
 * The outbound queue of one socket: bounded in messages and bytes, one write at a time, and every wait has an end. A reader
 * who is too slow loses the connection, and nobody else notices (11.8).
 */

import type { Outbound, ServerMessage } from '../coordinator/index.ts'
import { assert, Fault } from '../core/index.ts'
import type { Clock } from '../world/index.ts'

export type OutboundLimits = {
  readonly messagesMax: number
  /** Bytes that may wait; a single longer message may still be queued into an empty queue. */
  readonly bytesMax: number
  /** How long `send` waits for room before it ends the connection. */
  readonly sendWaitMsMax: number
  /** How long the network may take for one message. */
  readonly writeMsMax: number
}

export const OUTBOUND_LIMITS: OutboundLimits = {
  messagesMax: 64,
  bytesMax: 4 * 1024 * 1024,
  sendWaitMsMax: 2_000,
  writeMsMax: 5_000,
}

type Write = (text: string, done: (error?: Error | null) => void) => void
type Waiter = { readonly text: string; readonly admit: () => void; readonly refuse: () => void }

export class OutboundQueue implements Outbound {
  readonly #write: Write
  readonly #onStalled: () => void
  readonly #limits: OutboundLimits
  readonly #clock: Clock
  readonly #queue: string[] = []
  /** Senders that found no room, in the order in which they came. */
  readonly #waiters: Waiter[] = []
  readonly #flushed: (() => void)[] = []
  #bytes = 0
  #writing = false
  #closed = false

  /** `onStalled` is called once, when the reader was too slow or the network failed; the owner ends the connection. */
  constructor(write: Write, onStalled: () => void, limits: OutboundLimits, clock: Clock) {
    this.#write = write
    this.#onStalled = onStalled
    this.#limits = limits
    this.#clock = clock
  }

  async send(message: ServerMessage): Promise<void> {
    if (this.#closed) throw gone()
    const text = JSON.stringify(message)
    if (this.#waiters.length === 0 && this.#hasRoom(text)) {
      this.#push(text)
      return
    }
    if (this.#waiters.length >= this.#limits.messagesMax) {
      this.#stall()
      throw gone()
    }
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#clock.timer(this.#limits.sendWaitMsMax, () => this.#stall(), false)
      this.#waiters.push({
        text,
        admit: () => {
          cancel()
          resolve()
        },
        refuse: () => {
          cancel()
          reject(gone())
        },
      })
    })
  }

  offer(message: ServerMessage): boolean {
    if (this.#closed || this.#waiters.length > 0) return false
    const text = JSON.stringify(message)
    if (!this.#hasRoom(text)) return false
    this.#push(text)
    return true
  }

  /** Resolves when everything queued has been written, or the queue was closed. */
  async flushed(): Promise<void> {
    if (this.#closed || !this.#isBusy()) return
    await new Promise<void>((resolve) => this.#flushed.push(resolve))
  }

  /** Drops what is queued and refuses those who wait. */
  close(): void {
    this.#closed = true
    this.#queue.length = 0
    this.#bytes = 0
    for (const waiter of this.#waiters.splice(0)) waiter.refuse()
    for (const resolve of this.#flushed.splice(0)) resolve()
  }

  #isBusy(): boolean {
    return this.#writing || this.#queue.length > 0 || this.#waiters.length > 0
  }

  #hasRoom(text: string): boolean {
    if (this.#queue.length === 0) return true
    return this.#queue.length < this.#limits.messagesMax && this.#bytes + text.length <= this.#limits.bytesMax
  }

  #push(text: string): void {
    this.#queue.push(text)
    this.#bytes += text.length
    this.#pump()
  }

  #pump(): void {
    if (this.#writing || this.#closed) return
    const text = this.#queue.shift()
    if (text === undefined) {
      for (const resolve of this.#flushed.splice(0)) resolve()
      return
    }
    this.#bytes -= text.length
    this.#writing = true
    const cancel = this.#clock.timer(this.#limits.writeMsMax, () => this.#stall(), false)
    this.#write(text, (error) => {
      cancel()
      assert(this.#writing, 'a write is answered once')
      this.#writing = false
      if (error != null) return this.#stall()
      this.#admitWaiters()
      this.#pump()
    })
    this.#admitWaiters()
  }

  #admitWaiters(): void {
    for (;;) {
      const waiter = this.#waiters[0]
      if (waiter === undefined || this.#closed || !this.#hasRoom(waiter.text)) return
      this.#waiters.shift()
      this.#queue.push(waiter.text)
      this.#bytes += waiter.text.length
      waiter.admit()
    }
  }

  #stall(): void {
    if (this.#closed) return
    this.close()
    this.#onStalled()
  }
}

function gone(): Fault {
  return new Fault('SESSION_CLOSED', {
    message: 'Cannot send to the client: the connection is gone',
    hint: 'Connect again and look the id up before you send it again',
  })
}
