/**
 * Where things lie in a project, for commands that only look: the layout of `runtime`, without loading a server to learn
 * a path. A test holds the two together.
 */
import { join } from 'node:path'
import { Fault } from '../core/index.ts'
import type { Project } from '../runtime/index.ts'
import type { World } from '../world/index.ts'

export interface ProjectPaths extends Omit<Project, 'keyFile'> {
  readonly invocationFolder: string
  /** Where the server of the project wrote down its address. */
  readonly serverNote: string
}

/** Throws `PROJECT_MISSING`. Creates nothing. */
export async function projectPaths(world: World, path: string): Promise<ProjectPaths> {
  const root = await world.files.realpath(path)
  if (root === null) {
    throw new Fault('PROJECT_MISSING', {
      message: `Cannot open the project "${path}": the folder does not exist`,
      hint: 'Make one with "symbi init --project DIR", or name the right folder with --project',
    })
  }
  return pathsIn(root)
}

export function pathsIn(root: string): ProjectPaths {
  const stateFolder = join(root, '.symbiont')
  return {
    root,
    stateFolder,
    governedFolder: join(stateFolder, 'governed'),
    invocationFolder: join(stateFolder, 'invocations'),
    policyFolder: join(root, 'policies'),
    chatTokenFile: join(stateFolder, 'chat.token'),
    serverNote: join(stateFolder, 'server.json'),
  }
}
