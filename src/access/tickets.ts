/**
 * Tickets: let a browser open a WebSocket without putting its key into a URL. A ticket is spent once, within 30 seconds,
 * and speaks for the very caller who asked for it, as long as that caller's key is in force.
 *
 * Kept in memory by digest: a ticket does not outlive the process, and a memory image shows none that could be spent.
 */
import { Fault, hexHash, instantOf, type Timestamp, timestampOf } from '../core/index.ts'
import type { World } from '../world/index.ts'
import type { ApiKeys } from './api-keys.ts'
import type { Caller } from './caller.ts'

export type Ticket = { readonly ticket: string; readonly expires_at: Timestamp }

const LIFE_MS = 30_000
const HELD_MAX = 4096
const TICKET_TEXT_MAX = 64

export class Tickets {
  readonly #keys: ApiKeys
  readonly #world: World
  /** In the order of their end, because all live equally long. */
  readonly #held = new Map<string, { readonly caller: Caller; readonly endMs: number }>()

  constructor(keys: ApiKeys, world: World) {
    this.#keys = keys
    this.#world = world
  }

  issue(caller: Caller): Ticket {
    this.#forgetExpired()
    if (this.#held.size >= HELD_MAX) {
      throw new Fault('OVERLOADED', {
        message: 'Cannot issue a ticket: too many are waiting to be spent',
        hint: 'Spend or let expire the ones you have; a ticket lives for 30 seconds',
      })
    }
    const ticket = Buffer.from(this.#world.random.bytes(32)).toString('base64url')
    this.#held.set(hexHash(ticket), { caller, endMs: this.#world.clock.monotonicMs() + LIFE_MS })
    const nowMicros = Number(instantOf(this.#world.clock.wall()) / 1000n)
    return { ticket, expires_at: timestampOf(nowMicros + LIFE_MS * 1000) }
  }

  /** Whom the ticket speaks for; null when it is unknown, spent, expired, or its key is no longer in force. */
  async spend(ticket: string): Promise<Caller | null> {
    if (ticket.length > TICKET_TEXT_MAX) return null
    const name = hexHash(ticket)
    const held = this.#held.get(name)
    this.#held.delete(name) // before the first await: two that arrive together find it once
    if (held === undefined || this.#world.clock.monotonicMs() >= held.endMs) return null
    return (await this.#keys.isCurrent(held.caller)) ? held.caller : null
  }

  #forgetExpired(): void {
    const now = this.#world.clock.monotonicMs()
    for (const [name, held] of this.#held) {
      if (held.endMs > now) return
      this.#held.delete(name)
    }
  }
}
