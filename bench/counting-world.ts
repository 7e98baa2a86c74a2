/**
 * A World that counts what its files are asked to make durable, and notes it down, so that a floor can do the same and
 * nothing else. Everything is done by the World behind it.
 */
import type { Files, OpenFile, World } from '../src/world/index.ts'

/** One use of the disk that changes or syncs it; `file` numbers the files in the order in which they were opened. */
export type DiskUse =
  /** `synced`: each append is followed by its sync, and the system may do both in one call. */
  | { readonly kind: 'create'; readonly file: number; readonly synced: boolean }
  | { readonly kind: 'append'; readonly file: number; readonly bytes: Uint8Array }
  | { readonly kind: 'syncData' | 'syncAll'; readonly file: number }
  | { readonly kind: 'syncDirectory' }

export interface CountingWorld extends World {
  readonly uses: DiskUse[]
  syncs(): number
}

export function countingWorld(inner: World): CountingWorld {
  const uses: DiskUse[] = []
  let opened = 0
  const wrap = (file: OpenFile, number: number): OpenFile => ({
    ...file,
    // `readAll` of the real maker reads through `this`
    readAll: (bytesMax) => file.readAll(bytesMax),
    append: (bytes) => {
      uses.push({ kind: 'append', file: number, bytes })
      return file.append(bytes)
    },
    syncData: () => {
      uses.push({ kind: 'syncData', file: number })
      return file.syncData()
    },
    syncAll: () => {
      uses.push({ kind: 'syncAll', file: number })
      return file.syncAll()
    },
  })
  const files: Files = {
    ...inner.files,
    open: async (path, how) => {
      const file = await inner.files.open(path, how)
      opened += 1
      return file === null ? null : wrap(file, opened)
    },
    create: async (path, mode, appends) => {
      const file = await inner.files.create(path, mode, appends)
      if (file === null) return null
      opened += 1
      uses.push({ kind: 'create', file: opened, synced: appends === 'synced' })
      return wrap(file, opened)
    },
    syncDirectory: (path) => {
      uses.push({ kind: 'syncDirectory' })
      return inner.files.syncDirectory(path)
    },
  }
  return { ...inner, files, uses, syncs: () => uses.filter(({ kind }) => kind.startsWith('sync')).length }
}
