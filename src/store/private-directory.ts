/**
 * Private directories: evidence and claims lie only in folders that this user alone may enter. The last component is
 * judged without following links; nothing is ever written into a refused folder, and none is repaired (law 7).
 */
import { dirname } from 'node:path'
import { Fault } from '../core/index.ts'
import { type FileFacts, kindInWords, type World } from '../world/index.ts'

const PRIVATE_DIRECTORY_MODE = 0o700
export const PRIVATE_FILE_MODE = 0o600

/** Makes the folder with mode 0700 if it is absent, then checks it. `what` names it in messages; paths are not told. */
export async function ensurePrivateDirectory(world: World, path: string, what: string): Promise<void> {
  refuseWeakPlatform(world)
  const facts = await world.files.lstat(path)
  const above = facts === null ? await make(world, path) : []
  judge(world, facts ?? (await world.files.lstat(path)), what)
  await nameDurably(world, path, above)
}

/** False when the folder is absent; throws when it is not private. Creates nothing. */
export async function hasPrivateDirectory(world: World, path: string, what: string): Promise<boolean> {
  const facts = await world.files.lstat(path)
  if (facts === null) return false
  judge(world, facts, what)
  return true
}

/** The folders that hold the names that were made. */
async function make(world: World, path: string): Promise<readonly string[]> {
  const above = [dirname(path)]
  for (let parent = dirname(path); (await world.files.lstat(parent)) === null; parent = dirname(parent)) {
    above.push(dirname(parent))
  }
  await world.files.mkdir(path, PRIVATE_DIRECTORY_MODE)
  return above
}

/** Of each World, the folders whose names are known to be durable. */
const durableIn = new WeakMap<World, Set<string>>()

/**
 * A folder whose own name is not synced may vanish in a crash, with all the evidence that was synced inside it. That it is
 * there proves nothing: whoever made it may have died, or failed, before the sync. So each process syncs once.
 */
async function nameDurably(world: World, path: string, made: readonly string[]): Promise<void> {
  const durable = durableIn.get(world) ?? new Set<string>()
  durableIn.set(world, durable)
  if (made.length === 0 && durable.has(path)) return
  for (const above of new Set([...made, dirname(path), dirname(dirname(path))])) await world.files.syncDirectory(above)
  durable.add(path)
}

function judge(world: World, facts: FileFacts | null, what: string): void {
  const misfit =
    facts === null
      ? 'it vanished'
      : facts.kind !== 'directory'
        ? `it is ${kindInWords(facts.kind)} where a folder is needed`
        : facts.ownerUid !== world.files.uid
          ? 'another user owns it'
          : (facts.mode & 0o077) !== 0
            ? `others may enter it (mode 0${facts.mode.toString(8)})`
            : null
  if (misfit === null) return
  throw new Fault('STORAGE_UNSAFE', {
    message: `Cannot use the ${what}: ${misfit}`,
    hint: `Make it a folder of the user who runs this program, with mode 0700`,
  })
}

function refuseWeakPlatform(world: World): void {
  if (world.files.durable) return
  throw new Fault('PLATFORM_UNSUPPORTED', {
    message: `Cannot keep evidence on ${world.processes.platform}: it lacks private modes, no-follow opens or file locks`,
    hint: 'Keep journals on Linux or macOS; reading and verifying works everywhere',
  })
}
