/**
 * A simulated disk: what programs see of it, what a power failure would leave, who holds what, and the trouble that was
 * planned for it. It outlives the processes that use it.
 *
 * It promises what the port `Files` promises and nothing more. What was synced stays; of everything else chance decides,
 * for each file and each folder by itself, so that a later write may be there and an earlier one may not.
 */
import type { Files } from '../../../world/index.ts'
import type { Chance } from '../chance.ts'
import type { DiskView } from '../laws/law.ts'
import { DiskSteps } from './disk-steps.ts'
import { Holdings } from './holdings.ts'
import type { Inode } from './inode.ts'
import { simFiles } from './sim-files.ts'
import { Tree } from './tree.ts'
import type { DiskOperation, DiskTrouble } from './trouble.ts'
import type { Owner, Turns } from './turns.ts'

export interface SimDiskOptions {
  /** What the clock of the files shows at the beginning, in milliseconds since the epoch. Default: the beginning of 2026. */
  readonly startMs?: number
  /** What it writes at once, whole or not at all: 512 or 4096 bytes. Default: 512. */
  readonly sectorBytes?: number
}

/** What the files of a process are made of. */
export interface DiskParts {
  readonly tree: Tree
  readonly steps: DiskSteps
  readonly holdings: Holdings
}

const START_MS = Date.UTC(2026, 0, 1)

export class SimDisk implements DiskView {
  readonly #tree: Tree
  readonly #steps: DiskSteps
  readonly #holdings = new Holdings()
  readonly #chance: Chance
  readonly #sectorBytes: number
  #holed = 0

  constructor(
    turns: Turns,
    chance: Chance,
    troubles: readonly DiskTrouble[],
    { startMs = START_MS, sectorBytes = 512 }: SimDiskOptions = {},
  ) {
    this.#chance = chance
    this.#sectorBytes = sectorBytes
    this.#steps = new DiskSteps(turns, chance, troubles)
    this.#tree = new Tree(() => BigInt(Math.floor((startMs + turns.nowMs) * 1000)) * 1000n)
  }

  /** Every use of the disk so far, by operation and over all processes. */
  get counts(): Readonly<Record<DiskOperation, number>> {
    return this.#steps.counts
  }

  /** How many files a loss of power left with holes, so far. */
  get holed(): number {
    return this.#holed
  }

  /** Whether an operation has failed by plan, until everything is calm. */
  get hasFailed(): boolean {
    return this.#steps.hasFailed
  }

  /** What happens when the power fails by plan, in the middle of an operation. */
  set onCut(cutPower: () => void) {
    this.#steps.cutPower = cutPower
  }

  /** The files of one process. Every asynchronous operation is a step; nothing answers once the owner is dead. */
  filesOf(owner: Owner): Files {
    return simFiles({ tree: this.#tree, steps: this.#steps, holdings: this.#holdings }, owner)
  }

  /** For setting up: there at once, and durable, with its folders. */
  put(path: string, bytes: Uint8Array | string, mode = 0o644): void {
    this.#tree.put(path, typeof bytes === 'string' ? Buffer.from(bytes) : bytes, mode)
  }

  /** A person removes a name: gone at once, and for good. */
  remove(path: string): void {
    this.#tree.unlink(path)
    this.#tree.folder(path.slice(0, path.lastIndexOf('/')) || '/').syncTo(this.#tree.changes)
  }

  /**
   * The process is gone: its open files are closed and its locks end. `kill` keeps all that was written; `power` ends every
   * process and keeps what was synced and some of the rest.
   */
  crash(how: 'kill' | 'power', owner: Owner): void {
    this.#holdings.releaseAll(how === 'power' ? null : owner)
    if (how === 'power') this.#holed += this.#tree.losePower(this.#chance, this.#sectorBytes)
  }

  /** From now on nothing goes wrong: what was planned and has not come is forgotten. */
  calm(): void {
    this.#steps.calm()
  }

  /** Open files and held locks of a process, by path, sorted. */
  heldBy(owner: Owner): { readonly files: readonly string[]; readonly locks: readonly string[] } {
    return this.#holdings.of(owner)
  }

  durable(path: string): Uint8Array | null {
    const inode = this.#tree.findDurable(path)
    return inode?.kind === 'file' ? inode.durable : null
  }

  visible(path: string): Uint8Array | null {
    const inode = this.#visible(path)
    return inode?.kind === 'file' ? inode.visible : null
  }

  forgot(path: string): number | null {
    const inode = this.#visible(path)
    return inode?.kind === 'file' ? inode.forgottenIn : null
  }

  durableNames(folder: string): readonly string[] {
    const inode = this.#tree.findDurable(folder)
    return inode?.kind === 'directory' ? [...inode.durable.keys()].sort() : []
  }

  visibleNames(folder: string): readonly string[] {
    const inode = this.#visible(folder)
    return inode?.kind === 'directory' ? [...inode.entries.keys()].sort() : []
  }

  #visible(path: string): Inode | null {
    try {
      return this.#tree.find(path)
    } catch {
      return null // a file where a folder would have to be: the name is not there
    }
  }
}
