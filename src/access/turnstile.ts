/**
 * Turnstile: lets a bounded number of pieces of work run at once and a bounded number wait, first come first served.
 * What finds the waiting room full is refused with `OVERLOADED` before it began.
 */
import { Fault } from '../core/index.ts'

export class Turnstile {
  readonly #activeMax: number
  readonly #waitingMax: number
  readonly #waiting: (() => void)[] = []
  #active = 0

  constructor(activeMax: number, waitingMax: number) {
    this.#activeMax = activeMax
    this.#waitingMax = waitingMax
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter()
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  async #enter(): Promise<void> {
    if (this.#active < this.#activeMax) {
      this.#active += 1
      return
    }
    if (this.#waiting.length >= this.#waitingMax) {
      throw new Fault('OVERLOADED', {
        message: 'Cannot verify the credential: too many are being verified',
        hint: 'Try again in a few seconds',
      })
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** The place goes from hand to hand, so nobody who arrives meanwhile can take it from who waited. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#active -= 1
    else next()
  }
}
