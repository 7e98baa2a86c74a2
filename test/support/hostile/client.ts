/**
 * Frames of a client that means no good. Each says what it may cause: how often the effect that it asks for may happen, and what
 * answer it is owed. What a frame may cause is known from how it was made, and never from our own readers.
 *
 * Every effect that is asked for has a mark of its own, so whoever counts effects can say which frame each one came from.
 */
import { brokenFrames } from './broken.ts'
import { type Chance, chanceOf, oneOf, shuffled, uuidOf } from './chance.ts'
import { forgedFrames } from './forged.ts'
import { honestFrames } from './honest.ts'
import { invocationFrames } from './invocations.ts'
import { type HostileFrame, IDS, type Invocation, type Maker, OWN_MEMBER, type Recipe, type Recipes } from './parts.ts'

type Named = readonly [what: string, recipe: Recipe]

/** Those that need no store for the ids of callers. */
export const PLAIN: Recipes = { ...honestFrames, ...brokenFrames, ...forgedFrames }
const ALL: Recipes = { ...PLAIN, ...invocationFrames }

export class HostileClient {
  readonly #deck: Named[] = []
  readonly #recipes: readonly Named[]
  readonly #finished: string[] = []
  readonly #invocations: Invocation[] = []
  #fresh: { readonly ids: string[]; readonly invocations: Invocation[] } = { ids: [], invocations: [] }
  #marks = 0
  #ids = 0
  readonly #parts: Pick<Maker, 'chance' | 'client' | 'bait' | 'loot'>

  constructor(parts: Pick<Maker, 'chance' | 'client' | 'bait' | 'loot'>, recipes: Recipes = ALL) {
    this.#parts = parts
    this.#recipes = Object.entries(recipes)
  }

  /** Every recipe once, in an order by chance, and again. */
  next(): HostileFrame {
    const { chance } = this.#parts
    if (this.#deck.length === 0) this.#deck.push(...shuffled(chance, this.#recipes))
    // what clients learn of each other changes one frame, and not all that follow
    return this.#made(this.#deck.pop() as Named, chanceOf(chance(2 ** 31)))
  }

  /** Any frame, and the same one for the same chance. */
  any(chance: Chance): HostileFrame {
    return this.#made(oneOf(chance, this.#recipes), chance)
  }

  #made([what, recipe]: Named, chance: Chance): HostileFrame {
    const made = recipe(this.#maker(chance))
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

  #maker(chance: Chance): Maker {
    const { client } = this.#parts
    return {
      ...this.#parts,
      chance,
      finished: this.#finished,
      invocations: this.#invocations,
      invoke: (mark, member, id) => void this.#fresh.invocations.push({ mark, member, id }),
      anyId: () => {
        if (chance(3) > 0) return oneOf(chance, IDS)
        this.#ids += 1 // of its own: an id that was over would be cancelled while another request has it
        const id = `${client}-request-${this.#ids}`
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
