/**
 * The project that a command is about, and where things lie in it: the layout of `runtime`, without loading a server to
 * learn a path. A test holds the two together.
 */
import { join } from 'node:path'
import { Fault } from '../../core/index.ts'
import type { Project } from '../../runtime/index.ts'
import type { World } from '../../world/index.ts'
import { SETTINGS_FILE } from './project-files.ts'

export interface ProjectPaths extends Project {
  readonly invocationFolder: string
  /** Where the server of the project wrote down its address. */
  readonly serverNote: string
}

/** Throws `PROJECT_MISSING` for a folder that is none, so that a slip of the hand creates no second project. Creates nothing. */
export async function projectPaths(world: World, path: string): Promise<ProjectPaths> {
  const paths = await folderPaths(world, path)
  for (const sign of [paths.stateFolder, join(paths.root, SETTINGS_FILE)]) {
    if ((await world.files.lstat(sign)) !== null) return paths
  }
  throw missing('this folder is no project')
}

/** As `projectPaths`, for a folder that need not be a project yet: it may hold nothing but policies. */
export async function folderPaths(world: World, path: string): Promise<ProjectPaths> {
  const root = await world.files.realpath(path)
  if (root === null) throw missing('the folder does not exist')
  return pathsIn(root)
}

function missing(state: string): Fault {
  return new Fault('PROJECT_MISSING', {
    message: `Cannot open the project: ${state}`,
    hint: 'Make it one with "symbi init --project DIR", or name the right folder with --project',
  })
}

export function pathsIn(root: string): ProjectPaths {
  const stateFolder = join(root, '.symbiont')
  return {
    root,
    stateFolder,
    governedFolder: join(stateFolder, 'governed'),
    invocationFolder: join(stateFolder, 'invocations'),
    policyFolder: join(root, 'policies'),
    agentFolder: join(root, 'agents'),
    keyFile: join(stateFolder, 'api-keys.json'),
    chatTokenFile: join(stateFolder, 'chat.token'),
    approvalFolder: join(stateFolder, 'approvals'),
    serverNote: join(stateFolder, 'server.json'),
  }
}
