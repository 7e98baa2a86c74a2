/**
 * Real files. Every open refuses links in its last component and never blocks; facts come from the handle.
 *
 * Locks are Linux OFD locks (or their like elsewhere) from a native binding that is loaded at the first lock: they belong
 * to the open file, exclude a second open file of the same process, and end with `kill -9`.
 */
import { type BigIntStats, constants, fstatSync, statSync, write } from 'node:fs'
import * as fs from 'node:fs/promises'
import { createRequire } from 'node:module'
import { Fault } from '../core/index.ts'
import { errnoOf, toFault, tooLong } from './file-faults.ts'
import { makeFolder } from './make-folder.ts'
import { openPlace } from './node-places.ts'
import type { FileFacts, FileKind, Files, OpenFile } from './world.ts'

const { O_RDONLY, O_RDWR, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY, O_DSYNC } = constants

/**
 * On Linux such a write returns when `fdatasync` after it would have returned, with one trip through the thread pool
 * instead of two. Elsewhere it may stop at the drive's own cache, where Node's `datasync` does not.
 */
const SYNCED_WRITES = process.platform === 'linux'

export function nodeFiles(): Files {
  return {
    uid: process.geteuid?.() ?? -1,
    durable: process.platform === 'linux' || process.platform === 'darwin',
    realpath: (path) => absentAsNull(fs.realpath(path)),
    lstat: async (path) => {
      const stats = await absentAsNull(fs.lstat(path, { bigint: true }))
      return stats === null ? null : factsOf(stats)
    },
    mkdir: (path, mode) => told(makeFolder(path, mode)),
    list: (path) => absentAsNull(fs.readdir(path)),
    open: async (path, how) => {
      const flags = how === 'read' ? O_RDONLY : how === 'append' ? O_RDWR | O_APPEND : O_RDWR
      const handle = await absentAsNull(fs.open(path, flags | O_NOFOLLOW | O_NONBLOCK))
      return handle === null ? null : openFile(handle)
    },
    create: async (path, mode, appends) => {
      const synced = appends === 'synced' && SYNCED_WRITES
      const flags = O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | (synced ? O_DSYNC : 0)
      try {
        return openFile(await fs.open(path, flags, mode), synced)
      } catch (error) {
        if (errnoOf(error) === 'EEXIST') return null
        throw toFault(error)
      }
    },
    link: async (existing, fresh) => {
      try {
        await fs.link(existing, fresh)
        return true
      } catch (error) {
        if (errnoOf(error) === 'EEXIST') return false
        throw toFault(error)
      }
    },
    rename: (from, to) => told(fs.rename(from, to)),
    unlink: (path) => told(fs.unlink(path)),
    chmod: (path, mode) => told(fs.chmod(path, mode)),
    syncDirectory: async (path) => {
      const handle = await told(fs.open(path, O_RDONLY | O_DIRECTORY))
      try {
        await told(handle.sync())
      } finally {
        await handle.close()
      }
    },
    factsNow: (path) => {
      try {
        const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
        return stats === undefined ? null : factsOf(stats)
      } catch (error) {
        throw toFault(error)
      }
    },
    place: openPlace,
  }
}

/** `synced`: every write to the handle is durable when it returns. */
export function openFile(handle: fs.FileHandle, synced = false): OpenFile {
  let closed: Promise<void> | null = null
  let unsynced = !synced
  let failed = false
  let writes = 0
  let atRest = (): void => undefined
  const close = (): Promise<void> => {
    closed ??= (async () => {
      if (writes > 0) await new Promise<void>((resolve) => (atRest = resolve)) // the number of a closed file may be another's
      await told(handle.close())
    })()
    return closed
  }
  return {
    facts: async () => factsOf(await told(handle.stat({ bigint: true }))),
    sizeNow: () => {
      try {
        return fstatSync(handle.fd).size
      } catch (error) {
        throw toFault(error)
      }
    },
    read: async (position, length) => {
      const bytes = Buffer.allocUnsafe(length)
      let filled = 0
      while (filled < length) {
        const { bytesRead } = await told(handle.read(bytes, filled, length - filled, position + filled))
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return bytes.subarray(0, filled)
    },
    async readAll(bytesMax) {
      const { size } = await told(handle.stat())
      if (size > bytesMax) throw tooLong(size, bytesMax)
      const bytes = await this.read(0, size)
      const beyond = await this.read(bytes.length, 1)
      if (beyond.length > 0 && bytes.length >= bytesMax) throw tooLong(bytes.length + 1, bytesMax)
      return bytes
    },
    append: async (bytes) => {
      if (bytes.length === 0) return // nothing is asked of the system
      if (closed !== null) throw toFault(Object.assign(new Error('the file is closed'), { code: 'EBADF' }))
      unsynced = true
      let written = 0
      writes += 1
      try {
        while (written < bytes.length) {
          const taken = await told(writeFrom(handle.fd, bytes, written))
          if (taken === 0) throw new Fault('STORAGE_FAILED', { message: 'Cannot write: the disk took no bytes' })
          written += taken
        }
      } catch (error) {
        failed = true // what it left behind is not durable, whatever is written behind it
        throw error
      } finally {
        writes -= 1
        if (writes === 0) atRest()
      }
      unsynced = !synced || failed || writes > 0
    },
    syncData: () => (unsynced || closed !== null ? told(handle.datasync()) : Promise.resolve()),
    syncAll: () => told(handle.sync()),
    tryLock: async () => {
      try {
        return locks().tryLock(handle.fd)
      } catch (error) {
        throw toFault(error)
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** How many bytes the system took, from this place in them on. The handle's own method takes a third longer. */
function writeFrom(fd: number, bytes: Uint8Array, start: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, start, bytes.length - start, null, (error, taken) => {
      if (error === null) resolve(taken)
      else reject(error)
    })
  })
}

interface Locks {
  tryLock(fd: number): boolean
}
let loadedLocks: Locks | null = null

/** The binding is CommonJS and native: loaded when the first lock is taken, so that reading a journal never needs it. */
function locks(): Locks {
  loadedLocks ??= createRequire(import.meta.url)('fs-native-extensions') as Locks
  return loadedLocks
}

export function factsOf(stats: BigIntStats): FileFacts {
  return {
    kind: kindOf(stats),
    size: Number(stats.size),
    mode: Number(stats.mode & 0o7777n),
    ownerUid: Number(stats.uid),
    links: Number(stats.nlink),
    inode: stats.ino,
    modifiedNs: stats.mtimeNs,
    changedNs: stats.ctimeNs,
  }
}

function kindOf(stats: BigIntStats): FileKind {
  if (stats.isFile()) return 'file'
  if (stats.isDirectory()) return 'directory'
  return stats.isSymbolicLink() ? 'link' : 'other'
}

export async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw toFault(error)
  }
}

export async function absentAsNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw toFault(error)
  }
}
