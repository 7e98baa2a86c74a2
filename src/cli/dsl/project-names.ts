/**
 * What the agents of a project call each other: the effects that a rule may name, and what became of each name. Read once a
 * command. A folder that cannot be used says why, and then no name is called unknown, because nobody knows.
 */
import { dirname } from 'node:path'
import { unconfiguredApi } from '../../api/index.ts'
import { Fault } from '../../core/index.ts'
import { type AgentFile, type AgentRegistry, buildRegistry, readAgentFolder } from '../../delegation/index.ts'
import { agentsOf, parse } from '../../dsl/index.ts'
import { monitoringTools, READY_MADE_NAMES } from '../../tools/index.ts'
import type { World } from '../../world/index.ts'
import { servedNames } from '../mcp/served-names.ts'

export interface ProjectNames {
  /** Without links, or null where the project has no folder of agents. */
  readonly folder: string | null
  /** Null when the folder cannot be used, and where there is no project. */
  readonly registry: AgentRegistry | null
  readonly problem: Fault | null
  /** Declared names, usable or not. */
  readonly declared: ReadonlySet<string>
  /** Names of the tools of foreign servers, as far as configuration and pins tell them. */
  readonly served: readonly string[]
  /** Files of the folder that the project does not read, each with why. */
  readonly rejections: ReadonlyMap<string, string>
}

/** Of a source that belongs to no project. */
export const NO_PROJECT: ProjectNames = {
  folder: null,
  registry: null,
  problem: null,
  declared: new Set(),
  served: [],
  rejections: new Map(),
}

export async function projectNames(world: World, agentFolder: string): Promise<ProjectNames> {
  const folder = await world.files.realpath(agentFolder)
  const served = await servedNames(world, dirname(agentFolder))
  const nothing = { folder, served, declared: new Set<string>(), rejections: new Map<string, string>() }
  if (folder === null) return { ...nothing, registry: buildRegistry({ files: [], unread: null }), problem: null }
  try {
    const found = await readAgentFolder(world, agentFolder) // by its own name, so that a link is seen
    const declared = new Set(found.files.flatMap(declaredIn))
    const rejections = new Map(found.files.flatMap((file) => rejectionOf(file)))
    return { folder, registry: buildRegistry(found), problem: null, served, declared, rejections }
  } catch (error) {
    if (error instanceof Fault) return { ...nothing, registry: null, problem: error }
    throw error
  }
}

function declaredIn(file: AgentFile): readonly string[] {
  if ('leftOut' in file) return file.declares
  return 'text' in file ? agentsOf(parse(file.text).tree).map(({ name }) => name.text) : []
}

function rejectionOf(file: AgentFile): readonly (readonly [string, string])[] {
  if ('leftOut' in file) return [[file.file, file.leftOut]]
  return 'rejection' in file ? [[file.file, file.rejection]] : []
}

/** What a rule of these sources may name: the tools that a run has or could be given, the agents, and the admission of a managed one. */
export function knownEffects({ declared, served }: ProjectNames, siblings: readonly string[]): ReadonlySet<string> {
  const targets = [...declared, ...siblings].map((name) => `delegate::${name}`)
  const tools = monitoringTools(unconfiguredApi({})).map(({ definition }) => definition.name)
  return new Set([...tools, ...READY_MADE_NAMES, ...served, ...targets, 'claude_code'])
}
