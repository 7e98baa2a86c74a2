/**
 * Locks: exclusive, belonging to an open file, gone with the process that held it. Waiting is bounded and polls, because
 * the kernel's own wait would block a thread.
 */
import { Fault } from '../core/index.ts'
import type { OpenFile, World } from '../world/index.ts'
import { PRIVATE_FILE_MODE } from './private-directory.ts'
import { openPrivateFile } from './private-file.ts'

const RETRY_MS = 10

export interface HeldLock extends AsyncDisposable {
  release(): Promise<void>
}

/** Takes the lock on a private lock file, creating it, or throws `STORAGE_BUSY` after `waitMs`. */
export async function takeLock(
  world: World,
  path: string,
  what: string,
  waitMs: number,
  signal: AbortSignal,
): Promise<HeldLock> {
  const file = await openLockFile(world, path, what)
  const deadlineMs = world.clock.monotonicMs() + waitMs
  try {
    while (!(await file.tryLock())) {
      if (world.clock.monotonicMs() >= deadlineMs) throw busy(what, waitMs)
      await world.clock.sleep(RETRY_MS, signal)
    }
    return held(file)
  } catch (error) {
    await file.close()
    throw error
  }
}

/** The lock, or null when somebody holds it. Never waits. */
export async function tryLockFile(world: World, path: string, what: string): Promise<HeldLock | null> {
  const file = await openLockFile(world, path, what)
  try {
    if (await file.tryLock()) return held(file)
  } catch (error) {
    await file.close()
    throw error
  }
  await file.close()
  return null
}

function held(file: OpenFile): HeldLock {
  const release = (): Promise<void> => file.close() // closing the open file ends its lock
  return { release, [Symbol.asyncDispose]: release }
}

async function openLockFile(world: World, path: string, what: string): Promise<OpenFile> {
  const file =
    (await world.files.create(path, PRIVATE_FILE_MODE)) ??
    (await openPrivateFile(world, path, 'lock', { what, bytesMax: 64 * 1024 }))
  if (file === null) throw busy(what, 0)
  return file
}

function busy(what: string, waitMs: number): Fault {
  return new Fault('STORAGE_BUSY', {
    message: `Cannot take the ${what}: somebody else held it for ${waitMs} ms`,
    hint: 'Try the same request again later; nothing was changed',
  })
}
