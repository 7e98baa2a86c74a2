/**
 * The tools of one server that are offered, and whether each still looks as it was pinned. The list is read again whenever it
 * may have changed; what came of it is kept, so that a call of a tool that drifted is refused without asking anybody.
 */
import type { Hash } from '../core/index.ts'
import { CHANGED } from './choose.ts'
import type { Connection } from './connection.ts'
import type { Listing } from './listing.ts'

export class Offers {
  readonly #offered = new Map<string, Hash>()
  readonly #refused = new Map<string, string>()
  readonly #tell: (tool: string, reason: string) => void
  /** How often the list may have changed, and up to which of these the list that we took tells. */
  #changes = 0
  #seen = 0
  #listing: Listing = new Map()

  constructor(tell: (tool: string, reason: string) => void) {
    this.#tell = tell
  }

  get listing(): Listing {
    return this.#listing
  }

  /** The last change that is known of. */
  get latest(): number {
    return this.#changes
  }

  get isBehind(): boolean {
    return this.#seen < this.#changes
  }

  /** From now on this tool may be called, as long as it looks like this. */
  offer(tool: string, digest: Hash): void {
    this.#offered.set(tool, digest)
    this.#judge(tool, digest) // it may have changed while somebody thought about it
  }

  /** The list may have changed. The mark of it is for `look`. */
  changed(): number {
    this.#changes += 1
    return this.#changes
  }

  /** Why a tool is refused, as far as the list is known; null also while nobody has looked at its last change. */
  reasonAgainst(tool: string): string | null {
    return this.isBehind ? null : (this.#refused.get(tool) ?? null)
  }

  /** As the list was when it was last read. */
  lastReasonAgainst(tool: string): string | null {
    return this.#refused.get(tool) ?? null
  }

  /** Reads the list, unless somebody read it since this change was known. Changes that come meanwhile are for those who come later. */
  async look(connection: Connection, change: number, signal: AbortSignal): Promise<void> {
    if (this.#seen >= change) return
    const changes = this.#changes
    const listing = await connection.list(signal)
    if (changes < this.#seen) return // somebody looked later, and took what is newer
    this.#seen = changes
    this.#take(listing)
  }

  #take(listing: Listing): void {
    this.#listing = listing
    for (const [tool, digest] of this.#offered) this.#judge(tool, digest)
  }

  #judge(tool: string, digest: Hash): void {
    const reason = reasonIn(this.#listing, tool, digest)
    if (reason === null) this.#refused.delete(tool)
    else if (this.#refused.get(tool) !== reason) {
      this.#refused.set(tool, reason)
      this.#tell(tool, reason)
    }
  }
}

function reasonIn(listing: Listing, tool: string, digest: Hash): string | null {
  const listed = listing.get(tool)
  if (listed === undefined) return 'the server does not offer it any more'
  if (listed.kind === 'Unusable') return listed.reason
  return listed.digest === digest ? null : CHANGED
}
