/**
 * Private files: regular, owned by this user, no bit for others, exactly one link, bounded. Opened without following
 * links and without blocking, and judged through the open handle, so that no name can be swapped in between.
 */
import { Fault, isFault } from '../core/index.ts'
import { type FileFacts, kindInWords, type OpenFile, type World } from '../world/index.ts'

export interface PrivateFileRule {
  /** Names the file in messages; its path is not told. */
  readonly what: string
  readonly bytesMax: number
}

/** The open file, or null when there is none. Throws `STORAGE_UNSAFE` and closes it when the rule is broken. */
export async function openPrivateFile(
  world: World,
  path: string,
  how: 'read' | 'append' | 'lock',
  rule: PrivateFileRule,
): Promise<OpenFile | null> {
  const file = await opened(world, path, how, rule)
  if (file === null) return null
  try {
    judgePrivateFile(world, await file.facts(), rule)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** A folder, a socket: the system refuses to open them, and so do we, as what they are. */
const NO_REGULAR_FILE: readonly unknown[] = ['EISDIR', 'ENXIO']

/** A name that leads to no file is refused by the World, which says what it met and cannot say what we wanted there. */
async function opened(
  world: World,
  path: string,
  how: 'read' | 'append' | 'lock',
  rule: PrivateFileRule,
): Promise<OpenFile | null> {
  try {
    return await world.files.open(path, how)
  } catch (error) {
    if (isFault(error) && NO_REGULAR_FILE.includes(error.facts.errno))
      throw unsafe(rule, 'it is no regular file', error)
    if (isFault(error, 'STORAGE_UNSAFE')) throw unsafe(rule, error.message.replace(/^Cannot \w+: /, ''), error)
    throw error
  }
}

export async function readPrivateFile(world: World, path: string, rule: PrivateFileRule): Promise<Uint8Array | null> {
  await using file = await openPrivateFile(world, path, 'read', rule)
  return file === null ? null : await file.readAll(rule.bytesMax)
}

export function judgePrivateFile(world: World, facts: FileFacts, rule: PrivateFileRule): void {
  const misfit =
    facts.kind !== 'file'
      ? `it is ${kindInWords(facts.kind)} where a regular file is needed`
      : facts.ownerUid !== world.files.uid
        ? 'another user owns it'
        : (facts.mode & 0o077) !== 0
          ? `others may use it (mode 0${facts.mode.toString(8)})`
          : facts.links !== 1
            ? `it has ${facts.links} links where one is allowed`
            : facts.size > rule.bytesMax
              ? `it holds ${facts.size} bytes and ${rule.bytesMax} are allowed`
              : null
  if (misfit !== null) throw unsafe(rule, misfit)
}

function unsafe(rule: PrivateFileRule, misfit: string, cause?: unknown): Fault {
  return new Fault('STORAGE_UNSAFE', {
    message: `Cannot use the ${rule.what}: ${misfit}`,
    hint: 'Make it a regular file of the user who runs this program, with mode 0600 and one link',
    cause,
  })
}
