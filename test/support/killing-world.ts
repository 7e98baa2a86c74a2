/**
 * The real World, in a process that ends itself without a word at the n-th write to a journal or a claim: before it, in the
 * middle of its bytes, or right after they were synced and before anybody was told. Journals and claims alone end in `.jsonl`.
 */
import { basename } from 'node:path'
import { type Files, nodeWorld, type OpenFile, type World } from '../../src/world/index.ts'

export type Moment = 'before' | 'torn' | 'after'

export interface KillPoint {
  /** 1 is the first write of the process. */
  readonly nth: number
  readonly moment: Moment
}

export interface KillingWorld extends World {
  /** The files that were written to, by name, one entry a write. */
  readonly writes: readonly string[]
}

/** Without a point it only counts. */
export function killingWorld(point: KillPoint | null): KillingWorld {
  const real = nodeWorld()
  const writes: string[] = []
  const append = async (file: OpenFile, path: string, bytes: Uint8Array): Promise<void> => {
    writes.push(basename(path))
    if (point === null || writes.length !== point.nth) return await file.append(bytes)
    if (point.moment === 'before') return await dead()
    await file.append(point.moment === 'torn' ? bytes.subarray(0, tornAt(bytes)) : bytes)
    await file.syncData()
    await dead()
  }
  const wrap = (file: OpenFile | null, path: string): OpenFile | null => {
    if (file === null || !path.endsWith('.jsonl')) return file
    return { ...file, append: (bytes) => append(file, path, bytes), [Symbol.asyncDispose]: () => file.close() }
  }
  const files: Files = {
    ...real.files,
    open: async (path, how) => wrap(await real.files.open(path, how), path),
    create: async (path, mode, appends) => wrap(await real.files.create(path, mode, appends), path),
  }
  return { ...real, files, writes }
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
