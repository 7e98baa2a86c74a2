/**
 * The tree of names on a simulated disk, and what the system's calls do to it, at once and without time. They answer as
 * Linux does for the owner of everything: permission bits are kept and forbid nothing. There are no links but hard ones.
 */
import { assert } from '../../../core/index.ts'
import { type FileFacts, toFault } from '../../../world/index.ts'
import type { Chance } from '../chance.ts'
import { type Change, FileInode, FolderInode, type Inode } from './inode.ts'

/** What a user's mask takes away. */
const MASK = 0o022
const NAME_BYTES_MAX = 255
const FOLDER_BYTES = 4096
const SAME_OR_ABOVE: ReadonlySet<string> = new Set(['', '.', '..'])

/** Where a name stands, or would stand. */
interface Spot {
  readonly folder: FolderInode
  readonly name: string
  readonly inode: Inode | null
}

export class Tree {
  readonly root: FolderInode
  readonly uid = 1000
  readonly #clockNs: () => bigint
  #lastNs = 0n
  #inodes = 1
  #changes = 0

  /** `clockNs` is the time in nanoseconds since the epoch; every change gets a later one than the change before. */
  constructor(clockNs: () => bigint) {
    this.#clockNs = clockNs
    this.root = new FolderInode(1, 0o755, this.tick())
  }

  /** The number of the last change of any folder. */
  get changes(): number {
    return this.#changes
  }

  tick(): bigint {
    const nowNs = this.#clockNs()
    this.#lastNs = nowNs > this.#lastNs ? nowNs : this.#lastNs + 1n
    return this.#lastNs
  }

  /** What a path leads to; null when it is not there. */
  find(path: string): Inode | null {
    return this.#walk(path)?.at(-1)?.inode ?? null
  }

  /** The one form of a path that is there. */
  realpath(path: string): string | null {
    const steps = this.#walk(path)
    return steps === null
      ? null
      : `/${steps
          .slice(1)
          .map(({ name }) => name)
          .join('/')}`
  }

  folder(path: string): FolderInode {
    const inode = this.find(path)
    if (inode === null) throw answer('ENOENT')
    if (inode.kind !== 'directory') throw answer('ENOTDIR')
    return inode
  }

  /** Null when the name exists. */
  create(path: string, mode: number): FileInode | null {
    const spot = this.#spot(path)
    if (spot.inode !== null) return null
    const inode = new FileInode(this.#next(), mode & ~MASK, this.tick())
    this.#set(spot.folder, spot.name, inode)
    return inode
  }

  /** Makes the first folder on the way that is missing. False when nothing was missing. */
  mkdirOne(path: string, mode: number): boolean {
    let at = this.root
    const names = namesOf(path)
    for (const [index, name] of names.entries()) {
      const next = at.entries.get(name)
      if (next === undefined) {
        this.#set(at, name, new FolderInode(this.#next(), mode & ~MASK, this.tick()))
        return true
      }
      if (next.kind === 'file') throw answer(index === names.length - 1 ? 'EEXIST' : 'ENOTDIR')
      at = next
    }
    return false
  }

  /** False when the new name exists. */
  link(existing: string, fresh: string): boolean {
    const inode = this.find(existing)
    if (inode === null) throw answer('ENOENT')
    const spot = this.#spot(fresh)
    if (spot.inode !== null) return false
    if (inode.kind !== 'file') throw answer('EPERM')
    this.#set(spot.folder, spot.name, inode)
    inode.changedNs = this.tick()
    return true
  }

  rename(from: string, to: string): void {
    const source = this.#spot(from)
    const target = this.#spot(to)
    const { inode } = source
    if (inode === null) throw answer('ENOENT')
    if (inode.kind === 'directory' && this.#isOn(inode, to)) {
      if (inode === target.inode) return
      throw answer('EINVAL')
    }
    if (target.inode !== null) {
      if (target.inode.kind === 'directory' && this.#isOn(target.inode, from)) throw answer('ENOTEMPTY')
      if (target.inode === inode) return // two names of one file: the system leaves both
      if (inode.kind === 'directory' && target.inode.kind === 'file') throw answer('ENOTDIR')
      if (inode.kind === 'file' && target.inode.kind === 'directory') throw answer('EISDIR')
      if (target.inode.kind === 'directory' && target.inode.entries.size > 0) throw answer('ENOTEMPTY')
    }
    this.#change([
      { folder: source.folder, name: source.name, inode: null },
      { folder: target.folder, name: target.name, inode },
    ])
    inode.changedNs = this.tick()
  }

  unlink(path: string): void {
    const { folder, name, inode } = this.#spot(path)
    if (inode === null) throw answer('ENOENT')
    if (inode.kind === 'directory') throw answer('EISDIR')
    this.#set(folder, name, null)
    inode.changedNs = this.tick()
  }

  chmod(path: string, mode: number): void {
    const inode = this.find(path)
    if (inode === null) throw answer('ENOENT')
    inode.mode = mode
    inode.changedNs = this.tick()
  }

  append(inode: FileInode, bytes: Uint8Array): void {
    if (bytes.length === 0) return
    inode.append(bytes)
    inode.modifiedNs = this.tick()
    inode.changedNs = inode.modifiedNs
  }

