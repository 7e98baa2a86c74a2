/** The tool sessions of an open runtime: its tools, its breakers, and one gate for all of them, opened with the first. */
import type { RuntimeApi } from '../../api/index.ts'
import type { JsonObject } from '../../core/index.ts'
import type { DelegationTarget } from '../../delegation/index.ts'
import { type ApprovalQueue, type Gate, SURFACE } from '../../policy/index.ts'
import { monitoringTools, openBreakers, type Tool } from '../../tools/index.ts'
import type { World } from '../../world/index.ts'
import type { Project } from '../project.ts'
import { projectGate } from '../project-gate.ts'
import type { RuntimeOptions } from '../runtime.ts'
import type { ToolSessionBounds } from './bounds.ts'
import type { ToolSession } from './tool-session.ts'

export interface ClientSessionOptions extends ToolSessionBounds {
  /** What policies may know of the client: `context.tool_client`. */
  readonly client?: JsonObject
}

export interface ToolClients {
  open(target: DelegationTarget, options: ClientSessionOptions, signal: AbortSignal): Promise<ToolSession>
  close(): Promise<void>
}

type Options = Pick<RuntimeOptions, 'tools' | 'gate' | 'approvals' | 'insecureAllowAll' | 'onPolicies'>

interface Around {
  readonly world: World
  readonly project: Project
  readonly api: RuntimeApi
  readonly queue: ApprovalQueue
  readonly readyMade: readonly Tool[]
}

export function toolClientsOf(options: Options, { world, project, api, queue, readyMade }: Around): ToolClients {
  const breakers = openBreakers(world.clock)
  const tools = [...monitoringTools(api), ...readyMade, ...(options.tools ?? [])]
  const always = options.approvals?.tools ?? []
  let watched: Promise<Gate & Disposable> | null = null
  const gateOf = async (): Promise<Gate> => {
    if (options.gate !== undefined) return options.gate
    watched ??= projectGate(world, project, SURFACE.toolClient, options)
    return await watched
  }
  return {
    open: async (target, bounds, signal) => {
      const approvalTools = [...always, ...(bounds.approvalTools ?? [])] // a session needs more approvals, never fewer
      const parts = { ...bounds, approvalTools, world, project, target, tools, breakers, queue, gate: await gateOf() }
      const { startToolSession } = await import('./tool-session.ts') // a server starts sooner without it
      return await startToolSession(parts, signal)
    },
    close: async () => (await watched)?.[Symbol.dispose](),
  }
}
