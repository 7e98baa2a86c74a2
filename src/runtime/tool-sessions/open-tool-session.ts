/** A tool session for whoever has no runtime open: everything that it needs is opened with it, and closed with it. */
import type { RuntimeApi } from '../../api/index.ts'
import { type JsonObject, VERSION } from '../../core/index.ts'
import { type DelegationTarget, findAgentSource, runnableAgent } from '../../delegation/index.ts'
import { countActivity, processApi } from '../../fleet/index.ts'
import { type ApprovalQueue, type Gate, SURFACE } from '../../policy/index.ts'
import { monitoringTools, type Tool } from '../../tools/index.ts'
import { nodeWorld, type World } from '../../world/index.ts'
import { openProject } from '../project.ts'
import { type ProjectGateOptions, projectGate } from '../project-gate.ts'
import { type ReadyMadeTools, readyMadeTools } from '../ready-made.ts'
import type { ToolSessionBounds } from './bounds.ts'
import type { ToolSession } from './tool-session.ts'

export interface ToolSessionOptions extends ToolSessionBounds, ProjectGateOptions {
  /** The project's folder. */
  readonly project: string
  /** Whom the client acts as: a name in the folder "agents", or a path, as for "symbi run". */
  readonly agent: string
  /** Your tools, beside the six monitoring tools. Each needs a policy that permits it. */
  readonly tools?: readonly Tool[]
  /** The ready-made tools. Default: none. */
  readonly readyMade?: ReadyMadeTools
  /** What the monitoring tools look at. Default: this process. */
  readonly api?: RuntimeApi
  /** Who answers for policy. Default: the project's `policies` and `policies/mcp-server`, watched while they change. */
  readonly gate?: Gate
  /** Where calls wait for a person. Default: nowhere, and a call that needs an approval is refused. */
  readonly queue?: ApprovalQueue | null
  /** What policies may know of the client: `context.tool_client`. */
  readonly client?: JsonObject
  readonly world?: World
}

/** Throws what a missing project, an unusable agent or unsafe storage have to say; then nothing is held. */
export async function openToolSession(options: ToolSessionOptions, signal: AbortSignal): Promise<ToolSession> {
  const { startToolSession } = await import('./tool-session.ts') // what a runtime without sessions does not need
  const world = options.world ?? nodeWorld()
  const project = await openProject(world, options.project)
  const target = runnableAgent(await findAgentSource(world, project.root, options.agent))
  const readyMade = await readyMadeTools(options.readyMade ?? {}, world)
  const watched = options.gate === undefined ? await projectGate(world, project, SURFACE.toolClient, options) : null
  const free = (): void => watched?.[Symbol.dispose]()
  try {
    const { api, tools = [], readyMade: _, gate = watched as Gate, ...bounds } = options
    const all = [...monitoringTools(api ?? ownApi(world, target)), ...readyMade, ...tools]
    return await startToolSession({ ...bounds, world, project, target, tools: all, gate, onClosed: free }, signal)
  } catch (error) {
    free()
    throw error
  }
}

function ownApi(world: World, { name, principal }: DelegationTarget): RuntimeApi {
  const startedAtMs = world.clock.monotonicMs()
  return processApi({
    world,
    version: VERSION,
    startedAtMs,
    principal,
    agentName: name,
    activity: countActivity(world.clock),
  })
}
