/**
 * How much of `agents` is taken (10.1), and what is said of the rest. A limit that is passed ends nothing: what no longer fits
 * is left out whole, and says so under its names. Files that are left out are still looked through for the names that they
 * declare, because a name that two files have stands for neither, and leaving one of them out must not make it stand for the
 * other (law 5). Where that costs too much, no name is certain, and none can be used.
 */
import { Fault } from '../core/index.ts'
import { bounded } from './places.ts'

export const AGENTS_FOLDER = 'agents'

/** Entries of the folder, agent files or not. */
export const ENTRIES_MAX = 1024
/** Of the files that are taken, together. */
export const ALL_BYTES_MAX = 16 * 1024 * 1024
/** Agents of the files that are taken, usable or not. */
export const DECLARATIONS_MAX = 1024

/** Files that are read at all. */
export const LOOKED_AT_FILES_MAX = 8 * 1024
/** Bytes that are read at all: as much again as may be taken, because a parser reads a few megabytes in a second. */
export const LOOKED_AT_BYTES_MAX = 2 * ALL_BYTES_MAX
/** Names that are kept, of agents and of files. One file has room for fewer than 100,000 different ones. */
export const NAMES_MAX = 128 * 1024

export const LIMIT_HINT = 'Move what is no agent out of the folder, or split the agents over several projects'

/** The reason of a file that is left out. */
export function leftOutBecause(place: string, why: string): string {
  return bounded(`${place}: it is left out (REGISTRY_LIMIT): ${why}; move files out of the folder`)
}

/** The reason of every name, where not all of the folder was looked through. */
export function uncertainBecause(why: string): string {
  const exceeds = `the folder "${AGENTS_FOLDER}" exceeds its limits (REGISTRY_LIMIT)`
  return `${exceeds}: ${why}, so no name in it is certain to stand for one agent; move files out of the folder`
}

export function someLeftOut(files: number, first: string): Fault {
  return new Fault('REGISTRY_LIMIT', {
    message: `Cannot take every file of the folder "${AGENTS_FOLDER}": ${files} left out, first ${first}`,
    hint: LIMIT_HINT,
  })
}

export function noneTaken(reason: string): Fault {
  return new Fault('REGISTRY_LIMIT', {
    message: `Cannot use any agent: ${reason}`,
    hint: LIMIT_HINT,
  })
}
