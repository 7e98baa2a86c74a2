/** The line of calls in front of a session, which takes one at a time: who is first runs, and the others wait. */
export class Line {
  readonly #callers: (() => void)[] = []

  /** `first` is called once the caller is first; at once where nobody is before. Gives back how to leave. */
  enter(first: () => void): () => void {
    this.#callers.push(first)
    if (this.#callers.length === 1) first()
    return () => {
      const at = this.#callers.indexOf(first)
      if (at === -1) return
      this.#callers.splice(at, 1)
      if (at === 0) this.#callers[0]?.()
    }
  }

  /** How many stand before somebody who enters now. */
  get length(): number {
    return this.#callers.length
  }
}
