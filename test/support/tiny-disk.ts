/**
 * A real disk of a few pages, for tests that fill it. Needs Linux and root; elsewhere it says why it is not there, and
 * the tests that want it are skipped with that reason.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TinyDisk extends Disposable {
  readonly path: string
  remountReadOnly(): void
  /** Makes it larger, or smaller as far as its files allow. */
  resize(kib: number): void
}

/** Null when `tinyDisk` works here, or the reason why it does not. */
export function whyNoTinyDisk(): string | null {
  if (process.platform !== 'linux') return 'a memory disk is mounted on Linux only'
  if (process.getuid?.() !== 0) return 'only root may mount a disk'
  try {
    tinyDisk(16)[Symbol.dispose]()
    return null
  } catch {
    return 'this machine does not let its root mount a disk'
  }
}

/** A mounted disk of `kib` KiB, mode 0700, over an empty folder, which goes with it. Its owner disposes of it. */
export function tinyDisk(kib: number, path = mkdtempSync(join(tmpdir(), 'symbi-disk-'))): TinyDisk {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k,mode=0700`, 'tmpfs', path], { stdio: 'pipe' })
  } catch (error) {
    rmdirSync(path)
    throw error
  }
  return {
    path,
    remountReadOnly: () => void execFileSync('mount', ['-o', 'remount,ro', path], { stdio: 'pipe' }),
    resize: (wanted) => void execFileSync('mount', ['-o', `remount,size=${wanted}k`, path], { stdio: 'pipe' }),
    [Symbol.dispose]: () => {
      execFileSync('umount', ['-l', path], { stdio: 'pipe' })
      rmdirSync(path)
    },
  }
}
