/** Steps of a simulated disk: how long an operation takes, how often each was used, and the trouble that was planned for it. */
import type { Chance } from '../chance.ts'
import { answer } from './tree.ts'
import type { DiskOperation, DiskTrouble } from './trouble.ts'
import type { Owner, Turns } from './turns.ts'

/** One use of the disk, counted, before it happens. */
export interface Use {
  /** How much longer than usual it takes. */
  readonly slowMs: number
  readonly trouble: DiskTrouble | null
}

/** What an operation does, and what it does when it fails. */
export interface Work<T> {
  readonly does: () => T
  /** All of it happened and nobody gets the answer. Default: `does`. */
  readonly late?: () => void
  /** Default: nothing. */
  readonly fails?: () => void
}

export class DiskSteps {
  readonly chance: Chance
  /** What happens when the power fails by plan. */
  cutPower: () => void = () => undefined
  readonly #turns: Turns
  readonly #troubles = new Map<string, DiskTrouble[]>()
  #hasFailed = false
  readonly #counts: Record<DiskOperation, number> = {
    append: 0,
    syncData: 0,
    syncAll: 0,
    syncDirectory: 0,
    create: 0,
    open: 0,
    link: 0,
    rename: 0,
    unlink: 0,
    read: 0,
    list: 0,
    lstat: 0,
    mkdir: 0,
    tryLock: 0,
  }

  constructor(turns: Turns, chance: Chance, troubles: readonly DiskTrouble[]) {
    this.#turns = turns
    this.chance = chance
    for (const trouble of troubles) {
      const key = `${trouble.on} ${trouble.nth}`
      this.#troubles.set(key, [...(this.#troubles.get(key) ?? []), trouble])
    }
  }

  get counts(): Readonly<Record<DiskOperation, number>> {
    return this.#counts
  }

  /** Whether an operation was told to fail, since there is trouble. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** From now on nothing goes wrong. */
  calm(): void {
    this.#troubles.clear()
    this.#hasFailed = false
  }

  /** Counts one use and says what was planned for it. The dead use nothing. */
  use(owner: Owner, operation: DiskOperation): Use {
    if (!owner.alive) return { slowMs: 0, trouble: null }
    this.#counts[operation] += 1
    const planned = this.#troubles.get(`${operation} ${this.#counts[operation]}`)
    if (planned === undefined) return { slowMs: 0, trouble: null }
    const trouble = planned.find(({ how }) => how !== 'slow') ?? null
    this.#hasFailed ||= trouble !== null && trouble.how !== 'power'
    return { slowMs: planned.reduce((sum, { how, ms }) => (how === 'slow' ? sum + (ms ?? 0) : sum), 0), trouble }
  }

  /** One use that is one step. */
  async perform<T>(owner: Owner, operation: DiskOperation, path: string, work: Work<T>): Promise<T> {
    const { slowMs, trouble } = this.use(owner, operation)
    return await this.take<T | Promise<T>>(owner, `${operation} ${path}`, slowMs, () => {
      if (trouble === null) return work.does()
      if (trouble.how === 'power') {
        this.cutPower()
        return owner.alive ? work.does() : new Promise<T>(() => undefined)
      }
      if (trouble.how === 'late') (work.late ?? work.does)()
      else work.fails?.()
      throw troubleAnswer(trouble)
    })
  }

  /** A step of usual length, and `slowMs` more. It never comes once the owner is dead. */
  take<T>(owner: Owner, what: string, slowMs: number, does: () => T): Promise<T> {
    return this.#turns.perform(this.#latencyMs() + slowMs, owner, what, does)
  }

  /** The names in a folder come in no order: they begin anywhere. */
  inNoOrder(names: readonly string[]): readonly string[] {
    if (names.length < 2) return names
    const at = this.chance.index(names.length)
    return [...names.slice(at), ...names.slice(0, at)]
  }

  #latencyMs(): number {
    const draw = this.chance.index(100)
    return draw < 40 ? 0 : draw < 75 ? 1 : draw < 97 ? 2 : this.chance.between(3, 40)
  }
}

export function troubleAnswer({ errno }: DiskTrouble): Error {
  return answer(errno ?? 'EIO')
}
