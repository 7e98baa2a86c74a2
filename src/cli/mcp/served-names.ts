/** Names of the tools of foreign servers, without asking a server: those that the configuration names, or that were pinned. */
import { join } from 'node:path'
import { isFault } from '../../core/index.ts'
import { configuredServers, exposedName, PIN_FILE, readPins } from '../../upstream/index.ts'
import type { World } from '../../world/index.ts'
import { pathsIn } from '../project/project-paths.ts'

/** None where the configuration or the pins cannot be read: whoever starts the servers says why. */
export async function servedNames(world: World, root: string): Promise<readonly string[]> {
  const pinFile = join(pathsIn(root).stateFolder, PIN_FILE)
  try {
    const servers = await configuredServers(world, root)
    const names = servers.map(async ({ name, expose }) => {
      const tools = expose === '*' ? Object.keys(await readPins(world, pinFile, name)) : expose
      return tools.map((tool) => exposedName(name, tool))
    })
    return (await Promise.all(names)).flat()
  } catch (error) {
    if (isFault(error)) return []
    throw error
  }
}
