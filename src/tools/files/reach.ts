/**
 * The way to a file below a root, one held folder after the other, so that nothing on it can be exchanged for a link meanwhile.
 *
 * Links are not followed, devices and pipes are not opened, what is mounted below the root is not looked into, and a file that
 * has a second name is not read: that name may lie outside of the root, and nobody can tell.
 */
import { CODES, Fault, isFault } from '../../core/index.ts'
import type { Files, OpenFile, Place, World } from '../../world/index.ts'
import { notDone, type ToolAnswer } from '../tool.ts'
import { type Location, pathOf } from './roots.ts'

/** What one answer may hold, as JSON text: several share the room of one journal entry. */
export const ANSWER_BYTES_MAX = 65_536

/** Holds what the path leads to while `use` looks at it. `home` is the place of its root. */
export async function reach<T>(
  world: Pick<World, 'files'>,
  location: Location,
  signal: AbortSignal,
  use: (place: Place, home: Place) => Promise<T>,
): Promise<T> {
  const at = pathOf(location)
  await using root = await rootOf(world.files, location)
  const downwards = async (place: Place, [name, ...others]: readonly string[]): Promise<T> => {
    signal.throwIfAborted()
    if (name === undefined) return await use(place, root)
    requireFolder(place, root, at)
    await using next = await readable(place.step(name), at)
    if (next === null) throw absent(at)
    return await downwards(next, others)
  }
  return await downwards(root, location.names)
}

async function rootOf(files: Files, { root }: Location): Promise<Place> {
  const place = await readable(files.place(root.path), root.name)
  if (place?.facts.kind === 'directory') return place
  await place?.close()
  throw absent(root.name)
}

/** Null for what can be entered; else why not. */
export function whyNotEntered(place: Place, home: Place): string | null {
  if (place.facts.kind === 'link') return 'a link, and links are not followed'
  if (place.facts.kind !== 'directory') return 'not a folder'
  return place.device === home.device && place.mount === home.mount ? null : 'on another file system'
}

/** Null for what can be read; else why not. */
export function whyNotRead(place: Place, home: Place): string | null {
  const { facts } = place
  if (facts.kind === 'link') return 'a link, and links are not followed'
  if (facts.kind === 'directory') return 'a folder'
  if (facts.kind === 'other') return 'a device, a pipe or a socket'
  if (facts.links > 1) return 'a file with more than one name, which may be that of a file elsewhere'
  return place.mount === home.mount ? null : 'on another file system' // a single file can be one, too
}

export function requireFolder(place: Place, home: Place, at: string): void {
  const why = whyNotEntered(place, home)
  if (why !== null) throw kept(at, `a part of it is ${why}`)
}

export async function openToRead(place: Place, home: Place, at: string): Promise<OpenFile> {
  const why = whyNotRead(place, home)
  if (why !== null) throw kept(at, `it is ${why}`)
  return await readable(place.open(), at)
}

/** What this user may not read is refused; a disk that fails is a failure. */
export async function readable<T>(work: Promise<T>, at: string): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!isFault(error, 'STORAGE_FAILED')) throw error
    if (error.facts.errno === 'EACCES' || error.facts.errno === 'EPERM') throw kept(at, 'the runtime may not read it')
    throw error
  }
}

/**
 * Reading has no effect, so "there is none" and "not this one" are known answers, and the run goes on. What the disk itself
 * refuses stays an error.
 */
export async function answered(work: () => Promise<object>): Promise<ToolAnswer> {
  try {
    return JSON.stringify(await work())
  } catch (error) {
    if (!isFault(error, 'FILE_NOT_FOUND', 'FILE_REFUSED')) throw error
    return notDone(JSON.stringify({ code: error.code, error: CODES[error.code].says, reason: error.message }))
  }
}

export function absent(at: string): Fault {
  return new Fault('FILE_NOT_FOUND', { message: `Cannot open "${at}": there is no such file or folder` })
}

export function kept(at: string, state: string): Fault {
  return new Fault('FILE_REFUSED', { message: `Cannot open "${at}": ${state}` })
}
