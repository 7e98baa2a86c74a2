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
import { countActivity, processApi } from '../fleet/index.ts'
import { type ClaimOwner, fileClaims, type Receipt, runOnce } from '../invocations/index.ts'
import { streamingLog } from '../journal/index.ts'
import { type LoopResult, runLoop } from '../loop/index.ts'
import { type Gate, type PolicyNews, restrictedBy, type WatchedGate, watchedGate } from '../policy/index.ts'
import type { Provider } from '../providers/index.ts'
import { monitoringTools, toolbox } from '../tools/index.ts'
import type { World } from '../world/index.ts'
import type { Project } from './project.ts'
import { type RunResult, readRunResult, runResultAgrees, runResultOf } from './run-result.ts'

/** The entry point, as claims know it. */
export const RUN_SCOPE = 'cli:orga'
/** The folder of policies for runs that a person starts, beside the shared one. */
const SURFACE = 'run'

const RUN_LIMITS = { max_iterations: 10, max_total_tokens: 100_000 } as const satisfies Partial<LoopConfig>
const TIMEOUT_SECONDS_MAX = 300

export interface AgentRunOptions {
  readonly world: World
  readonly project: Project
  readonly provider: Provider
  readonly target: DelegationTarget
  readonly input: string
  readonly id: InvocationId
  /** Default 10. */
  readonly maxIterations?: number
  /** Who answers for policy. Default: the project's `policies` and `policies/run`. */
  readonly gate?: Gate
  /** Development only: switches policy off, and tells `warn` at every action. */
  readonly insecureAllowAll?: { readonly warn: (message: string) => void }
  readonly onPolicies?: (news: PolicyNews) => void
  /** What the monitoring tools look at. Default: this process. */
  readonly api?: RuntimeApi
  /** Told where the evidence lies, before the model is asked anything. */
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
 * Throws `INVOCATION_CONFLICT`, and what storage has to say, before anything ran. A cancelled run records its end like any
 * other, and that is its result.
 */
export async function runAgent(options: AgentRunOptions, signal: AbortSignal): Promise<AgentRun> {
  const config = configOf(options)
  const watched = options.gate === undefined ? await projectGate(options) : null
  try {
    const { world, project, target, id } = options
    const request = { scope: RUN_SCOPE, id, request: requestOf(options, config), principal: target.principal }
    const opened = await fileClaims(world, project.root).open({ ...request, agrees: runResultAgrees }, signal)
    if (opened.kind === 'Recorded') {
      return { kind: 'Recorded', audit: opened.audit, result: readRunResult(opened.result), replayed: true }
    }
    if (opened.kind !== 'Fresh') return opened
    return await runClaimed(options, { owner: opened.owner, gate: options.gate ?? (watched as Gate), config }, signal)
  } finally {
    watched?.[Symbol.dispose]()
  }
}

/** The source can only tighten the time that a run may take. */
function configOf({ target, maxIterations }: AgentRunOptions): LoopConfig {
  const seconds = Math.min(target.timeout_seconds ?? TIMEOUT_SECONDS_MAX, TIMEOUT_SECONDS_MAX)
  const own = maxIterations === undefined ? {} : { max_iterations: maxIterations }
  const config = { ...DEFAULT_LOOP_CONFIG, ...RUN_LIMITS, timeout: durationOf(seconds * 1000), ...own }
  return fit(loopConfigShape, config, 'the limits of the run', 'CONFIG_INVALID')
}

function projectGate({ world, project, insecureAllowAll, onPolicies }: AgentRunOptions): Promise<WatchedGate> {
  return watchedGate(world, {
    folder: project.policyFolder,
    surface: SURFACE,
    ...(insecureAllowAll === undefined ? {} : { insecureAllowAll }),
    report: onPolicies ?? (() => undefined),
  })
}

function requestOf({ target, input }: AgentRunOptions, { max_iterations }: LoopConfig): Json {
  const { name, source_hash, declaration_hash } = target
  return { version: 1, agent: { name, source_hash, declaration_hash }, input, max_iterations }
}

interface Claimed {
  readonly owner: ClaimOwner
  readonly gate: Gate
  readonly config: LoopConfig
}

async function runClaimed(options: AgentRunOptions, claimed: Claimed, signal: AbortSignal): Promise<AgentRun> {
  const { audit } = claimed.owner
  let isAtWork = false
  try {
    const ran = await runOnce(claimed.owner, async (log) => {
      options.onOpened?.(audit)
      isAtWork = true
      const observed = streamingLog(log, (entry) => options.onEntry?.(entry))
      return runResultOf(await loopOf(options, claimed, observed, signal))
    })
    return ran.kind === 'Recorded' ? { ...ran, audit, replayed: false } : { kind: 'Unresolved', audit }
  } catch (error) {
    if (!isAtWork || !isFault(error)) throw error
    throw new Fault('INVOCATION_UNRESOLVED', {
      message: `The run ended, but its result could not be recorded: ${error.message}`,
      hint: `Inspect it with "symbi invocation inspect --scope ${RUN_SCOPE}"; it does not run again`,
      cause: error,
    })
  }
}

async function loopOf(
  options: AgentRunOptions,
  { owner, gate, config }: Claimed,
  log: EventLog,
  signal: AbortSignal,
): Promise<LoopResult> {
  const { world, provider, target, input } = options
  const { principal, name, declaration, policy } = target
  const activity = countActivity(world.clock)
  const startedAtMs = world.clock.monotonicMs()
  const api = options.api ?? processApi({ world, version: VERSION, startedAtMs, principal, agentName: name, activity })
  const ended = activity.runStarted()
  const result = await runLoop(
    {
      world,
      principal: owner.principal,
      provider,
      gate,
      toolbox: restrictedBy(toolbox({ tools: monitoringTools(api) }, world), policy),
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
  ended(result.termination_reason === 'Completed' ? 'succeeded' : 'failed')
  return result
}
