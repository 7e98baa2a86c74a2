/**
 * The project's signing key on disk: 32 raw bytes in a private file, made once without ever replacing another. Losing the
 * race of making it means using the winner's.
 */
import { join } from 'node:path'
import { Fault, isFault } from '../core/index.ts'
import { ensurePrivateDirectory, isTemporaryOf, publishPrivateFile, readPrivateFile } from '../store/index.ts'
import type { World } from '../world/index.ts'
import { type SigningKey, signingKeyOf } from './ed25519.ts'

export const SIGNING_KEY_NAME = 'audit-signing.key'
const RULE = { what: 'signing key', bytesMax: 32 }
const RACE_MS = 2000
const RETRY_MS = 10

/** The key of the governed folder, made if it is absent. Throws `STORAGE_UNSAFE` or `KEY_INVALID`, writing nothing. */
export async function openSigningKey(world: World, directory: string): Promise<SigningKey> {
  await ensurePrivateDirectory(world, directory, 'governed folder')
  const known = await readSigningKey(world, directory)
  if (known !== null) return known
  return await oneAtATime(directory, async () => {
    await publishPrivateFile(world, directory, SIGNING_KEY_NAME, world.random.bytes(32))
    const key = await readSigningKey(world, directory)
    if (key !== null) return key
    throw new Fault('KEY_INVALID', { message: 'Cannot use the signing key: it vanished while it was made' })
  })
}

/** The key of the governed folder, or null when there is none. Never makes one. */
export async function readSigningKey(world: World, directory: string): Promise<SigningKey | null> {
  const seed = await readSeed(world, directory)
  return seed === null ? null : signingKeyOf(seed)
}

/** While another process publishes the key, the file has two links for a moment: look again, but not for ever. */
async function readSeed(world: World, directory: string): Promise<Uint8Array | null> {
  const deadlineMs = world.clock.monotonicMs() + RACE_MS
  for (;;) {
    try {
      return await readPrivateFile(world, join(directory, SIGNING_KEY_NAME), RULE)
    } catch (error) {
      const racing = isFault(error, 'STORAGE_UNSAFE') && (await publicationUnderWay(world, directory))
      if (!racing || world.clock.monotonicMs() >= deadlineMs) throw error
      await world.clock.sleep(RETRY_MS, new AbortController().signal)
    }
  }
}

async function publicationUnderWay(world: World, directory: string): Promise<boolean> {
  const facts = await world.files.lstat(join(directory, SIGNING_KEY_NAME))
  if (facts === null || facts.links !== 2) return false
  const names = (await world.files.list(directory)) ?? []
  return names.some((name) => isTemporaryOf(SIGNING_KEY_NAME, name))
}

const turns = new Map<string, Promise<unknown>>()

/** Creations within one process take turns, so that none sees the other's second link. */
async function oneAtATime<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(directory) ?? Promise.resolve()
  const mine = before.then(work, work)
  turns.set(directory, mine)
  try {
    return await mine
  } finally {
    if (turns.get(directory) === mine) turns.delete(directory)
  }
}
