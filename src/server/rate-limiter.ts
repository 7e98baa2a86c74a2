/**
 * The rate limiter: a token bucket for each client, in front of every route and every upgrade.
 *
 * Its table is bounded, and it never forgets under pressure: only a bucket that is full again may be dropped, because a new
 * one would be exactly the same. When no bucket can be dropped, an unknown client is refused.
 */
import { Fault } from '../core/index.ts'
import type { Clock } from '../world/index.ts'

export type RateLimit = {
  /** Sustained requests a minute from one client. */
  readonly perMinute: number
  /** Requests that may come at once after a quiet time. */
  readonly burst: number
  /** Clients that are remembered at the same time. */
  readonly clientsMax: number
}

export const RATE_LIMIT: RateLimit = { perMinute: 100, burst: 100, clientsMax: 100_000 }

export class RateLimiter {
  readonly #intervalMs: number
  /** How far ahead of now a bucket's refill may lie while one more request still fits. */
  readonly #aheadMs: number
  readonly #clientsMax: number
  readonly #clock: Clock
  /** When each client's bucket is full again, least recently used first. One number says all, and rounding cannot add up. */
  readonly #fullAt = new Map<string, number>()

  constructor({ perMinute, burst, clientsMax }: RateLimit, clock: Clock) {
    if (!(perMinute > 0 && burst >= 1 && clientsMax >= 1)) {
      throw new Fault('CONFIG_INVALID', {
        message: 'Cannot limit requests: the rate, the burst and the number of clients must be positive',
        hint: 'Correct the limits, or switch the limiter off openly',
      })
    }
    this.#intervalMs = 60_000 / perMinute
    this.#aheadMs = (burst - 1) * this.#intervalMs
    this.#clientsMax = clientsMax
    this.#clock = clock
  }

  /** 0 if the request may proceed; otherwise the seconds after which one may be tried again. A refusal costs nothing. */
  take(client: string): number {
    const now = this.#clock.monotonicMs()
    const known = this.#fullAt.get(client)
    if (known === undefined && this.#fullAt.size >= this.#clientsMax && !this.#dropFull(now)) {
      return secondsIn(this.#aheadMs + this.#intervalMs)
    }
    const fullAt = Math.max(known ?? 0, now)
    const tooEarlyMs = fullAt - now - this.#aheadMs
    const isServed = tooEarlyMs <= 0
    this.#fullAt.delete(client)
    this.#fullAt.set(client, isServed ? fullAt + this.#intervalMs : fullAt)
    return isServed ? 0 : secondsIn(tooEarlyMs)
  }

  /** The longest untouched bucket is the first to be full, up to how empty each was left; one look is enough. */
  #dropFull(now: number): boolean {
    for (const [client, fullAt] of this.#fullAt) {
      if (fullAt > now) return false
      this.#fullAt.delete(client)
      return true
    }
    return false
  }
}

function secondsIn(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}
