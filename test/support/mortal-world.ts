/**
 * The real World, in which the process is dead from its n-th write to a journal or a claim on: before the bytes, in the middle
 * of them, or right after they were synced. Its files are closed, so that its locks are gone, and nothing that it waits for
 * ever comes back. What a killed process leaves on disk is there in milliseconds, once for every write.
 */
import { basename } from 'node:path'
import { type Files, nodeWorld, type OpenFile, type World } from '../../src/world/index.ts'
import type { KillPoint } from './killing-world.ts'

export interface MortalWorld extends World {
  /** The files that were written to, by name, one entry a write. */
  readonly writes: readonly string[]
  /** Resolves when the process is dead; never without a point. */
  readonly died: Promise<void>
}

export function mortalWorld(point: KillPoint | null): MortalWorld {
  const real = nodeWorld()
  const writes: string[] = []
  const opened = new Set<OpenFile>()
  let dead = false
  let tell: () => void = () => undefined
  const died = new Promise<void>((resolve) => {
    tell = resolve
  })
  const never = <T>(): Promise<T> => new Promise(() => undefined)
  const die = async <T>(): Promise<T> => {
    dead = true
    await Promise.all([...opened].map((file) => file.close()))
    tell()
    return await never<T>()
  }
  const alive =
    <A extends unknown[], T>(work: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      if (dead) return await never<T>()
      const answer = await work(...given)
      return dead ? await never<T>() : answer
    }
  const append = async (file: OpenFile, path: string, bytes: Uint8Array): Promise<void> => {
    if (!path.endsWith('.jsonl')) return await file.append(bytes)
    writes.push(basename(path))
    if (writes.length !== point?.nth) return await file.append(bytes)
    if (point.moment !== 'before') {
      await file.append(point.moment === 'torn' ? bytes.subarray(0, Math.floor(bytes.length / 2)) : bytes)
      await file.syncData()
    }
    await die()
  }
  const wrap = (file: OpenFile | null, path: string): OpenFile | null => {
    if (file === null) return null
    opened.add(file)
    const close = alive(async () => {
      opened.delete(file)
      await file.close()
    })
    return {
      facts: alive(() => file.facts()),
      sizeNow: () => file.sizeNow(),
      read: alive((position, length) => file.read(position, length)),
      readAll: alive((bytesMax) => file.readAll(bytesMax)),
      append: alive((bytes) => append(file, path, bytes)),
      syncData: alive(() => file.syncData()),
      syncAll: alive(() => file.syncAll()),
      tryLock: alive(() => file.tryLock()),
      close,
      [Symbol.asyncDispose]: close,
    }
  }
  const files: Files = {
    ...real.files,
    realpath: alive((path) => real.files.realpath(path)),
    lstat: alive((path) => real.files.lstat(path)),
    mkdir: alive((path, mode) => real.files.mkdir(path, mode)),
    list: alive((path) => real.files.list(path)),
    open: alive(async (path, how) => wrap(await real.files.open(path, how), path)),
    create: alive(async (path, mode, appends) => wrap(await real.files.create(path, mode, appends), path)),
    link: alive((existing, fresh) => real.files.link(existing, fresh)),
    rename: alive((from, to) => real.files.rename(from, to)),
    unlink: alive((path) => real.files.unlink(path)),
    syncDirectory: alive((path) => real.files.syncDirectory(path)),
  }
  return { ...real, files, writes, died }
}
