/**
 * Names in the operator's list of calls that need a person which no tool has: nothing is ever held for them, so a misspelt
 * one leaves the tool that was meant unguarded. Looked up in files alone; no server is started or asked.
 */
import { unconfiguredApi } from '../../api/index.ts'
import { isFault } from '../../core/index.ts'
import { meant } from '../../dsl/index.ts'
import { monitoringTools, READY_MADE_NAMES } from '../../tools/index.ts'
import { configuredServers, exposedName } from '../../upstream/index.ts'
import type { World } from '../../world/index.ts'
import { servedNames } from '../mcp/served-names.ts'

export interface UnknownApprovalTool {
  readonly name: string
  /** For a person: what it means, and which name may have been meant. */
  readonly problem: string
}

/** `root` is the folder of the project, `listed` the setting `approvals.tools`. */
export async function unknownApprovalTools(
  world: World,
  root: string,
  listed: readonly string[],
): Promise<readonly UnknownApprovalTool[]> {
  if (listed.length === 0) return []
  const monitoring = monitoringTools(unconfiguredApi()).map(({ definition }) => definition.name)
  const served = await servedNames(world, root)
  const known = new Set(['delegate', ...monitoring, ...READY_MADE_NAMES, ...served])
  const unseen = await unseenServers(world, root, served)
  return [...new Set(listed)]
    .filter((name) => !known.has(name) && !unseen.some((prefix) => name.startsWith(prefix)))
    .map((name) => ({ name, problem: problemOf(name, [...known]) }))
}

/** How names begin that nobody can know yet: of servers that expose everything, and of which nothing is pinned. */
async function unseenServers(world: World, root: string, served: readonly string[]): Promise<readonly string[]> {
  try {
    const open = (await configuredServers(world, root)).filter(({ expose }) => expose === '*')
    const prefixes = open.map(({ name }) => exposedName(name, ''))
    return prefixes.filter((prefix) => !served.some((name) => name.startsWith(prefix)))
  } catch (error) {
    if (isFault(error)) return []
    throw error
  }
}

function problemOf(name: string, known: readonly string[]): string {
  const near = meant(name, known)
  const state = `approvals.tools: no tool is called ${JSON.stringify(name)}, and names are exact, so no call is held for it`
  return near === null ? state : `${state}. Did you mean ${JSON.stringify(near)}?`
}
