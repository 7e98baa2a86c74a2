/**
 * An open file of a simulated process. A write may come in parts, each a step of its own, so that a crash in between leaves
 * a part; a sync covers what was written before it was asked for.
 */
import { assert } from '../../../core/index.ts'
import { type FileFacts, type OpenFile, tooLong } from '../../../world/index.ts'
import type { DiskParts } from './disk.ts'
import { troubleAnswer, type Use } from './disk-steps.ts'
import type { Holding } from './holdings.ts'
import type { FileInode } from './inode.ts'
import { answer } from './tree.ts'
import type { DiskOperation } from './trouble.ts'

export type Opening = 'read' | 'append' | 'lock'

/** One append in so many comes in parts. */
const WHOLE_WRITES = 6

export class SimOpenFile implements OpenFile {
  readonly #parts: DiskParts
  readonly #holding: Holding
  readonly #how: Opening
  /** The disk may sync such a file with each append, and need not. */
  readonly #synced: boolean
  #asked = 0
  #idle: (() => void) | null = null
  #closed: Promise<void> | null = null

  constructor(parts: DiskParts, holding: Holding, how: Opening, synced = false) {
    this.#parts = parts
    this.#holding = holding
    this.#how = how
    this.#synced = synced
  }

  async facts(): Promise<FileFacts> {
    const { tree, steps } = this.#parts
    const { owner, path, inode } = this.#holding
    return await this.#ask(() => steps.take(owner, `facts ${path}`, 0, () => tree.factsOf(inode)))
  }

  sizeNow(): number {
    if (this.#closed !== null) throw answer('EBADF')
    return this.#parts.tree.factsOf(this.#holding.inode).size
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    if (length === 0) return Buffer.alloc(0) // nothing is asked of the system
    return await this.#perform('read', () => Buffer.from(this.#readable().subarray(position, position + length)))
  }

  async readAll(bytesMax: number): Promise<Uint8Array> {
    return await this.#perform('read', () => {
      const { size } = this.#parts.tree.factsOf(this.#holding.inode)
      if (size > bytesMax) throw tooLong(size, bytesMax)
      return Buffer.from(this.#readable())
    })
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return // nothing is asked of the system
    const all = new Uint8Array(bytes) // the caller may change his while it waits
    await this.#ask(() => this.#append(all, this.#parts.steps.use(this.#holding.owner, 'append')))
  }

  syncData(): Promise<void> {
    return this.#sync('syncData')
  }

  syncAll(): Promise<void> {
    return this.#sync('syncAll')
  }

  async tryLock(): Promise<boolean> {
    return await this.#perform('tryLock', () => {
      if (this.#how === 'read') throw answer('EBADF') // an exclusive lock needs a file that may be written
      return this.#parts.holdings.lock(this.#holding)
    })
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #append(bytes: Uint8Array, { slowMs, trouble }: Use): Promise<void> {
    const { tree, steps } = this.#parts
    const { owner, path } = this.#holding
    const { chance } = steps
    const inode = this.#writable()
    const reached =
      trouble === null || trouble.how === 'late' || trouble.how === 'power'
        ? bytes.length
        : trouble.how === 'short'
          ? chance.index(bytes.length)
          : 0
    // all of it may be on its way, so that a loss of power before the answer leaves any sectors of it
    const cut = trouble?.how === 'power'
    const before = cut
      ? bytes.length
      : chance.index(WHOLE_WRITES) > 0
        ? 0
        : chance.happens(0.5)
          ? reached
          : chance.index(reached + 1)
    if (before > 0) {
      await steps.take(owner, `append a part to ${path}`, 0, () => {
        tree.append(inode, bytes.subarray(0, before))
        if (cut) steps.cutPower()
      })
    }
    await steps.take(owner, `append ${path}`, slowMs, () => {
      tree.append(inode, bytes.subarray(before, reached))
      if (trouble !== null && !cut) throw troubleAnswer(trouble)
      if (this.#synced && chance.happens(0.5)) inode.syncTo(inode.size)
    })
  }

  async #sync(operation: 'syncData' | 'syncAll'): Promise<void> {
    const { inode } = this.#holding
    if (inode.kind === 'directory') {
      const before = this.#parts.tree.changes
      return await this.#perform(operation, () => inode.syncTo(before))
    }
    const size = inode.size // what is written from now on is not covered
    const all = operation === 'syncAll'
    const { mode } = inode
    await this.#perform(
      operation,
      () => {
        inode.syncTo(size)
        if (all) inode.durableMode = mode
      },
      () => inode.forgetTo(size, this.#holding.owner.life),
    )
  }

  #readable(): Uint8Array {
    const { inode } = this.#holding
    if (inode.kind === 'directory') throw answer('EISDIR')
    return inode.visible
  }

  #writable(): FileInode {
    const { inode } = this.#holding
    if (this.#how === 'read' || inode.kind === 'directory') throw answer('EBADF')
    assert(this.#how === 'append', 'nobody writes to a file that was opened for its lock')
    return inode
  }

  async #close(): Promise<void> {
    if (this.#asked > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    }
    const { steps, holdings } = this.#parts
    const { owner, path } = this.#holding
    await steps.take(owner, `close ${path}`, 0, () => holdings.release(this.#holding))
  }

  async #perform<T>(operation: DiskOperation, does: () => T, fails: () => void = () => undefined): Promise<T> {
    const { owner, path } = this.#holding
    return await this.#ask(() => this.#parts.steps.perform(owner, operation, path, { does, fails }))
  }

  /** What was asked before a close is answered before it. */
  async #ask<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed !== null) throw answer('EBADF')
    this.#asked += 1
    try {
      return await work()
    } finally {
      this.#asked -= 1
      if (this.#asked === 0) this.#idle?.()
    }
  }
}
