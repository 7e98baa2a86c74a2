/** The tools that prepare a call which is only to be explained: as in a run, so that policy sees what it would see there. */
import { join } from 'node:path'
import { unconfiguredApi } from '../../api/index.ts'
import type { Toolbox } from '../../calls/index.ts'
import { isFault } from '../../core/index.ts'
import { AGENTS_FOLDER, buildRegistry, delegatingToolbox, readAgentFolder } from '../../delegation/index.ts'
import type { ProposedAction } from '../../events/index.ts'
import { readyMadeTools } from '../../runtime/index.ts'
import { monitoringTools, READY_MADE_NAMES, type Tool, toolbox } from '../../tools/index.ts'
import { configuredServers, exposedName, PIN_FILE, pinnedTools, readPins } from '../../upstream/index.ts'
import type { World } from '../../world/index.ts'
import { pathsIn } from '../project/project-paths.ts'
import { readSetting } from '../settings/config.ts'
import { readyMadeOf } from '../settings/tool-settings.ts'

export interface ToolsFor {
  readonly box: Toolbox
  /** What the call names and this runtime does not have: it is then taken as it was given. Null for what it has. */
  readonly stranger: string | null
  /** Why a name that the project has cannot be used. Null for any other. */
  readonly reason: string | null
}

/** `root` is the folder of the project. A delegation is looked up in its agents. What the call does not name is not asked for. */
export async function toolsFor(world: World, root: string, action: ProposedAction): Promise<ToolsFor> {
  const monitoring = monitoringTools(unconfiguredApi())
  const box = toolbox({ tools: monitoring }, world)
  if ('ToolCall' in action) {
    const { name } = action.ToolCall
    const { tools, reason } = await toolsNamed(world, root, name)
    const own = [...monitoring, ...tools]
    const isKnown = own.some(({ definition }) => definition.name === name)
    if (isKnown) return { box: toolbox({ tools: own }, world), stranger: null, reason: null }
    return { box: toolbox({ tools: [...own, standIn(name)] }, world), stranger: `the tool "${name}"`, reason }
  }
  if (!('Delegate' in action)) return { box, stranger: null, reason: null }
  const { target } = action.Delegate
  const registry = buildRegistry(await readAgentFolder(world, join(root, AGENTS_FOLDER)))
  const resolved = registry.resolve(target)
  if (resolved.kind === 'Target') return { box: delegatingToolbox(box, registry), stranger: null, reason: null }
  return { box, stranger: `the agent "${target}"`, reason: resolved.kind === 'Unavailable' ? resolved.reason : null }
}

interface Named {
  readonly tools: readonly Tool[]
  /** Why the tool is not among them, where the project has one of this name. */
  readonly reason: string | null
}

const NOTHING: Named = { tools: [], reason: null }

/** A folder that is missing, or a file that is damaged, is a problem of the calls that need it, and of no others. */
async function toolsNamed(world: World, root: string, name: string): Promise<Named> {
  try {
    if (READY_MADE_NAMES.some((known) => known === name)) return await configuredTools(world, root)
    return name.startsWith('mcp__') ? await pinnedToolsNamed(world, root, name) : NOTHING
  } catch (error) {
    if (!isFault(error, 'CONFIG_INVALID', 'PLATFORM_UNSUPPORTED', 'STORAGE_UNSAFE')) throw error
    return { tools: [], reason: error.message }
  }
}

/** Nothing of theirs is sent, so the values of their headers are not asked for. */
async function configuredTools(world: World, root: string): Promise<Named> {
  const sources = { root, flags: {}, env: {} }
  const fileRoots = await readSetting(world, 'fileRoots', sources)
  const httpOrigins = await readSetting(world, 'httpOrigins', sources)
  return { tools: await readyMadeTools(readyMadeOf({ fileRoots, httpOrigins }, null), world), reason: null }
}

/** A tool of a foreign server as it was pinned. No server is started to learn more. */
async function pinnedToolsNamed(world: World, root: string, name: string): Promise<Named> {
  const pinFile = join(pathsIn(root).stateFolder, PIN_FILE)
  const servers = (await configuredServers(world, root)).filter((one) => name.startsWith(exposedName(one.name, '')))
  for (const server of servers) {
    const tools = pinnedTools(server, await readPins(world, pinFile, server.name))
    if (tools.some(({ definition }) => definition.name === name)) return { tools, reason: null }
  }
  const [first] = servers
  if (first === undefined) return NOTHING
  return { tools: [], reason: `"${first.name}" has no pinned tool of this name: look at it with "symbi mcp pin"` }
}

/** Takes any arguments. Never runs: nothing here does. */
function standIn(name: string): Tool {
  return {
    definition: { name, description: '', parameters: { type: 'object' } },
    run: () => Promise.reject(new Error('a stand-in runs nothing')),
  }
}
