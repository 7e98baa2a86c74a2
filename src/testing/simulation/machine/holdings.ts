/** What processes of a simulated machine have open, and the locks on it: it ends when it is closed, or with its process. */
import type { Inode } from './inode.ts'
import type { Owner } from './turns.ts'

/** Something that is open. */
export interface Holding {
  readonly owner: Owner
  readonly path: string
  readonly inode: Inode
}

export class Holdings {
  readonly #open = new Set<Holding>()
  readonly #locks = new Map<Inode, Holding>()

  hold(owner: Owner, path: string, inode: Inode): Holding {
    const holding = { owner, path, inode }
    this.#open.add(holding)
    return holding
  }

  /** Closing what is open ends its lock. */
  release(holding: Holding): void {
    this.#open.delete(holding)
    if (this.#locks.get(holding.inode) === holding) this.#locks.delete(holding.inode)
  }

  /** All of one owner; of everybody when it is null. */
  releaseAll(owner: Owner | null): void {
    for (const holding of this.#open) if (owner === null || holding.owner === owner) this.release(holding)
  }

  /** A lock belongs to what was opened and not to the process. False when another has it. */
  lock(holding: Holding): boolean {
    const holder = this.#locks.get(holding.inode)
    if (holder === undefined) this.#locks.set(holding.inode, holding)
    return holder === undefined || holder === holding
  }

  /** By the path that each was opened with. */
  of(owner: Owner): { readonly files: readonly string[]; readonly locks: readonly string[] } {
    return { files: pathsOf(this.#open, owner), locks: pathsOf(this.#locks.values(), owner) }
  }
}

function pathsOf(holdings: Iterable<Holding>, owner: Owner): readonly string[] {
  return [...holdings]
    .filter((holding) => holding.owner === owner)
    .map(({ path }) => path)
    .sort()
}
