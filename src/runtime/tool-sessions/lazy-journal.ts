/** A journal that is made with its first entry: what never began leaves no file behind that somebody would have to explain. */
import type { AgentId } from '../../core/index.ts'
import type { AuditReference, EventLog, NewEntry } from '../../events/index.ts'
import { createJournal, type Journal } from '../../journal/index.ts'
import type { World } from '../../world/index.ts'

export class LazyJournal implements EventLog {
  readonly #create: () => Promise<Journal>
  #opening: Promise<Journal> | null = null
  #journal: Journal | null = null

  constructor(world: World, directory: string, principal: AgentId) {
    this.#create = () => createJournal(world, { directory, principal })
  }

  get audit(): AuditReference | null {
    return this.#journal?.audit ?? null
  }

  async append(entries: readonly NewEntry[]): Promise<void> {
    this.#opening ??= this.#create()
    this.#journal = await this.#opening
    await this.#journal.append(entries)
  }

  /** Waits for a started write. Never rejects: what could not be written was told to whoever wanted it. */
  async close(): Promise<void> {
    const journal = await this.#opening?.catch(() => null)
    await journal?.close().catch(() => undefined)
  }
}
