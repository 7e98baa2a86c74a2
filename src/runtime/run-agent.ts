/**
 * One governed run of one agent, started by hand: claimed under an id, so that it runs once whatever happens; restricted by
 * the policy in its source and judged by the project's; and its end recorded before anybody hears of it.
 *
 * The same id and request again gives what was recorded, and nothing runs. The request is the agent with the text of its
 * source, the input and the limits: after an edit the id means something else, and is refused (4.1).
 */
import type { RuntimeApi } from '../api/index.ts'
import { durationOf, Fault, fit, type InvocationId, isFault, type Json, VERSION } from '../core/index.ts'
import { agentPrompt, type DelegationTarget, targetMetadata } from '../delegation/index.ts'
import {
  type AuditReference,
  DEFAULT_LOOP_CONFIG,
  type EventLog,
  type LoopConfig,
  loopConfigShape,
  type NewEntry,
} from '../events/index.ts'
import { countActivity, processApi, type RunOutcome } from '../fleet/index.ts'
import { type ClaimOwner, type Existing, fileClaims, type Receipt, runOnce } from '../invocations/index.ts'
import { streamingLog } from '../journal/index.ts'
import { type LoopResult, runLoop } from '../loop/index.ts'
import { ApprovalQueue, escalationGate, type Gate, restrictedBy, SURFACE, unattendedGate } from '../policy/index.ts'
import type { Provider } from '../providers/index.ts'
import { monitoringTools, type Tool, toolbox } from '../tools/index.ts'
import type { World } from '../world/index.ts'
import type { Project } from './project.ts'
import { type ProjectGateOptions, projectGate } from './project-gate.ts'
import { type ReadyMadeTools, readyMadeTools } from './ready-made.ts'
import { type RunResult, readRunResult, runResultAgrees, runResultOf } from './run-result.ts'
import type { ApprovalSettings } from './runtime.ts'

/** The entry point, as claims know it. */
export const RUN_SCOPE = 'cli:orga'

const RUN_LIMITS = { max_iterations: 10, max_total_tokens: 100_000 } as const satisfies Partial<LoopConfig>
const TIMEOUT_SECONDS_MAX = 300

export interface AgentRunOptions extends ProjectGateOptions {
  readonly world: World
  readonly project: Project
  /** Asked for only before a run that is new: a saved result needs no model. When it throws, nothing is claimed. */
  readonly provider: Provider | (() => Promise<Provider>)
  readonly target: DelegationTarget
  readonly input: string
  readonly id: InvocationId
  /** Default 10. */
  readonly maxIterations?: number
  /** Who answers for policy. Default: the project's `policies` and `policies/run`. */
  readonly gate?: Gate
  /**
   * What needs a person. Without a notifier nobody can be asked, and such calls are refused at once; with one, the wait
   * ends with the run at the latest. A `gate` of your own is asked alone unless this is given.
   */
  readonly approvals?: ApprovalSettings
  /** The ready-made tools, beside the monitoring tools. Default: none. */
  readonly readyMade?: ReadyMadeTools
  /** What the monitoring tools look at. Default: this process. */
  readonly api?: RuntimeApi
  /** Tools beside the monitoring tools. Asked for only before a run that is new; when it throws, nothing is claimed. */
  readonly tools?: () => Promise<readonly Tool[]>
  /** Told where the evidence lies, before the model is asked anything. What it throws is its own affair. */
  readonly onOpened?: (audit: AuditReference) => void
  /** Shown each entry once it is durable. */
  readonly onEntry?: (entry: NewEntry) => void
}

export type AgentRun =
  | {
      readonly kind: 'Recorded'
      readonly audit: AuditReference
      readonly result: RunResult
      readonly replayed: boolean
    }
  | { readonly kind: 'Unresolved'; readonly audit: AuditReference | null }
  | { readonly kind: 'InProgress' }
  | { readonly kind: 'Reconciled'; readonly audit: AuditReference; readonly resolution: Receipt }

/**
 * Throws before anything ran: `INVOCATION_CONFLICT`, and what storage, the policies or the choice of a model have to say.
 * Throws after it ran: `INVOCATION_UNRESOLVED`, when its end could not be recorded; the id is then closed. A cancelled run
 * records its end like any other, and that is its result.
 */
export async function runAgent(options: AgentRunOptions, signal: AbortSignal): Promise<AgentRun> {
  const config = configOf(options)
  const { world, project, target, id } = options
  const claims = fileClaims(world, project.root)
  const asked = { scope: RUN_SCOPE, id, request: requestOf(options, config), principal: target.principal }
  const request = { ...asked, agrees: runResultAgrees }
  const known = await claims.lookup(request, signal)
  if (known.kind !== 'NotFound') return existing(known)
  const provider = typeof options.provider === 'function' ? await options.provider() : options.provider
  const tools = (await options.tools?.()) ?? []
  const readyMade = await readyMadeTools(options.readyMade ?? {}, world)
  const watched = options.gate === undefined ? await projectGate(world, project, SURFACE.run, options) : null
  try {
    const opened = await claims.open(request, signal)
    if (opened.kind !== 'Fresh') return existing(opened) // somebody was faster
    await using attended = await attendedGate(options, options.gate ?? (watched as Gate))
    return await runClaimed(
      options,
      { owner: opened.owner, provider, tools: [...readyMade, ...tools], gate: attended.gate, config },
      signal,
    )
  } finally {
    watched?.[Symbol.dispose]()
  }
}

