/**
 * Missing folders are made here, level by level. Not by Node's `recursive`: it takes "not there" for a missing parent for as
 * long as it is told so, and a system file such as /proc says that of every name under a parent which is there: it never ends.
 */
import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import { errnoOf } from './file-faults.ts'

/** Fails with what the system answered. Every level is asked for at most twice: on the way up, and on the way down. */
export async function makeFolder(path: string, mode: number): Promise<void> {
  const missing: string[] = []
  for (let at = path; !(await made(at, mode)); at = dirname(at)) {
    if (dirname(at) === at) break // the root is not there: the first step down says so
    missing.push(at)
  }
  for (const at of missing.reverse()) await fs.mkdir(at, mode).catch((error: unknown) => leaveFolder(at, error))
}

/** Whether it is there now; false when its parent seems to be missing. */
async function made(path: string, mode: number): Promise<boolean> {
  try {
    await fs.mkdir(path, mode)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    await leaveFolder(path, error)
  }
  return true
}

/** A folder that is there already, also behind a link, is as good as one that was made. */
async function leaveFolder(path: string, error: unknown): Promise<void> {
  const isFolder = await fs.stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  if (!isFolder) throw error
}
