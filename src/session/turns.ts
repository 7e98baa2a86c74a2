/** One at a time, in the order of arrival. Whoever gives up waiting leaves the line, and nobody behind is held up by it. */
export class Turns {
  #taken = false
  readonly #waiting: (() => void)[] = []

  /** The turn at once, or null when somebody has it. */
  takeNow(): (() => void) | null {
    if (this.#taken) return null
    this.#taken = true
    return this.#ending()
  }

  /** Resolves with the function that ends the turn. Rejects only while it waits, when the signal fires. */
  take(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const now = this.takeNow()
      if (now !== null) return resolve(now)
      const enter = (): void => {
        signal.removeEventListener('abort', leave)
        resolve(this.#ending())
      }
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(enter)
    })
  }

  /** The turn goes from hand to hand, so that nobody who comes meanwhile can take it. */
  #ending(): () => void {
    let over = false
    return () => {
      if (over) return
      over = true
      const next = this.#waiting.shift()
      if (next === undefined) this.#taken = false
      else next()
    }
  }
}
