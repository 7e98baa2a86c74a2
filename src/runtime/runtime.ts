/**
 * The one place where the parts meet. `openRuntime` puts a project, a model and a gate together and gives back something
 * to talk to, in this process or over sockets. Who opens it closes it: after `close` nothing of it is held, and every run
 * it started has recorded its end.
 */
import type { RuntimeApi } from '../api/index.ts'
import type { Toolbox } from '../calls/index.ts'
import { Coordinator, type SdkSession, type ServerMessage, systemPrompt } from '../coordinator/index.ts'
import { type AgentId, fit, newId, VERSION } from '../core/index.ts'
import {
  type AgentRegistry,
  buildRegistry,
  type DelegationTarget,
  openDelegation,
  readAgentFolder,
} from '../delegation/index.ts'
import { DEFAULT_LOOP_CONFIG, type LoopConfig, loopConfigShape } from '../events/index.ts'
import { type Activity, countActivity, processApi } from '../fleet/index.ts'
import { fileClaims } from '../invocations/index.ts'
import type { Delegates } from '../loop/index.ts'
import { ApprovalQueue, escalationGate, type Gate, type Notifier, SURFACE } from '../policy/index.ts'
import type { Provider } from '../providers/index.ts'
import { monitoringTools, openBreakers, type Tool, toolbox } from '../tools/index.ts'
import { nodeWorld, type World } from '../world/index.ts'
import { type AskOptions, ask, type Reply } from './ask.ts'
import { openProject, type Project } from './project.ts'
import { type ProjectGateOptions, projectGate } from './project-gate.ts'
import { type ReadyMadeTools, readyMadeTools } from './ready-made.ts'
import { type ClientSessionOptions, toolClientsOf } from './tool-sessions/tool-clients.ts'
import type { ToolSession } from './tool-sessions/tool-session.ts'

/** What the coordinator overrides of the loop's defaults. */
export const COORDINATOR_LIMITS = {
  max_iterations: 10,
  max_total_tokens: 50_000,
  timeout: { secs: 120, nanos: 0 },
} as const satisfies Partial<LoopConfig>

export interface RuntimeOptions extends ProjectGateOptions {
  /** The project's folder. Journals, claims and the signing key lie below its `.symbiont`. */
  readonly project: string
  /** The model: `providerFromSettings`, `openAiCompatible`, `anthropic`, `scripted`, or your own. */
  readonly provider: Provider
  /** Your tools, beside the six monitoring tools. Each needs a policy that permits it. */
  readonly tools?: readonly Tool[]
  /** The ready-made tools, for chats and for delegated runs. Default: none. */
  readonly readyMade?: ReadyMadeTools
  /** What the monitoring tools look at. Default: this process. */
  readonly api?: RuntimeApi
  /** Overrides of the loop's limits; see `DEFAULT_LOOP_CONFIG` and `COORDINATOR_LIMITS`. */
  readonly limits?: Partial<LoopConfig>
  /** Who answers for policy. Default: the project's `policies` and `policies/coordinator`, watched while they change. */
  readonly gate?: Gate
  /**
   * What needs a person, and how long it waits. Calls whose tool says that it requires approval are held in any case, except
   * under a `gate` of your own: that one is asked alone unless this is given.
   */
  readonly approvals?: ApprovalSettings
  /** Told what went wrong where no caller can be told. */
  readonly report?: (what: string, error: unknown) => void
  readonly world?: World
}

export interface ApprovalSettings {
  /** How long a person has. Default 120,000; never longer than the run has left. */
  readonly timeoutMs?: number
  /** Tools that are always held; a delegation counts as `delegate`. */
  readonly tools?: readonly string[]
  /** Told of each held action from when it is held to when it is decided, or over; also of those of tool sessions. */
  readonly notifiers?: readonly Notifier[]
}

export interface Runtime extends AsyncDisposable {
  readonly project: Project
  readonly world: World
  /** What was found in `agents/` when the runtime was opened: what can be delegated to, and what cannot, and why. */
  readonly agents: AgentRegistry
  readonly coordinator: Coordinator
  readonly api: RuntimeApi
  /** What is held at the moment, and where it is decided. */
  readonly approvals: ApprovalQueue
  readonly activity: Activity
  readonly principal: AgentId
  /** One governed turn in this process. The reply says what happened and where the evidence lies. */
  ask(content: string, options?: AskOptions): Promise<Reply>
  /** A conversation in this process: every message goes to your function, in order. */
  session(onMessage: (message: ServerMessage) => void | Promise<void>): SdkSession
  /**
   * The agent's tools for a client that is not trusted, under `policies` and `policies/mcp-server`. Whoever opens it closes
   * it, before the runtime.
   */
  openToolSession(target: DelegationTarget, options: ClientSessionOptions, signal: AbortSignal): Promise<ToolSession>
  /** Cancels what runs, waits until every run recorded its end, and lets go. Idempotent. */
  close(): Promise<void>
}

