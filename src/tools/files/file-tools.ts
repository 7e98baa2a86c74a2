/** The three tools that look into files. They read, and change nothing; without a root there are none. */
import type { World } from '../../world/index.ts'
import type { Tool } from '../tool.ts'
import { listFilesTool } from './list-files.ts'
import { readFileTool } from './read-file.ts'
import { type FileRoot, rootsByName } from './roots.ts'
import { searchFilesTool } from './search-files.ts'

/** Throws `CONFIG_INVALID` for roots that cannot be used. Whether their folders are there is asked at each call. */
export function fileTools(roots: readonly FileRoot[], world: Pick<World, 'files'>): readonly Tool[] {
  if (roots.length === 0) return []
  const known = rootsByName(roots)
  return [readFileTool(known, world), listFilesTool(known, world), searchFilesTool(known, world)]
}
