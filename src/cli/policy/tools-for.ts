/** The tools that prepare a call which is only to be explained: as in a run, so that policy sees what it would see there. */
import { join } from 'node:path'
import { unconfiguredApi } from '../../api/index.ts'
import type { Toolbox } from '../../calls/index.ts'
import { AGENTS_FOLDER, buildRegistry, delegatingToolbox, readAgentFolder } from '../../delegation/index.ts'
import type { ProposedAction } from '../../events/index.ts'
import { readyMadeTools } from '../../runtime/index.ts'
import { monitoringTools, type Tool, toolbox } from '../../tools/index.ts'
import type { World } from '../../world/index.ts'
import { readSetting } from '../settings/config.ts'
import { readyMadeOf } from '../settings/tool-settings.ts'

export interface ToolsFor {
  readonly box: Toolbox
  /** What the call names and this runtime does not have: it is then taken as it was given. Null for what it has. */
  readonly stranger: string | null
  /** Why a name that the project has cannot be used. Null for any other. */
  readonly reason: string | null
}

/** `root` is the folder of the project. A delegation is looked up in its agents. */
export async function toolsFor(world: World, root: string, action: ProposedAction): Promise<ToolsFor> {
  const own = [...monitoringTools(unconfiguredApi()), ...(await configuredTools(world, root))]
  const box = toolbox({ tools: own }, world)
  if ('ToolCall' in action) {
    const { name } = action.ToolCall
    if (own.some(({ definition }) => definition.name === name)) return { box, stranger: null, reason: null }
    return { box: toolbox({ tools: [...own, standIn(name)] }, world), stranger: `the tool "${name}"`, reason: null }
  }
  if (!('Delegate' in action)) return { box, stranger: null, reason: null }
  const { target } = action.Delegate
  const registry = buildRegistry(await readAgentFolder(world, join(root, AGENTS_FOLDER)))
  const resolved = registry.resolve(target)
  if (resolved.kind === 'Target') return { box: delegatingToolbox(box, registry), stranger: null, reason: null }
  return { box, stranger: `the agent "${target}"`, reason: resolved.kind === 'Unavailable' ? resolved.reason : null }
}

/** Nothing of theirs is sent, so the values of their headers are not asked for. */
async function configuredTools(world: World, root: string): Promise<readonly Tool[]> {
  const sources = { root, flags: {}, env: {} }
  const fileRoots = await readSetting(world, 'fileRoots', sources)
  const httpOrigins = await readSetting(world, 'httpOrigins', sources)
  return await readyMadeTools(readyMadeOf({ fileRoots, httpOrigins }, null), world)
}

/** Takes any arguments. Never runs: nothing here does. */
function standIn(name: string): Tool {
  return {
    definition: { name, description: '', parameters: { type: 'object' } },
    run: () => Promise.reject(new Error('a stand-in runs nothing')),
  }
}
