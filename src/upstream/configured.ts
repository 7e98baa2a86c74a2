/** The servers of a project, from the two files that may name them. */
import { join } from 'node:path'
import { Fault } from '../core/index.ts'
import type { World } from '../world/index.ts'
import { MCP_CONFIG_FILE, mergeServers, readUpstreamConfig, SETTINGS_FILE } from './config.ts'
import type { UpstreamServer } from './server-entry.ts'

const BYTES_MAX = 256 * 1024

/** Throws `CONFIG_INVALID` when what is configured cannot be understood. `root` is the folder of the project. */
export async function configuredServers(world: World, root: string): Promise<readonly UpstreamServer[]> {
  const lists = [MCP_CONFIG_FILE, SETTINGS_FILE].map(async (name) => {
    const text = await textOf(world, root, name)
    return text === null ? [] : readUpstreamConfig(text, name)
  })
  return mergeServers(...(await Promise.all(lists)))
}

async function textOf(world: World, root: string, name: string): Promise<string | null> {
  const real = await world.files.realpath(join(root, name))
  await using file = real === null ? null : await world.files.open(real, 'read')
  if (file === null) return null
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.readAll(BYTES_MAX))
  } catch (cause) {
    throw new Fault('CONFIG_INVALID', {
      message: `Cannot use "${name}": it is no text in UTF-8 of at most ${BYTES_MAX} bytes`,
      hint: 'Correct the file; docs/mcp-upstream.md says what it may hold',
      cause,
    })
  }
}
