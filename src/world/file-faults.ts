/**
 * The Faults of files: what the system answered, in our words. One place, so that a simulated disk fails exactly like a
 * real one.
 */
import { Fault } from '../core/index.ts'
import type { FileKind } from './world.ts'

export function errnoOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null)?.code ?? 'UNKNOWN'
}

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'])

/** `error` is what Node throws: its `code` is the name of the system's answer. A Fault stays what it is. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  const errno = errnoOf(error)
  const facts = { errno }
  if (FULL.has(errno)) {
    return new Fault('STORAGE_FULL', {
      message: `Cannot store: the system has no room left (${errno})`,
      hint: 'Free space or raise the limit; nothing that was acknowledged is lost',
      facts,
      cause: error,
    })
  }
  if (errno === 'ELOOP' || errno === 'EMLINK') {
    return new Fault('STORAGE_UNSAFE', {
      message: 'Cannot open: the name is a symbolic link',
      hint: 'Replace the link by a regular file that this user owns',
      facts,
      cause: error,
    })
  }
  return new Fault('STORAGE_FAILED', {
    message: `Cannot use storage: the system answered ${errno}`,
    hint: 'Check that the disk is mounted read-write and that this user may use the folder',
    facts,
    cause: error,
  })
}

/** For a file that is longer than its reader allows. */
export function tooLong(size: number, bytesMax: number): Fault {
  return new Fault('FILE_TOO_LARGE', {
    message: `Cannot read the file: it holds ${size} bytes and ${bytesMax} are allowed`,
    hint: 'A file of this size was not written by this runtime',
  })
}

const KINDS: Readonly<Record<FileKind, string>> = {
  file: 'a file',
  directory: 'a folder',
  link: 'a link',
  other: 'a device, a pipe or a socket',
}

/** With its article, for a message that says what was found instead: "it is a folder". */
export function kindInWords(kind: FileKind): string {
  return KINDS[kind]
}
