/**
 * A governed tool session: the calls of one untrusted client under one principal that the operator fixed. The client says an
 * id, a tool and arguments; everything else, policy, tools, trusted context, time and journal, is the runtime's (law 9).
 *
 * Owns the life: `start` records it before anybody is let in, every call takes its turn, and `close` records how it ended.
 * The steps stand beside: `start-checks.ts`, `calls.ts`, `host-admission.ts`, `external.ts` and `ending.ts`.
 */
import type { Toolbox } from '../calls/index.ts'
import type { AgentId, Hash, JsonObject } from '../core/index.ts'
import type {
  AuditReference,
  Event,
  EventLog,
  LoopConfig,
  Observation,
  ProposedAction,
  TerminationReason,
  ToolDefinition,
} from '../events/index.ts'
import type { Gate } from '../policy/index.ts'
import { neverStopped, type World } from '../world/index.ts'
import type { BrokerCall } from './broker-call.ts'
import type { IdentifiedOutcome } from './call-result.ts'
import { makeCall } from './calls.ts'
import { endSession } from './ending.ts'
import { type ExternalGuard, externalGuard, recordExternal } from './external.ts'
import { admitHostAction } from './host-admission.ts'
import { type CallIdentity, makeIdentifiedCall } from './identified-call.ts'
import { permittedTools } from './permitted.ts'
import { begin } from './start.ts'
import { SessionState } from './state.ts'

export interface SessionSetup {
  readonly world: World
  /** For whom every call is made; no client can change it. */
  readonly principal: AgentId
  readonly gate: Gate
  readonly toolbox: Toolbox
  /** The session's evidence. Its durability is the durability of the session's promises. */
  readonly log: EventLog
  /** `max_iterations`: 1 to 1000 calls. `timeout`: up to a day, for the session. `tool_definitions`: what is offered; all by default. */
  readonly config: LoopConfig
  /** Written only by the runtime or its embedding code (law 9). */
  readonly trustedContext?: JsonObject
  /** How much of `timeout` was used before, in milliseconds. Default 0. */
  readonly ageMs?: number
  /** Of entries outside a call. Default 0. */
  readonly iteration?: number
  /** The binding under which requests for approval are held. Default: the session's own. */
  readonly session?: Hash
}

export interface CallOptions {
  /** The handle of a call that was held, when the same call comes back. A name and no authority. */
  readonly presented?: string | null
}

export class GovernedToolSession implements Disposable {
  readonly #state: SessionState

  private constructor(state: SessionState) {
    this.#state = state
  }

  /**
   * Checks everything, records `Started`, and only then lets anybody in. Throws `CONFIG_INVALID`, `TOOL_SESSION_EXPIRED`, or
   * what the journal has to say; then there is no session, and the tools were told to stop.
   */
  static async start(setup: SessionSetup, signal: AbortSignal = neverStopped()): Promise<GovernedToolSession> {
    const state = new SessionState(setup)
    await begin(state, signal)
    return new GovernedToolSession(state)
  }

  /** The tools that the client may name. */
  get definitions(): readonly ToolDefinition[] {
    return this.#state.config.tool_definitions ?? []
  }

  /**
   * Of these, the ones of which some call may be allowed at the moment: for a list of tools. What it leaves out may be called
   * all the same, and is judged like every other call. It decides nothing, counts as no call and waits for none.
   */
  permitted(signal: AbortSignal = neverStopped()): Promise<readonly ToolDefinition[]> {
    return permittedTools(this.#state.setup, this.definitions, signal)
  }

  get principal(): AgentId {
    return this.#state.setup.principal
  }

  /** Names the session to tools and in its journal: `<agent_id>:<started_at>`. */
  get runKey(): string {
    return this.#state.runKey
  }

  /** What requests for approval are bound to: withdraw them by it when the session has ended. */
  get binding(): Hash {
    return this.#state.setup.session ?? this.#state.binding
  }

  get audit(): AuditReference | null {
    return this.#state.log.audit
  }

  /** Monotonic; passed means now >= deadlineMs. */
  get deadlineMs(): number {
    return this.#state.deadlineMs
  }

  /** Calls that were attempted, refused ones included. */
  get attempts(): number {
    return this.#state.attempts
  }

  /** Aborted when the session is cancelled, poisoned or closed: it takes no more calls. */
  get ended(): AbortSignal {
    return this.#state.stopped
  }

  /** The diagnostic that is kept for the terminal record: a constant of the runtime, or null. */
  get failureReason(): string | null {
    return this.#state.failureReason
  }

  /** What the terminal record says, once it is durable. */
  get termination(): TerminationReason | null {
    return this.#state.termination
  }

  /**
   * One call, in turn. A denial, a failed tool and a held call are observations. Rejects with `CALL_INVALID`,
   * `PAYLOAD_TOO_LARGE` and `CALL_ID_USED`, which leave the session usable; `TOOL_SESSION_*`, when it takes no more calls; and
   * with `CALL_UNCONFIRMED` or what the journal says, when nobody knows what became of the call. The signal is the caller:
   * aborting it while the call is at work leaves the session poisoned.
   */
  call(call: BrokerCall, signal: AbortSignal, { presented = null }: CallOptions = {}): Promise<Observation> {
    return makeCall(this.#state, call, presented, signal)
  }

  /**
   * As `call`, for a call that its caller gave an id: a run of its own with its own journal, which executes at most once
   * whatever the caller repeats. The first to ask with the id runs it; everybody after, in any session, is told what became
   * of it. Rejects also with `INVOCATION_CONFLICT`, `INVOCATION_UNRESOLVED` and what the store of claims has to say; a session
   * is poisoned only by a run that had begun and did not complete.
   */
  callOnce(
    call: BrokerCall,
    identity: CallIdentity,
    signal: AbortSignal,
    { presented = null }: CallOptions = {},
  ): Promise<IdentifiedOutcome> {
    return makeIdentifiedCall(this.#state, call, identity, presented, signal)
  }

  /**
   * One action of the trusted host, before the client's first call, with tools of its own. Never reachable from a client.
   * Rejects with `HOST_ACTION_REFUSED` when it is not admitted; everything later but one good observation poisons.
   */
  dispatchHostAction(toolbox: Toolbox, action: ProposedAction, signal: AbortSignal): Promise<readonly Observation[]> {
    return admitHostAction(this.#state, toolbox, action, signal)
  }

  /** Makes an entry about an effect of the host durable, in turn with the calls. */
  recordExternal(event: Event, signal: AbortSignal = neverStopped()): Promise<void> {
    return recordExternal(this.#state, event, signal)
  }

  /** Held by the host around an effect outside the dispatcher. */
  externalGuard(): ExternalGuard {
    return externalGuard(this.#state)
  }

  /** Refuses every further call, interrupts the one at work, and tells the tools to stop. Waits for nothing. */
  cancel(): void {
    this.#state.cancel()
  }

  /** As `cancel`. The reason must be a constant: it goes into the evidence, and the first one is kept. */
  cancelWithReason(reason: string): void {
    this.#state.cancelWithReason(reason)
  }

  /**
   * Waits until the tools are gone and the end is durable. Rejects, with everything recorded that could be, when the session
   * did not complete: `TOOL_SESSION_FAILED`, or what the journal says.
   */
  close(): Promise<void> {
    return endSession(this.#state)
  }

  /** Releases the session without waiting: it is cancelled, and its journal has no end. */
  [Symbol.dispose](): void {
    this.#state.cancel()
  }
}
