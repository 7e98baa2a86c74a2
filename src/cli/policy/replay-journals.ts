/** Which journals are to be replayed: files, runs of the project by their ids, and all journals of folders, oldest first. */
import { basename, join } from 'node:path'
import { Fault } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import { findJournal, type JournalFile, readName } from '../audit/find-journal.ts'
import type { ProjectPaths } from '../project/project-paths.ts'

export interface WantedJournal {
  readonly name: string
  /** Null for a file of a folder whose name does not say of which run it is. */
  readonly file: JournalFile | null
}

/** Nothing asked is the folder of the project. Throws when a place holds no journal: that nothing changes would be no news. */
export async function journalsIn(
  world: World,
  paths: () => Promise<ProjectPaths>,
  wanted: readonly string[],
): Promise<readonly WantedJournal[]> {
  const found = new Map<string, WantedJournal>()
  for (const place of wanted.length > 0 ? wanted : [(await paths()).governedFolder]) {
    const names = await folderNames(world, place)
    if (names !== null) {
      if (names.length === 0) throw nothingIn(place)
      for (const name of names) found.set(join(place, name), inFolder(place, name))
      continue
    }
    if (wanted.length === 0) throw nothingIn(place)
    const file = await findJournal(world, paths, place, null)
    found.set(join(file.path), { name: file.name, file })
  }
  return [...found.values()]
}

function inFolder(folder: string, name: string): WantedJournal {
  const said = readName(name)
  return { name, file: said === null ? null : { path: join(folder, name), name, ...said } }
}

/** In the order of their last change; null when the place is no folder. */
async function folderNames(world: World, place: string): Promise<readonly string[] | null> {
  const real = await world.files.realpath(place)
  if (real === null || (await world.files.lstat(real))?.kind !== 'directory') return null
  const present: { readonly name: string; readonly modifiedNs: bigint }[] = []
  for (const name of (await world.files.list(real)) ?? []) {
    if (!name.endsWith('.jsonl')) continue
    const facts = await world.files.lstat(join(real, name))
    if (facts !== null) present.push({ name, modifiedNs: facts.modifiedNs })
  }
  present.sort((left, right) => (left.modifiedNs < right.modifiedNs ? -1 : left.modifiedNs > right.modifiedNs ? 1 : 0))
  return present.map(({ name }) => name)
}

function nothingIn(place: string): Fault {
  return new Fault('NOT_FOUND', {
    message: `Cannot replay "${basename(place)}": it holds no journals`,
    hint: 'A journal is made for each run, in .symbiont/governed of the project; name the project with --project',
  })
}
