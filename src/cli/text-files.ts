/**
 * Files that are meant to be read and edited by people: written whole under a temporary name, synced, then given their own.
 * A crash leaves the old file or the new one.
 */
import { basename, dirname, join } from 'node:path'
import { Fault } from '../core/index.ts'
import type { World } from '../world/index.ts'

const MODE = 0o644

/** False when the name exists; it is then left as it is. */
export async function createTextFile(world: World, path: string, text: string): Promise<boolean> {
  const temporary = await writeTemporary(world, path, text, MODE)
  try {
    return await world.files.link(temporary, path)
  } finally {
    await world.files.unlink(temporary)
    await world.files.syncDirectory(dirname(path))
  }
}

/** The file has exactly the mode that is asked for; without one, what the user's mask leaves of the usual one. */
export async function replaceTextFile(world: World, path: string, text: string, mode?: number): Promise<void> {
  const temporary = await writeTemporary(world, path, text, mode ?? MODE, mode !== undefined)
  try {
    await world.files.rename(temporary, path)
  } catch (error) {
    await world.files.unlink(temporary).catch(() => undefined) // the first failure is the one to tell
    throw error
  }
  await world.files.syncDirectory(dirname(path))
}

/** Text of an editable file, or null when there is none. */
export async function readTextFile(world: World, path: string, bytesMax: number): Promise<string | null> {
  await using file = await world.files.open(path, 'read')
  return file === null ? null : Buffer.from(await file.readAll(bytesMax)).toString('utf8')
}

async function writeTemporary(
  world: World,
  path: string,
  text: string,
  mode: number,
  isExact = false,
): Promise<string> {
  const random = Buffer.from(world.random.bytes(8)).toString('hex')
  const temporary = join(dirname(path), `.${basename(path)}.${random}.tmp`)
  const file = await world.files.create(temporary, mode)
  if (file === null) throw new Fault('STORAGE_FAILED', { message: 'Cannot write a temporary file: its name is taken' })
  try {
    if (isExact) await world.files.chmod(temporary, mode) // the mask of the user may have taken something away
    await file.append(Buffer.from(text))
    await file.syncAll()
  } catch (error) {
    await world.files.unlink(temporary).catch(() => undefined) // the first failure is the one to tell
    throw error
  } finally {
    await file.close()
  }
  return temporary
}
