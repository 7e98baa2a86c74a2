/**
 * Turns: whose step is next, and what time it is. Everything asynchronous that a World does is a step here, and the seed
 * chooses among those that are due; time leaps to the next one when none is. Between two steps all promises that can settle
 * have settled, so a run of steps is the same each time.
 */
import { nodeWorld } from '../../../world/index.ts'
import type { Chance } from '../chance.ts'

/** Whose step it is: a process of the simulated machine, or null for the world outside. */
export interface Owner {
  /** Counted from 1, a new one for each boot. */
  readonly life: number
  /** False from the moment of its crash: its steps are no longer taken. */
  alive: boolean
}

interface Step {
  readonly dueMs: number
  readonly owner: Owner | null
  readonly what: string
  readonly take: () => void
}

const real = nodeWorld().clock

export class Turns {
  readonly #chance: Chance
  readonly #steps = new Set<Step>()
  #nowMs = 0
  #taken = 0

  constructor(chance: Chance) {
    this.#chance = chance
  }

  /** Milliseconds since the beginning. */
  get nowMs(): number {
    return this.#nowMs
  }

  /** How many steps were taken. */
  get taken(): number {
    return this.#taken
  }

  /** How many steps of this owner wait, and what they are. */
  waiting(owner: Owner): readonly string[] {
    return [...this.#steps].filter((step) => step.owner === owner).map(({ what }) => what)
  }

  /** A step that is due after `ms`. The function that comes back takes it away. A dead owner gets no step. */
  after(ms: number, owner: Owner | null, what: string, take: () => void): () => void {
    if (owner?.alive === false) return () => undefined
    const step: Step = { dueMs: this.#nowMs + Math.max(0, ms), owner, what, take }
    this.#steps.add(step)
    return () => void this.#steps.delete(step)
  }

  /** The answer of `work`, which runs as a step of its own; it never comes once the owner is dead. */
  perform<T>(ms: number, owner: Owner | null, what: string, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.after(ms, owner, what, () => {
        try {
          resolve(work())
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /** Time goes on without anything happening in between, as when a machine was suspended. */
  leap(ms: number): void {
    this.#nowMs += ms
  }

  /** Takes one step; null when there is none. Resolves when everything that it set off has settled. */
  async next(): Promise<string | null> {
    const step = this.#choose()
    if (step === null) return null
    this.#steps.delete(step)
    this.#nowMs = Math.max(this.#nowMs, step.dueMs)
    this.#taken += 1
    step.take()
    await real.yield()
    return step.what
  }

  /** All steps of an owner are taken away: it is dead. */
  bury(owner: Owner): void {
    owner.alive = false
    for (const step of this.#steps) if (step.owner === owner) this.#steps.delete(step)
  }

  /** One of those that are due; none: one of those that are due first. */
  #choose(): Step | null {
    let due: Step[] = []
    let firstMs = Number.POSITIVE_INFINITY
    for (const step of this.#steps) {
      const atMs = Math.max(step.dueMs, this.#nowMs) // what is overdue is as urgent as what is due
      if (atMs > firstMs) continue
      if (atMs < firstMs) {
        firstMs = atMs
        due = []
      }
      due.push(step)
    }
    return due.length === 0 ? null : this.#chance.pick(due)
  }
}