function existing(found: Existing): AgentRun {
  if (found.kind !== 'Recorded') return found
  return { kind: 'Recorded', audit: found.audit, result: readRunResult(found.result), replayed: true }
}

/** The source can only tighten the time that a run may take. */
function configOf({ target, maxIterations }: AgentRunOptions): LoopConfig {
  const seconds = Math.min(target.timeout_seconds ?? TIMEOUT_SECONDS_MAX, TIMEOUT_SECONDS_MAX)
  const own = maxIterations === undefined ? {} : { max_iterations: maxIterations }
  const config = { ...DEFAULT_LOOP_CONFIG, ...RUN_LIMITS, timeout: durationOf(seconds * 1000), ...own }
  return fit(loopConfigShape, config, 'the limits of the run', 'CONFIG_INVALID')
}

interface Attended extends AsyncDisposable {
  readonly gate: Gate
}

/** The queue of a run is its own: a server beside it neither sees it nor takes what it holds for its own. */
async function attendedGate(options: AgentRunOptions, gate: Gate): Promise<Attended> {
  const { world, project, approvals } = options
  if (options.gate !== undefined && approvals === undefined)
    return { gate, [Symbol.asyncDispose]: async () => undefined }
  const { notifiers = [] } = approvals ?? {}
  if (notifiers.length === 0) {
    return { gate: unattendedGate(gate, approvals?.tools ?? []), [Symbol.asyncDispose]: async () => undefined }
  }
  const queue = await ApprovalQueue.open(world, project.approvalFolder, { notifiers })
  return { gate: escalationGate(gate, queue, approvals), [Symbol.asyncDispose]: () => queue[Symbol.asyncDispose]() }
}

function requestOf({ target, input }: AgentRunOptions, { max_iterations }: LoopConfig): Json {
  const { name, source_hash, declaration_hash } = target
  return { version: 1, agent: { name, source_hash, declaration_hash }, input, max_iterations }
}

interface Claimed {
  readonly owner: ClaimOwner
  readonly provider: Provider
  readonly tools: readonly Tool[]
  readonly gate: Gate
  readonly config: LoopConfig
}

async function runClaimed(options: AgentRunOptions, claimed: Claimed, signal: AbortSignal): Promise<AgentRun> {
  const { audit } = claimed.owner
  try {
    const ran = await runOnce(claimed.owner, async (log) => {
      quietly(() => options.onOpened?.(audit))
      const observed = streamingLog(log, (entry) => options.onEntry?.(entry))
      return runResultOf(await loopOf(options, claimed, observed, signal))
    })
    return ran.kind === 'Recorded' ? { ...ran, audit, replayed: false } : { kind: 'Unresolved', audit }
  } catch (error) {
    if (!isFault(error)) throw error
    throw new Fault('INVOCATION_UNRESOLVED', {
      message: `The run ended, but its result could not be recorded: ${error.message}`,
      hint: `Inspect it with "symbi invocation inspect --scope ${RUN_SCOPE}"; it does not run again`,
      cause: error,
    })
  }
}

/** Somebody who only watches cannot use up the id: the claim is taken, and nothing ran yet. */
function quietly(tell: () => void): void {
  try {
    tell()
  } catch {
    // as `streamingLog` does for entries
  }
}

async function loopOf(
  options: AgentRunOptions,
  { owner, provider, tools, gate, config }: Claimed,
  log: EventLog,
  signal: AbortSignal,
): Promise<LoopResult> {
  const { world, target, input } = options
  const { principal, name, declaration, policy } = target
  const activity = countActivity(world.clock)
  const startedAtMs = world.clock.monotonicMs()
  const api = options.api ?? processApi({ world, version: VERSION, startedAtMs, principal, agentName: name, activity })
  const ended = activity.runStarted()
  let outcome: RunOutcome = 'unresolved'
  try {
    const result = await runLoop(
      {
        world,
        principal: owner.principal,
        provider,
        gate,
        toolbox: restrictedBy(toolbox({ tools: [...monitoringTools(api), ...tools] }, world), policy),
        log,
        config,
        messages: [
          { role: 'system', content: agentPrompt(name, declaration) },
          { role: 'user', content: input },
        ],
        trustedContext: { agent_definition: targetMetadata(target) },
      },
      signal,
    )
    outcome = result.termination_reason === 'Completed' ? 'succeeded' : 'failed'
    return result
  } finally {
    ended(outcome)
  }
}
