/**
 * A project on disk: where everything lies, resolved once from trusted configuration. No request can select or change it.
 */
import { join } from 'node:path'
import { Fault } from '../core/index.ts'
import type { World } from '../world/index.ts'

export interface Project {
  /** Canonical and absolute. */
  readonly root: string
  readonly stateFolder: string
  readonly governedFolder: string
  readonly policyFolder: string
  /** Where the sources of agents lie. */
  readonly agentFolder: string
  readonly keyFile: string
  readonly chatTokenFile: string
  /** What is held until a person approved it. */
  readonly approvalFolder: string
}

export async function openProject(world: World, path: string): Promise<Project> {
  const root = await world.files.realpath(path)
  if (root === null) {
    throw new Fault('PROJECT_MISSING', {
      message: 'Cannot open the project: the folder does not exist',
      hint: 'Make one with "symbi init --project DIR"',
    })
  }
  return projectAt(root)
}

export function projectAt(root: string): Project {
  const stateFolder = join(root, '.symbiont')
  return {
    root,
    stateFolder,
    governedFolder: join(stateFolder, 'governed'),
    policyFolder: join(root, 'policies'),
    agentFolder: join(root, 'agents'),
    keyFile: join(stateFolder, 'api-keys.json'),
    chatTokenFile: join(stateFolder, 'chat.token'),
    approvalFolder: join(stateFolder, 'approvals'),
  }
}
