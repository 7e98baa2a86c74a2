/**
 * Inodes: what a name on a disk leads to, and how much of it a power failure would leave. A file is only ever appended to;
 * a folder remembers which of its entries were not synced.
 */
import { assert } from '../../../core/index.ts'
import type { Chance } from '../chance.ts'

export type Inode = FileInode | FolderInode

const NOTHING = new Uint8Array(0)
const FIRST_BYTES = 256

export class FileInode {
  readonly kind = 'file'
  readonly number: number
  mode: number
  /** A change of the mode is lost with the power until all of the file is synced. */
  durableMode: number
  links = 0
  modifiedNs: bigint
  changedNs: bigint
  #bytes = NOTHING
  #size = 0
  #durableSize = 0
  /** Parts that a failed sync left behind: the page cache calls them clean, and no later sync writes them. */
  #forgotten: { readonly from: number; readonly to: number; readonly life: number }[] = []
  #visible: Uint8Array | null = null
  #durable: Uint8Array | null = null
  /** How far a sync has tried, whether it succeeded or not. */
  #triedSize = 0

  constructor(number: number, mode: number, nowNs: bigint) {
    this.number = number
    this.mode = mode
    this.durableMode = mode
    this.modifiedNs = nowNs
    this.changedNs = nowNs
  }

  get size(): number {
    return this.#size
  }

  /** What a program sees. Nobody writes to it, and it is the same object for as long as nothing changes. */
  get visible(): Uint8Array {
    this.#visible ??= this.#bytes.subarray(0, this.#size) // what is added lies behind it
    return this.#visible
  }

  append(bytes: Uint8Array): void {
    const size = this.#size + bytes.length
    if (size > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(FIRST_BYTES, size, this.#bytes.length * 2))
      grown.set(this.visible)
      this.#bytes = grown
    }
    this.#bytes.set(bytes, this.#size)
    this.#size = size
    this.#visible = null
  }

  /** What was written up to `size` is durable, except what an earlier sync lost. */
  syncTo(size: number): void {
    assert(size <= this.#size, 'a sync covers what was written')
    if (size <= this.#triedSize) return
    this.#triedSize = size
    this.#durableSize = size
    this.#durable = null
  }

  /** A sync up to `size` failed, and the process that asked for it was told: what it should have written never will be. */
  forgetTo(size: number, life: number): void {
    assert(size <= this.#size, 'a sync covers what was written')
    if (size <= this.#triedSize) return
    this.#forgotten.push({ from: this.#triedSize, to: size, life })
    this.#triedSize = size
  }

  /** Which process was told of a failed sync that left something behind that looks as if it were durable; null when none was. */
  get forgottenIn(): number | null {
    return this.#forgotten.at(-1)?.life ?? null
  }

  /** What is on the disk for certain; as `visible`. Lost parts in the middle are zeros. */
  get durable(): Uint8Array {
    this.#durable ??= this.#imageOf(this.#durableSize)
    return this.#durable
  }

  /**
   * The power fails: what was not synced is lost, was written all the same, ends at any byte, or has holes where sectors of
   * it were not written. True when it has.
   */
  losePower(chance: Chance, sectorBytes: number): boolean {
    const unsynced = this.#size - this.#durableSize
    const synced = this.#durableSize
    let size = this.#size
    let holes: readonly number[] = []
    if (unsynced > 0) {
      const fate = chance.index(14)
      size = fate < 4 ? synced : fate < 7 || fate > 9 ? this.#size : synced + chance.index(unsynced + 1)
      if (fate > 8) holes = sectorsOf(synced, size, sectorBytes).filter(() => chance.happens(0.5))
      // a part that could not be written before is not written now, and nothing behind it either
      const lost = this.#forgotten.find(({ to }) => to > this.#durableSize)
      if (lost !== undefined) size = Math.min(size, lost.from)
    }
    if (size !== this.#size || this.#forgotten.length > 0 || holes.length > 0) {
      this.#bytes = Uint8Array.from(this.#imageOf(size)) // a copy: somebody may still look at what was there before
      // a sector that holds something durable keeps it: it is the old one, or the new one
      for (const from of holes) this.#bytes.fill(0, Math.max(from, synced), from + sectorBytes)
      this.#size = size
      this.#visible = null
    }
    this.#durable = null
    this.#durableSize = size
    this.#triedSize = size
    this.#forgotten = []
    if (this.mode !== this.durableMode && chance.happens(0.5)) this.durableMode = this.mode
    this.mode = this.durableMode
    return holes.some((from) => from < size)
  }

  #imageOf(size: number): Uint8Array {
    const lost = this.#forgotten.filter(({ from }) => from < size)
    if (lost.length === 0) return this.#bytes.subarray(0, size)
    const image = this.#bytes.slice(0, size)
    for (const { from, to } of lost) image.fill(0, from, Math.min(to, size))
    return image
  }
}

/** Where each sector begins that holds some of these bytes. */
function sectorsOf(from: number, to: number, sectorBytes: number): readonly number[] {
  const first = from - (from % sectorBytes)
  return Array.from({ length: Math.ceil((to - first) / sectorBytes) }, (_, index) => first + index * sectorBytes)
}

/** One change of the entries of a folder, or of two folders at once. It reaches the disk whole. */
export interface Change {
  /** Grows with time. */
  readonly order: number
  readonly sets: readonly { readonly folder: FolderInode; readonly name: string; readonly inode: Inode | null }[]
  /** `pending` until it is decided whether the disk keeps it. */
  state: 'pending' | 'durable' | 'lost'
}

export class FolderInode {
  readonly kind = 'directory'
  readonly number: number
  mode: number
  modifiedNs: bigint
  changedNs: bigint
  entries = new Map<string, Inode>()
  readonly durable = new Map<string, Inode>()
  /** Not synced yet, oldest first. */
  pending: Change[] = []

  constructor(number: number, mode: number, nowNs: bigint) {
    this.number = number
    this.mode = mode
    this.modifiedNs = nowNs
    this.changedNs = nowNs
  }

  /** `..` of each folder inside, its own `.`, and its name. */
  get links(): number {
    let links = 2
    for (const { kind } of this.entries.values()) if (kind === 'directory') links += 1
    return links
  }

  /** Changes up to this one are durable. What they were built on in another folder is so as well. */
  syncTo(order: number): void {
    for (const change of this.pending) {
      if (change.order > order) break
      if (change.state !== 'pending') continue
      change.state = 'durable'
      for (const { folder } of change.sets) if (folder !== this) folder.syncTo(change.order - 1)
      keep(change)
    }
    this.pending = this.pending.filter(({ state }) => state === 'pending')
  }

  /** The power fails: of the changes that were not synced mostly the first ones are there, sometimes any of them. */
  losePower(chance: Chance): void {
    if (this.pending.length > 0) {
      const inOrder = chance.happens(0.8)
      const kept = chance.between(0, this.pending.length)
      for (const [at, change] of this.pending.entries()) {
        if (change.state !== 'pending') continue // decided where the other folder was
        const stays = inOrder ? at < kept : chance.happens(0.5)
        change.state = stays ? 'durable' : 'lost'
        if (stays) keep(change)
      }
      this.pending = []
    }
    this.entries = new Map(this.durable)
  }
}

function keep(change: Change): void {
  for (const { folder, name, inode } of change.sets) {
    if (inode === null) folder.durable.delete(name)
    else folder.durable.set(name, inode)
  }
}
