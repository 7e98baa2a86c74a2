/**
 * Publishing: a small private file appears whole, durable and under its final name, or not at all, and never replaces
 * another. Node has no rename that refuses to replace, so the synced temporary file is linked and then unlinked.
 *
 * A crash between the two leaves the final name with a second link. Its readers refuse it and say which name to remove;
 * nothing here removes what another process may still be using.
 */
import { join } from 'node:path'
import { Fault } from '../core/index.ts'
import type { OpenFile, World } from '../world/index.ts'
import { PRIVATE_FILE_MODE } from './private-directory.ts'

export type Published = 'published' | 'exists'

export async function publishPrivateFile(
  world: World,
  directory: string,
  name: string,
  bytes: Uint8Array,
): Promise<Published> {
  const temporary = await writeTemporary(world, directory, name, bytes)
  const fresh = await orRemove(world, temporary, world.files.link(temporary, join(directory, name)))
  await world.files.unlink(temporary)
  await world.files.syncDirectory(directory) // also when another won: what we call existing survives a crash
  return fresh ? 'published' : 'exists'
}

/** Replaces a file of settings atomically. Never for evidence. */
export async function replacePrivateFile(
  world: World,
  directory: string,
  name: string,
  bytes: Uint8Array,
): Promise<void> {
  const temporary = await writeTemporary(world, directory, name, bytes)
  await orRemove(world, temporary, world.files.rename(temporary, join(directory, name)))
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
  await orRemove(world, path, writeAndClose(file, bytes))
  return path
}

async function writeAndClose(file: OpenFile, bytes: Uint8Array): Promise<void> {
  try {
    await file.append(bytes)
    await file.syncAll()
  } catch (error) {
    await file.close().catch(() => undefined)
    throw error
  }
  await file.close()
}

/** The first failure is the one that is told; a temporary file that cannot be removed either is only left behind. */
async function orRemove<T>(world: World, temporary: string, step: Promise<T>): Promise<T> {
  try {
    return await step
  } catch (error) {
    await world.files.unlink(temporary).catch(() => undefined)
    throw error
  }
}
