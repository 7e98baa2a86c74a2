/** The project that a command is about: a folder that `symbi init` made, or one of another Symbiont runtime. */
import { join } from 'node:path'
import { Fault } from '../../core/index.ts'
import { openProject, type Project } from '../../runtime/index.ts'
import type { World } from '../../world/index.ts'
import { SETTINGS_FILE } from './project-files.ts'

/** Throws `PROJECT_MISSING` for a folder that is none, so that a slip of the hand creates no second project. */
export async function findProject(world: World, path: string): Promise<Project> {
  const project = await openProject(world, path)
  for (const sign of [join(project.root, SETTINGS_FILE), project.stateFolder]) {
    if ((await world.files.lstat(sign)) !== null) return project
  }
  throw new Fault('PROJECT_MISSING', {
    message: 'Cannot open the project: this folder is no project',
    hint: 'Make it one with "symbi init --project DIR", or name the right folder with --project',
  })
}
