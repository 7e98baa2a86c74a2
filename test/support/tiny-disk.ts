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
}

/** A mounted disk of `kib` KiB, or the reason why there is none. */
export function tinyDisk(kib: number): TinyDisk | string {
  if (process.platform !== 'linux') return 'a memory disk is mounted on Linux only'
  if (process.getuid?.() !== 0) return 'only root may mount a disk'
  const path = mkdtempSync(join(tmpdir(), 'symbi-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k,mode=0700`, 'tmpfs', path], { stdio: 'pipe' })
  } catch {
    rmdirSync(path)
    return 'this machine does not let its root mount a disk'
  }
  return {
    path,
    remountReadOnly: () => void execFileSync('mount', ['-o', 'remount,ro', path], { stdio: 'pipe' }),
    [Symbol.dispose]: () => {
      execFileSync('umount', ['-l', path], { stdio: 'pipe' })
      rmdirSync(path)
    },
  }
}
