/**
 * The rate limiter: a token bucket for each client, in front of every route and every upgrade.
 *
 * Its table is bounded, and it never forgets under pressure: only a bucket that is full again may be dropped, because a new
 * one would be exactly the same. When no bucket can be dropped, an unknown client is refused.
 */
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

type Bucket = { tokens: number; readonly atMs: number }

export class RateLimiter {
  readonly #limit: RateLimit
  readonly #clock: Clock
  /** Least recently used first. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(limit: RateLimit, clock: Clock) {
    this.#limit = limit
    this.#clock = clock
  }

  /** 0 if the request may proceed; otherwise the seconds after which one may be tried again. */
  take(client: string): number {
    const now = this.#clock.monotonicMs()
    const known = this.#buckets.get(client)
    if (known === undefined && this.#buckets.size >= this.#limit.clientsMax && !this.#dropFull(now)) {
      return this.#secondsFor(this.#limit.burst)
    }
    const tokens = known === undefined ? this.#limit.burst : this.#tokensAt(known, now)
    const left = tokens >= 1 ? tokens - 1 : tokens
    this.#buckets.delete(client)
    this.#buckets.set(client, { tokens: left, atMs: now })
    return tokens >= 1 ? 0 : this.#secondsFor(1 - tokens)
  }

  /** The longest untouched bucket is the first to be full, up to how empty each was left; one look is enough. */
  #dropFull(now: number): boolean {
    for (const [client, bucket] of this.#buckets) {
      if (this.#tokensAt(bucket, now) < this.#limit.burst) return false
      this.#buckets.delete(client)
      return true
    }
    return false
  }

  #tokensAt(bucket: Bucket, now: number): number {
    const regained = ((now - bucket.atMs) * this.#limit.perMinute) / 60_000
    return Math.min(this.#limit.burst, bucket.tokens + regained)
  }

  #secondsFor(tokens: number): number {
    return Math.max(1, Math.ceil((tokens * 60) / this.#limit.perMinute))
  }
}
