/**
 * A World whose disk fails on command: the n-th use of an operation fails like the system would, writes short, or waits
 * at a gate until the test lets it go on. Everything else is the World it wraps. Also counts and lists what was done.
 */
import type { Fault } from '../../src/core/index.ts'
import { type Files, type OpenFile, toFault, type World } from '../../src/world/index.ts'

export type DiskOperation =
  | 'lstat'
  | 'mkdir'
  | 'list'
  | 'open'
  | 'create'
  | 'link'
  | 'rename'
  | 'unlink'
  | 'syncDirectory'
  | 'facts'
  | 'sizeNow'
  | 'read'
  | 'append'
  | 'syncData'
  | 'syncAll'
  | 'tryLock'
  | 'close'

export interface Trouble {
  readonly on: DiskOperation
  /** 1 is the next use after the trouble was added; `always` goes on for ever. Default 1. */
  readonly nth?: number | 'always'
  /** Only uses of paths that contain this text count. */
  readonly path?: string
  /** The system's answer, such as ENOSPC, EIO or EROFS. Without it, the operation succeeds. */
  readonly errno?: string
  /** `append` only: this many bytes reach the file before the answer comes. */
  readonly shortBytes?: number
  /** Called before the operation (or, with `errno`, before it fails). */
  readonly before?: () => void | Promise<void>
  /** Waits here before the operation goes on. */
  readonly gate?: Gate
  /** The operation is carried out, and only then fails: the bytes are there, the answer is not. */
  readonly late?: boolean
}

/** Opened by the test; `reached` resolves when the operation has come to it. No sleeps, no guesses. */
export interface Gate {
  readonly reached: Promise<void>
  readonly open: () => void
  /** For the disk. */
  pass(): Promise<void>
}

export function gate(): Gate {
  let arrive = (): void => undefined
  let open = (): void => undefined
  const reached = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return {
    reached,
    open,
    pass: () => {
      arrive()
      return opened
    },
  }
}

export interface FaultyWorld extends World {
  /** Every use so far, as `operation name`, in order. */
  readonly done: readonly string[]
  count(operation: DiskOperation): number
  add(...troubles: readonly Trouble[]): void
}

/** Trouble for every file operation that the promises of `Files` let fail. Errors are those of the real maker. */
export function faultyWorld(inner: World, script: readonly Trouble[] = []): FaultyWorld {
  const done: string[] = []
  let troubles: { trouble: Trouble; left: number }[] = []
  const add = (...more: readonly Trouble[]): void => {
    for (const trouble of more) {
      troubles.push({ trouble, left: trouble.nth === 'always' ? Number.POSITIVE_INFINITY : (trouble.nth ?? 1) })
    }
  }
  add(...script)

  const due = (on: DiskOperation, path: string): Trouble | null => {
    done.push(`${on} ${path.slice(path.lastIndexOf('/') + 1)}`)
    let found: Trouble | null = null
    for (const row of troubles) {
      if (row.trouble.on !== on || (row.trouble.path !== undefined && !path.includes(row.trouble.path))) continue
      if (row.left === Number.POSITIVE_INFINITY) found ??= row.trouble
      else {
        row.left -= 1
        if (row.left === 0) found ??= row.trouble
      }
    }
    troubles = troubles.filter(({ left }) => left > 0)
    return found
  }
  const act = async <T>(on: DiskOperation, path: string, work: () => Promise<T>): Promise<T> => {
    const trouble = due(on, path)
    if (trouble === null) return await work()
    await trouble.before?.()
    await trouble.gate?.pass()
    if (trouble.errno === undefined) return await work()
    if (trouble.late === true) await work()
    throw answer(trouble.errno)
  }

  const wrapOpen = async (path: string, opened: Promise<OpenFile | null>): Promise<OpenFile | null> => {
    const file = await opened
    return file === null ? null : wrap(path, file)
  }
  const wrap = (path: string, file: OpenFile): OpenFile => {
    const close = (): Promise<void> => act('close', path, () => file.close())
    return {
      facts: () => act('facts', path, () => file.facts()),
      sizeNow: () => {
        const errno = due('sizeNow', path)?.errno
        if (errno !== undefined) throw answer(errno)
        return file.sizeNow()
      },
      read: (position, length) => act('read', path, () => file.read(position, length)),
      readAll: (bytesMax) => act('read', path, () => file.readAll(bytesMax)),
      append: async (bytes) => {
        const trouble = due('append', path)
        await trouble?.before?.()
        await trouble?.gate?.pass()
        if (trouble?.errno === undefined) return await file.append(bytes)
        const reached = trouble.late === true ? bytes.length : (trouble.shortBytes ?? 0)
        if (reached > 0) await file.append(bytes.subarray(0, reached))
        throw answer(trouble.errno)
      },
      syncData: () => act('syncData', path, () => file.syncData()),
      syncAll: () => act('syncAll', path, () => file.syncAll()),
      tryLock: () => act('tryLock', path, () => file.tryLock()),
      close,
      [Symbol.asyncDispose]: close,
    }
  }

  const { files } = inner
  const faulty: Files = {
    uid: files.uid,
    durable: files.durable,
    realpath: (path) => files.realpath(path),
    lstat: (path) => act('lstat', path, () => files.lstat(path)),
    mkdir: (path, mode) => act('mkdir', path, () => files.mkdir(path, mode)),
    list: (path) => act('list', path, () => files.list(path)),
    open: (path, how) => act('open', path, () => wrapOpen(path, files.open(path, how))),
    create: (path, mode, appends) => act('create', path, () => wrapOpen(path, files.create(path, mode, appends))),
    link: (existing, fresh) => act('link', fresh, () => files.link(existing, fresh)),
    rename: (from, to) => act('rename', to, () => files.rename(from, to)),
    unlink: (path) => act('unlink', path, () => files.unlink(path)),
    chmod: (path, mode) => files.chmod(path, mode),
    syncDirectory: (path) => act('syncDirectory', path, () => files.syncDirectory(path)),
    factsNow: (path) => files.factsNow(path),
    place: (path) => files.place(path),
  }
  return {
    ...inner,
    files: faulty,
    done,
    count: (operation) => done.filter((line) => line.startsWith(`${operation} `)).length,
    add,
  }
}

function answer(errno: string): Fault {
  return toFault(Object.assign(new Error(`${errno}: the test said so`), { code: errno }))
}
