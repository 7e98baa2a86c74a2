/** The candidate policies of each surface that the journals name, opened when the first decision of it is judged. */
import { type Candidate, type CandidateOptions, openCandidate } from '../policy/index.ts'
import type { World } from '../world/index.ts'

/** So many surfaces are open at once; journals name few. */
const OPEN_MAX = 16

export class Candidates implements Disposable {
  readonly #world: World
  readonly #options: Omit<CandidateOptions, 'surface'>
  /** The one that was used last stands last. */
  readonly #open = new Map<string, Candidate>()

  constructor(world: World, options: Omit<CandidateOptions, 'surface'>) {
    this.#world = world
    this.#options = options
  }

  /** Throws as `for` does when the candidate cannot be used, before any journal is read. */
  async check(surface: string | null): Promise<void> {
    if (surface !== null) await this.for(surface)
    else (await openCandidate(this.#world, { ...this.#options, surface }))[Symbol.dispose]()
  }

  /** Throws `POLICY_UNREADABLE` or `POLICY_INVALID`. What was opened once stays as it was read. */
  async for(surface: string): Promise<Candidate> {
    const known = this.#open.get(surface)
    this.#open.delete(surface)
    const candidate = known ?? (await openCandidate(this.#world, { ...this.#options, surface }))
    this.#open.set(surface, candidate)
    for (const [oldest, unused] of this.#open) {
      if (this.#open.size <= OPEN_MAX) break
      this.#open.delete(oldest)
      unused[Symbol.dispose]()
    }
    return candidate
  }

  [Symbol.dispose](): void {
    for (const candidate of this.#open.values()) candidate[Symbol.dispose]()
    this.#open.clear()
  }
}
