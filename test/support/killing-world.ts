/**
 * The real World, in a process that ends itself without a word at the n-th write: before it, in the middle of its bytes, or
 * right after they were synced and before anybody was told. Journals and claims alone end in `.jsonl`; whoever wants more
 * watches everything that survives the process: the bytes of every file, and every name that is made, moved or removed.
 */
import { basename } from 'node:path'
import { type Files, nodeWorld, type OpenFile, type World } from '../../src/world/index.ts'

export type Moment = 'before' | 'torn' | 'after'

export interface KillPoint {
  /** 1 is the first write of the process. */
  readonly nth: number
  readonly moment: Moment
}

export interface Write {
  /** `name`: a name was made, moved or removed. It has no middle. */
  readonly kind: 'bytes' | 'name'
  /** Of the file. */
  readonly name: string
  /** The system did not carry it out. */
  failed?: true
}

export interface KillingWorld extends World {
  readonly done: readonly Write[]
  /** The files that were written to, by name, one entry a write. */
  readonly writes: readonly string[]
  /** How often the data of a watched file was synced. */
  readonly syncs: number
  readonly promised: PromisedSyncs
}

/** What the system must have been asked for, at least: we said that it is durable. */
export interface PromisedSyncs {
  /** Syncs of data that was appended since the last one. */
  readonly data: number
  /** Syncs of whole files and of folders. */
  readonly whole: number
}

/** Without a point it only counts. */
export function killingWorld(point: KillPoint | null, watched: 'lines' | 'everything' = 'lines'): KillingWorld {
  const real = nodeWorld()
  const done: Write[] = []
  let syncs = 0
  const promised = { data: 0, whole: 0 }
  const isDue = (kind: Write['kind'], path: string): boolean => {
    done.push({ kind, name: basename(path) })
    return done.length === point?.nth
  }
  /** What fails is told, and marked. */
  const carriedOut = async <T>(work: () => Promise<T>): Promise<T> => {
    const write = done.at(-1)
    try {
      return await work()
    } catch (error) {
      if (write !== undefined) write.failed = true
      throw error
    }
  }
  const append = async (file: OpenFile, path: string, bytes: Uint8Array): Promise<void> => {
    if (!isDue('bytes', path)) return await carriedOut(() => file.append(bytes))
    if (point?.moment === 'before') return await dead()
    await file.append(point?.moment === 'torn' ? bytes.subarray(0, tornAt(bytes)) : bytes)
    await file.syncData()
    await dead()
  }
  const isWatched = (path: string): boolean => watched === 'everything' || path.endsWith('.jsonl')
  const wrap = (file: OpenFile | null, path: string): OpenFile | null => {
    if (file === null || !isWatched(path)) return file
    let isOwed = false
    const syncData = async (): Promise<void> => {
      syncs += 1
      const owed = isOwed
      isOwed = false
      await file.syncData()
      if (owed) promised.data += 1
    }
    return {
      ...file,
      append: (bytes) => {
        isOwed = true
        return append(file, path, bytes)
      },
      syncData,
      syncAll: async () => {
        await file.syncAll()
        promised.whole += 1
      },
      [Symbol.asyncDispose]: () => file.close(),
    }
  }
  const named = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
    if (watched === 'lines') return await work()
    if (!isDue('name', path)) return await carriedOut(work)
    if (point?.moment === 'before') return await dead()
    await work()
    return await dead()
  }
  const { files: inner } = real
  const files: Files = {
    ...inner,
    open: async (path, how) => wrap(await inner.open(path, how), path),
    create: async (path, mode, appends) => wrap(await named(path, () => inner.create(path, mode, appends)), path),
    mkdir: (path, mode) => named(path, () => inner.mkdir(path, mode)),
    link: (existing, fresh) => named(fresh, () => inner.link(existing, fresh)),
    rename: (from, to) => named(to, () => inner.rename(from, to)),
    unlink: (path) => named(path, () => inner.unlink(path)),
    syncDirectory: async (path) => {
      await inner.syncDirectory(path)
      promised.whole += 1
    },
  }
  return {
    ...real,
    files,
    done,
    promised,
    get writes() {
      return done.map(({ name }) => name)
    },
    get syncs() {
      return syncs
    },
  }
}

const NEWLINE = 0x0a

/** About half of the bytes, and never the end of a line: what was written must be seen to be torn. */
function tornAt(bytes: Uint8Array): number {
  const half = Math.ceil(bytes.length / 2)
  return bytes[half - 1] === NEWLINE ? half - 1 : half
}

/** Never resolves: whatever waits for the write sees nothing of it. */
function dead(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => undefined)
}
