/**
 * Publishing: a small private file appears whole, durable and under its final name, or not at all, and never replaces
 * another. Node has no rename that refuses to replace, so the synced temporary file is linked and then unlinked.
 */
import { join } from 'node:path'
import { Fault } from '../core/index.ts'
import type { World } from '../world/index.ts'
import { PRIVATE_FILE_MODE } from './private-directory.ts'

export type Published = 'published' | 'exists'

export async function publishPrivateFile(
  world: World,
  directory: string,
  name: string,
  bytes: Uint8Array,
): Promise<Published> {
  const temporary = await writeTemporary(world, directory, name, bytes)
  try {
    const fresh = await world.files.link(temporary, join(directory, name))
    if (!fresh) return 'exists'
  } finally {
    await world.files.unlink(temporary)
  }
  await world.files.syncDirectory(directory)
  return 'published'
}

/** Replaces a file of settings atomically. Never for evidence. */
export async function replacePrivateFile(
  world: World,
  directory: string,
  name: string,
  bytes: Uint8Array,
): Promise<void> {
  const temporary = await writeTemporary(world, directory, name, bytes)
  try {
    await world.files.rename(temporary, join(directory, name))
  } catch (error) {
    await world.files.unlink(temporary)
    throw error
  }
  await world.files.syncDirectory(directory)
}

/** Temporary names of `name` are recognisable, so that a reader can tell a publication under way from a second link. */
export function isTemporaryOf(name: string, candidate: string): boolean {
  return candidate.startsWith(`.${name}.`) && candidate.endsWith('.tmp')
}

async function writeTemporary(world: World, directory: string, name: string, bytes: Uint8Array): Promise<string> {
  const random = Buffer.from(world.random.bytes(12)).toString('hex')
  const path = join(directory, `.${name}.${random}.tmp`)
  const file = await world.files.create(path, PRIVATE_FILE_MODE)
  if (file === null) throw new Fault('STORAGE_FAILED', { message: 'Cannot write a temporary file: its name is taken' })
  try {
    await file.append(bytes)
    await file.syncAll()
  } catch (error) {
    await file.close()
    await world.files.unlink(path)
    throw error
  }
  await file.close()
  return path
}
