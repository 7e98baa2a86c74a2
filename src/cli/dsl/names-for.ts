/**
 * The project by whose names a source is judged. A project that was named on the command line is that of every source; else
 * it is the one in which the file lies, wherever the command was typed. Of a file that lies in none, no name is unknown.
 */
import { basename, dirname, join } from 'node:path'
import { AGENTS_FOLDER } from '../../delegation/index.ts'
import type { World } from '../../world/index.ts'
import { SETTINGS_FILE } from '../project/project-files.ts'
import { pathsIn } from '../project/project-paths.ts'
import { NO_PROJECT, type ProjectNames, projectNames } from './project-names.ts'

/** What `--project` is when nobody gave it. */
const HERE = '.'

/** The argument is the name of a source: a path, or what stands for a text that came otherwise. Each project is read once. */
export type NamesFor = (source: string) => Promise<ProjectNames>

export function namesFor(world: World, project: string): NamesFor {
  const read = new Map<string, Promise<ProjectNames>>()
  const namesIn = (root: string): Promise<ProjectNames> => {
    const names = read.get(root) ?? projectNames(world, join(root, AGENTS_FOLDER))
    read.set(root, names)
    return names
  }
  return async (source) => {
    if (project !== HERE) return await namesIn(project)
    const real = await world.files.realpath(source).catch(() => null)
    if (real === null) return await namesIn(HERE) // a text, or what cannot be read anyway
    const root = await rootOf(world, real)
    return root === null ? NO_PROJECT : await namesIn(root)
  }
}

/** A folder of agents makes a project of the one around it: it needs nothing else. */
async function rootOf(world: World, file: string): Promise<string | null> {
  if (basename(dirname(file)) === AGENTS_FOLDER) return dirname(dirname(file))
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    for (const sign of [pathsIn(folder).stateFolder, join(folder, SETTINGS_FILE)]) {
      if ((await world.files.lstat(sign).catch(() => null)) !== null) return folder
    }
    if (folder === dirname(folder)) return null
  }
}
