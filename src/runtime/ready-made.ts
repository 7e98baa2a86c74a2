/**
 * The ready-made tools that a project has configured: the same in a chat, in a run and for a client of a session. Without
 * configuration there are none, and with it each still needs a policy that permits it.
 */
import { Fault } from '../core/index.ts'
import { type FileRoot, fileTools, type HttpOrigin, httpRequestTool, type Tool } from '../tools/index.ts'
import type { World } from '../world/index.ts'

export interface ReadyMadeTools {
  /** Folders for `read_file`, `list_files` and `search_files`. A path may lead over links; they are resolved once, now. */
  readonly fileRoots?: readonly FileRoot[]
  /** Origins for `http_request`. */
  readonly httpOrigins?: readonly (string | HttpOrigin)[]
}

/** Throws `CONFIG_INVALID` for what cannot be used, and `PLATFORM_UNSUPPORTED` where files cannot be opened safely. */
export async function readyMadeTools(configured: ReadyMadeTools, world: World): Promise<readonly Tool[]> {
  const { fileRoots = [], httpOrigins = [] } = configured
  const roots = await Promise.all(fileRoots.map((root) => foundRoot(root, world)))
  const http = httpOrigins.length === 0 ? [] : [httpRequestTool(httpOrigins, world)]
  return [...fileTools(roots, world), ...http]
}

async function foundRoot(root: FileRoot, { files }: World): Promise<FileRoot> {
  const path = await files.realpath(root.path)
  await using place = path === null ? null : await files.place(path)
  if (path !== null && place?.facts.kind === 'directory') return { ...root, path }
  throw new Fault('CONFIG_INVALID', {
    message: `Cannot use the file root "${root.name.slice(0, 64)}": its folder does not exist`,
    hint: 'Make the folder, or correct "tools.file_roots"',
  })
}
