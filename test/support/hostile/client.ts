/**
 * Frames of a client that means no good. Each says what it may cause: how often the effect that it asks for may happen, and what
 * answer it is owed. What a frame may cause is known from how it was made, and never from our own readers.
 *
 * Every effect that is asked for has a mark of its own, so whoever counts effects can say which frame each one came from.
 */
import { brokenFrames } from './broken.ts'
import { chanceOf, oneOf, shuffled, uuidOf } from './chance.ts'
import { forgedFrames } from './forged.ts'
import { honestFrames } from './honest.ts'
import { invocationFrames } from './invocations.ts'
import { type HostileFrame, IDS, type Invocation, type Maker, OWN_MEMBER, type Recipe } from './parts.ts'

export class HostileClient {
  readonly #deck: [string, Recipe][] = []
  readonly #recipes: readonly [string, Recipe][]
  readonly #finished: string[] = []
  readonly #invocations: Invocation[] = []
  #fresh: { readonly ids: string[]; readonly invocations: Invocation[] } = { ids: [], invocations: [] }
  #marks = 0
  readonly #parts: Pick<Maker, 'chance' | 'client' | 'bait' | 'loot'>

  constructor(parts: Pick<Maker, 'chance' | 'client' | 'bait' | 'loot'>) {
    this.#parts = parts
    this.#recipes = Object.entries({ ...honestFrames, ...brokenFrames, ...forgedFrames, ...invocationFrames })
  }

  /** Every recipe once, in an order by chance, and again. */
  next(): HostileFrame {
    if (this.#deck.length === 0) this.#deck.push(...shuffled(this.#parts.chance, this.#recipes))
    const [what, recipe] = this.#deck.pop() as [string, Recipe]
    const made = recipe(this.#maker(chanceOf(this.#parts.chance(2 ** 31)))) // what clients learn of each other changes one frame, not all that follow
    return { what, ...made, bytes: Buffer.from(made.bytes as string) }
  }

  /** Everything until here was answered: from now on it may be repeated, cancelled and stolen. */
  settled(): void {
    this.#finished.push(...this.#fresh.ids)
    this.#invocations.push(...this.#fresh.invocations)
    const { client, loot } = this.#parts
    for (const { id, mark, member } of this.#fresh.invocations) {
      if (member === OWN_MEMBER) loot.invocations.push({ client, id, mark })
    }
    this.#fresh = { ids: [], invocations: [] }
  }

  /** The session is another one: names inside of it mean nothing any more. */
  reconnected(): void {
    const kept = this.#invocations.filter(({ id }) => UUID.test(id))
    this.#invocations.splice(0, this.#invocations.length, ...kept)
  }

  #maker(chance: Maker['chance']): Maker {
    const { client } = this.#parts
    return {
      ...this.#parts,
      chance,
      finished: this.#finished,
      invocations: this.#invocations,
      invoke: (mark, member, id) => void this.#fresh.invocations.push({ mark, member, id }),
      anyId: () => {
        if (chance(3) > 0) return oneOf(chance, IDS)
        const id = `${client}-request-${this.#marks}`
        this.#fresh.ids.push(id)
        return id
      },
      mark: () => {
        this.#marks += 1
        return `${client}-${this.#marks}-${uuidOf(chance).slice(0, 8)}`
      },
    }
  }
}

const UUID = /^[0-9a-f-]{36}$/