export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const world = options.world ?? nodeWorld()
  const config = limitsOf(options)
  const project = await openProject(world, options.project)
  const principal = newId('agent', world.random)
  const activity = countActivity(world.clock)
  const report = options.report ?? (() => undefined)
  const api =
    options.api ?? processApi({ world, version: VERSION, startedAtMs: world.clock.monotonicMs(), principal, activity })
  const agents = buildRegistry(await readAgentFolder(world, project.agentFolder))
  const readyMade = await readyMadeTools(options.readyMade ?? {}, world)
  const { box, delegates } = toolsOf(options, { world, project, api, agents, activity, readyMade })
  box.validate()
  const approvals = await ApprovalQueue.open(world, project.approvalFolder, {
    report,
    notifiers: options.approvals?.notifiers ?? [],
  })
  const gate = options.gate ?? (await projectGate(world, project, SURFACE.chat, options))
  const coordinator = new Coordinator({
    world,
    claims: fileClaims(world, project.root),
    provider: options.provider,
    gate: attended(gate, approvals, options),
    toolbox: box,
    delegates,
    config,
    principal,
    systemPrompt: systemPrompt(box.definitions()),
    activity,
    report,
  })
  const toolClients = toolClientsOf(options, { world, project, api, queue: approvals, readyMade })
  let closed: Promise<void> | null = null
  const close = (): Promise<void> => {
    closed ??= coordinator.close().then(async () => {
      if (options.gate === undefined && Symbol.dispose in gate) (gate as Disposable)[Symbol.dispose]()
      await toolClients.close()
      await approvals[Symbol.asyncDispose]()
    })
    return closed
  }
  return {
    project,
    world,
    agents,
    coordinator,
    api,
    approvals,
    activity,
    principal,
    ask: (content, askOptions) => ask(coordinator, world, content, askOptions),
    session: (onMessage) => coordinator.sdkSession(onMessage),
    openToolSession: toolClients.open,
    close,
    [Symbol.asyncDispose]: close,
  }
}

function attended(gate: Gate, queue: ApprovalQueue, { gate: own, approvals }: RuntimeOptions): Gate {
  return own !== undefined && approvals === undefined ? gate : escalationGate(gate, queue, approvals)
}

/** Checked before anything is opened: a limit that is no number is compared with nothing, and would use ids up in failures. */
function limitsOf({ limits }: RuntimeOptions): LoopConfig {
  const config = { ...DEFAULT_LOOP_CONFIG, ...COORDINATOR_LIMITS, ...limits }
  return fit(loopConfigShape, config, 'the limits of the runtime', 'CONFIG_INVALID')
}

interface Surroundings {
  readonly world: World
  readonly project: Project
  readonly api: RuntimeApi
  readonly agents: AgentRegistry
  readonly activity: Activity
  readonly readyMade: readonly Tool[]
}

/**
 * The coordinator's tools. Where there is an agent to delegate to, one more. A delegated run has what a run by hand has: the
 * monitoring tools and the ready-made ones, as far as the policies of the project and of its agent let it.
 */
function toolsOf(
  options: RuntimeOptions,
  { world, project, api, agents, activity, readyMade }: Surroundings,
): { readonly box: Toolbox; readonly delegates: Delegates | null } {
  const breakers = openBreakers(world.clock) // a tool that fails for one run fails for all
  const shared = [...monitoringTools(api), ...readyMade]
  const own = toolbox({ tools: [...shared, ...(options.tools ?? [])], breakers }, world)
  if (agents.targets.length === 0) return { box: own, delegates: null }
  const childToolbox = toolbox({ tools: shared, breakers }, world)
  const delegation = openDelegation(
    {
      registry: agents,
      toolbox: own,
      childToolbox,
      governedFolder: project.governedFolder,
      onChild: () => activity.runStarted(),
    },
    world,
  )
  return { box: delegation.toolbox, delegates: delegation.delegates }
}
