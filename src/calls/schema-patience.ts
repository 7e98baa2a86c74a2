/**
 * How long everybody waits for the check of one schema. A single check may take its time; many of them, or the same one again
 * and again, may together take a small share of the time of the process and no more.
 */

const CHECK_MS_MAX = 500
/** For as long as too much was spent. An ordinary check takes a tenth of a millisecond. */
const HURRIED_MS_MAX = 100
/** What may be spent at once, and which share of all time beside it. */
const SPENT_MS_MAX = 10_000
const SHARE = 0.05

export class Patience {
  #spentMs = 0
  #lastAtMs = Number.NEGATIVE_INFINITY

  /** For the next check, in milliseconds. */
  waitMs(): number {
    return this.#isHurried() ? HURRIED_MS_MAX : CHECK_MS_MAX
  }

  /** A check took so long, and ended at this time of a clock that only grows. True when its schema should not be checked again. */
  ended(tookMs: number, atMs: number): boolean {
    const passedMs = Math.max(0, atMs - this.#lastAtMs)
    this.#spentMs = Math.max(0, this.#spentMs - passedMs * SHARE) + tookMs
    this.#lastAtMs = atMs
    return this.#isHurried() && tookMs > HURRIED_MS_MAX
  }

  /** It was given up after `waitMs`. */
  gaveUp(): void {
    this.#spentMs += this.waitMs()
  }

  #isHurried(): boolean {
    return this.#spentMs > SPENT_MS_MAX
  }
}
