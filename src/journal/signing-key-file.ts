/**
 * The project's signing key on disk: 32 raw bytes in a private file, made once without ever replacing another. Losing the
 * race of making it means using the winner's.
 */
import { join } from 'node:path'
import { Fault, isFault } from '../core/index.ts'
import { type SigningKey, signingKeyOf } from '../keys/index.ts'
import { ensurePrivateDirectory, isTemporaryOf, publishPrivateFile, readPrivateFile } from '../store/index.ts'
import type { World } from '../world/index.ts'

export const SIGNING_KEY_NAME = 'audit-signing.key'
const SEED_BYTES = 32
const RULE = { what: 'signing key', bytesMax: 4096 } // the exact size is judged below, with a hint of its own
const RACE_MS = 2000
const RETRY_MS = 10

/** The key of the governed folder, made if it is absent. Throws `STORAGE_UNSAFE` or `KEY_INVALID`, writing nothing. */
export async function openSigningKey(world: World, directory: string): Promise<SigningKey> {
  await ensurePrivateDirectory(world, directory, 'governed folder')
  return (
    (await readSigningKey(world, directory)) ?? (await oneAtATime(world, directory, () => makeKey(world, directory)))
  )
}

/**
 * The key of the governed folder, or null when there is none. Never makes one. Throws `KEY_INVALID` when the file has
 * not the size of a key, and `STORAGE_*` when it is not private to this user or cannot be read.
 */
export async function readSigningKey(world: World, directory: string): Promise<SigningKey | null> {
  const seed = await readSeed(world, directory)
  if (seed === null) return null
  if (seed.length === SEED_BYTES) return signingKeyOf(seed)
  throw new Fault('KEY_INVALID', {
    message: `Cannot use the signing key: it holds ${seed.length} bytes and a key has ${SEED_BYTES}`,
    hint: `Restore the file "${SIGNING_KEY_NAME}" from its backup; it is never made anew while one lies there`,
  })
}

async function makeKey(world: World, directory: string): Promise<SigningKey> {
  const known = await readSigningKey(world, directory)
  if (known !== null) return known // made while we waited for our turn
  await publishPrivateFile(world, directory, SIGNING_KEY_NAME, world.random.bytes(SEED_BYTES))
  const made = await readSigningKey(world, directory)
  if (made !== null) return made
  throw new Fault('KEY_INVALID', { message: 'Cannot use the signing key: it vanished while it was made' })
}

/**
 * While another process publishes the key, the file has two links for a moment: look again, but not for ever. A refusal
 * stands only after a second look, because the publication may have ended between the refusal and our question.
 */
async function readSeed(world: World, directory: string): Promise<Uint8Array | null> {
  const deadlineMs = world.clock.monotonicMs() + RACE_MS
  for (let settled = false; ; ) {
    try {
      return await readPrivateFile(world, join(directory, SIGNING_KEY_NAME), RULE)
    } catch (error) {
      if (settled || !isFault(error, 'STORAGE_UNSAFE')) throw error
      const temporary = await publicationUnderWay(world, directory)
      if (temporary === null) settled = true
      else if (world.clock.monotonicMs() >= deadlineMs) throw leftOver(temporary, error)
      else await world.clock.sleep(RETRY_MS, new AbortController().signal)
    }
  }
}

/** The temporary name that is the key's second link, or null when there is no such thing. */
async function publicationUnderWay(world: World, directory: string): Promise<string | null> {
  const key = await world.files.lstat(join(directory, SIGNING_KEY_NAME))
  if (key?.kind !== 'file' || key.links !== 2) return null
  for (const name of (await world.files.list(directory)) ?? []) {
    if (!isTemporaryOf(SIGNING_KEY_NAME, name)) continue
    const facts = await world.files.lstat(join(directory, name))
    if (facts?.inode === key.inode) return name
  }
  return null
}

/** A process died between the link and the unlink. We do not remove the name: it may be alive and slow. */
function leftOver(temporary: string, cause: unknown): Fault {
  return new Fault('STORAGE_UNSAFE', {
    message: 'Cannot use the signing key: the process that made it stopped halfway and left it a second name',
    hint: `Make sure that no process of this project is starting, then remove "${temporary}" from the folder of "${SIGNING_KEY_NAME}"; the key itself is complete and stays`,
    facts: { leftover: temporary },
    cause,
  })
}

/** Of each World by itself: a simulated process that died in its turn must not keep the next one waiting. */
const turnsOf = new WeakMap<World, Map<string, Promise<unknown>>>()

/** Creations within one process take turns, so that none sees the other's second link. */
async function oneAtATime<T>(world: World, directory: string, work: () => Promise<T>): Promise<T> {
  const turns = turnsOf.get(world) ?? new Map<string, Promise<unknown>>()
  turnsOf.set(world, turns)
  const before = turns.get(directory) ?? Promise.resolve()
  const mine = before.then(work, work)
  turns.set(directory, mine)
  try {
    return await mine
  } finally {
    if (turns.get(directory) === mine) turns.delete(directory)
  }
}