  factsOf(inode: Inode): FileFacts {
    return {
      kind: inode.kind,
      size: inode.kind === 'file' ? inode.size : FOLDER_BYTES,
      mode: inode.mode,
      ownerUid: this.uid,
      links: inode.links,
      inode: BigInt(inode.number),
      modifiedNs: inode.modifiedNs,
      changedNs: inode.changedNs,
    }
  }

  /** Everything is durable at once: how a disk is set up. */
  put(path: string, bytes: Uint8Array, mode: number): void {
    const above = namesOf(path).slice(0, -1)
    while (this.mkdirOne(`/${above.join('/')}`, 0o755));
    if (this.find(path) !== null) this.unlink(path)
    const file = this.create(path, mode)
    assert(file !== null, 'the name was made free')
    this.append(file, bytes)
    file.mode = mode
    file.durableMode = mode
    file.syncTo(file.size)
    for (let depth = 0; depth <= above.length; depth += 1) {
      this.folder(`/${above.slice(0, depth).join('/')}`).syncTo(this.#changes)
    }
  }

  /** What a path would lead to after a power failure that takes everything that was not synced. */
  findDurable(path: string): Inode | null {
    let at: Inode = this.root
    for (const name of namesOf(path)) {
      if (at.kind === 'file') return null
      const next: Inode | undefined = at.durable.get(name)
      if (next === undefined) return null
      at = next
    }
    return at
  }

  /**
   * The power fails: what is left is what can still be reached, and chance decides about what was not synced. Says how many
   * files have holes.
   */
  losePower(chance: Chance, sectorBytes: number): number {
    const links = new Map<FileInode, number>()
    const visit = (folder: FolderInode): void => {
      folder.losePower(chance)
      for (const inode of folder.entries.values()) {
        if (inode.kind === 'directory') visit(inode)
        else links.set(inode, (links.get(inode) ?? 0) + 1)
      }
    }
    visit(this.root)
    let holed = 0
    for (const [file, count] of links) {
      if (file.losePower(chance, sectorBytes)) holed += 1
      file.links = count
    }
    return holed
  }

  #spot(path: string): Spot {
    const end = path.lastIndexOf('/')
    const name = path.slice(end + 1)
    assert(!SAME_OR_ABOVE.has(name), 'what is made or removed has a name of its own')
    const folder = this.folder(path.slice(0, end + 1))
    if (name.length > NAME_BYTES_MAX) throw answer('ENAMETOOLONG')
    return { folder, name, inode: folder.entries.get(name) ?? null }
  }

  /** The root, and what each name on the way leads to; null when one of them is not there. */
  #walk(path: string): readonly { readonly name: string; readonly inode: Inode }[] | null {
    assert(path.startsWith('/'), 'a simulated disk knows absolute paths only')
    const steps: { readonly name: string; readonly inode: Inode }[] = [{ name: '', inode: this.root }]
    for (const name of path.slice(1).split('/')) {
      const above = steps.at(-1)?.inode
      if (above?.kind !== 'directory') throw answer('ENOTDIR')
      if (name.length > NAME_BYTES_MAX) throw answer('ENAMETOOLONG')
      if (!SAME_OR_ABOVE.has(name)) {
        const inode = above.entries.get(name)
        if (inode === undefined) return null
        steps.push({ name, inode })
      } else if (name === '..' && steps.length > 1) steps.pop()
    }
    return steps
  }

  /** Whether this folder lies on the way to a path, or at its end. */
  #isOn(folder: FolderInode, path: string): boolean {
    let at: Inode | undefined = this.root
    for (const name of namesOf(path)) {
      if (at?.kind !== 'directory') return false
      at = at.entries.get(name)
      if (at === folder) return true
    }
    return false
  }

  #set(folder: FolderInode, name: string, inode: Inode | null): void {
    this.#change([{ folder, name, inode }])
  }

  #change(sets: Change['sets']): void {
    this.#changes += 1
    const change: Change = { order: this.#changes, sets, state: 'pending' }
    for (const { folder, name, inode } of sets) {
      const before = folder.entries.get(name)
      if (before?.kind === 'file') before.links -= 1
      if (inode?.kind === 'file') inode.links += 1
      if (inode === null) folder.entries.delete(name)
      else folder.entries.set(name, inode)
      if (folder.pending.at(-1) !== change) folder.pending.push(change)
      folder.modifiedNs = this.tick()
      folder.changedNs = folder.modifiedNs
    }
  }

  #next(): number {
    this.#inodes += 1
    return this.#inodes
  }
}

/** The names on a path that has neither `.` nor `..`. */
export function namesOf(path: string): readonly string[] {
  assert(path.startsWith('/'), 'a simulated disk knows absolute paths only')
  const names = path.split('/').filter((name) => name !== '')
  assert(!names.some((name) => SAME_OR_ABOVE.has(name)), 'the path is in its one form')
  return names
}

/** What the real files throw when the system gives this answer. */
export function answer(errno: string): Error {
  return toFault(Object.assign(new Error(`${errno}: the simulated disk said so`), { code: errno }))
}
