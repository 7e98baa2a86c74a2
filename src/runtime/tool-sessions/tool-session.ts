/**
 * A tool session of a project: an agent's tools, for a client that we do not trust. Who it acts as, which tools it sees, how
 * much it may use up (`bounds.ts`) and who judges is said by the embedding code and by nobody else (law 9).
 */
import { type AgentId, assert, Fault, type Hash, type InvocationId, type JsonObject } from '../../core/index.ts'
import { type DelegationTarget, targetMetadata } from '../../delegation/index.ts'
import type { AuditReference, Observation, ToolDefinition } from '../../events/index.ts'
import { type ClaimStore, fileClaims } from '../../invocations/index.ts'
import { type ApprovalQueue, type Gate, heldGate, restrictedBy, SURFACE, unattendedGate } from '../../policy/index.ts'
import { type BrokerCall, type CallOptions, GovernedToolSession, type IdentifiedOutcome } from '../../session/index.ts'
import { type Breakers, type Tool, toolbox } from '../../tools/index.ts'
import type { World } from '../../world/index.ts'
import type { Project } from '../project.ts'
import { sessionConfig, type ToolSessionBounds } from './bounds.ts'
import { LazyJournal } from './lazy-journal.ts'

export interface ToolSessionParts extends ToolSessionBounds {
  readonly world: World
  readonly project: Project
  /** Whom the client acts as. The policy in its source restricts every call. */
  readonly target: DelegationTarget
  /** Everything that may be offered. */
  readonly tools: readonly Tool[]
  readonly gate: Gate
  /** Where calls wait for a person. Without one, a call that needs an approval is refused. */
  readonly queue?: ApprovalQueue | null
  readonly breakers?: Breakers
  /** What the runtime knows of the client, for policies: `context.tool_client`. */
  readonly client?: JsonObject | undefined
  /** Called once when the session has ended and its journal is closed. */
  readonly onClosed?: () => void
}

/** A governed session with everything around it: its end ends its journal too, and withdraws what it still had held. */
export interface ToolSession extends AsyncDisposable {
  readonly target: DelegationTarget
  readonly principal: AgentId
  /** The tools that the client may name. */
  readonly definitions: readonly ToolDefinition[]
  /** Of these, the ones of which policy may allow some call at the moment, for a list of tools. It decides nothing. */
  permitted(signal?: AbortSignal): Promise<readonly ToolDefinition[]>
  readonly audit: AuditReference
  /** Aborted when the session takes no more calls. */
  readonly ended: AbortSignal
  /** Why, as its record will say it, or null. */
  readonly failureReason: string | null
  /** Calls that were attempted, refused ones included. */
  readonly attempts: number
  /** As `call` of a governed session. */
  call(call: BrokerCall, signal: AbortSignal, options?: CallOptions): Promise<Observation>
  /** As `call`, under an id of the caller: it is made at most once, and asked again it gives what was recorded. */
  callOnce(call: BrokerCall, by: CallerId, signal: AbortSignal, options?: CallOptions): Promise<IdentifiedOutcome>
  /** Interrupts what runs and refuses everything else. The reason is a constant, and goes into the evidence. */
  cancel(reason: string): void
  /** Waits for the tools and records the end; rejects when that was no clean one. Whoever asks again gets the same answer. */
  close(): Promise<void>
}

export interface CallerId {
  readonly id: InvocationId
  /** Names the caller, as a digest of its credential: an id of one caller is a conflict for every other. */
  readonly caller: Hash
}

class StartedSession implements ToolSession {
  readonly target: DelegationTarget
  readonly audit: AuditReference
  readonly #session: GovernedToolSession
  readonly #claims: ClaimStore
  readonly #letGo: () => Promise<void>
  #closing: Promise<void> | null = null

  constructor(parts: ToolSessionParts, session: GovernedToolSession, letGo: () => Promise<void>) {
    assert(session.audit !== null, 'a session that has started has a journal')
    this.target = parts.target
    this.audit = session.audit
    this.#claims = fileClaims(parts.world, parts.project.root)
    this.#session = session
    this.#letGo = letGo
  }

  get definitions(): readonly ToolDefinition[] {
    return this.#session.definitions
  }

  permitted(signal?: AbortSignal): Promise<readonly ToolDefinition[]> {
    return this.#session.permitted(signal)
  }

  get principal(): AgentId {
    return this.#session.principal
  }

  get ended(): AbortSignal {
    return this.#session.ended
  }

  get failureReason(): string | null {
    return this.#session.failureReason
  }

  get attempts(): number {
    return this.#session.attempts
  }

  call(call: BrokerCall, signal: AbortSignal, options?: CallOptions): Promise<Observation> {
    return this.#session.call(call, signal, options)
  }

  callOnce(call: BrokerCall, by: CallerId, signal: AbortSignal, options?: CallOptions): Promise<IdentifiedOutcome> {
    return this.#session.callOnce(call, { ...by, claims: this.#claims }, signal, options)
  }

  cancel(reason: string): void {
    this.#session.cancelWithReason(reason)
  }

  close(): Promise<void> {
    this.#closing ??= Promise.resolve().then(() => this.#end()) // closing tells that it ended, and who hears that may ask again
    return this.#closing
  }

  /** Never rejects: whoever wants to know how it ended calls `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close().catch(() => undefined)
  }

  async #end(): Promise<void> {
    try {
      await this.#session.close()
    } finally {
      await this.#letGo()
    }
  }
}

/** Throws `CONFIG_INVALID`, or what the journal has to say; then nothing is held, and no session was recorded. */
export async function startToolSession(parts: ToolSessionParts, signal: AbortSignal): Promise<ToolSession> {
  requireTarget(parts.target)
  const { world, project, target, tools, gate, queue = null, approvalTools = [], breakers, client = {} } = parts
  const log = new LazyJournal(world, project.governedFolder, target.principal)
  const box = toolbox({ tools, ...(breakers === undefined ? {} : { breakers }) }, world)
  try {
    const session = await GovernedToolSession.start(
      {
        world,
        principal: target.principal,
        gate: queue === null ? unattendedGate(gate, approvalTools) : heldGate(gate, queue, { tools: approvalTools }),
        toolbox: restrictedBy(box, target.policy),
        log,
        config: sessionConfig(parts, target, box.definitions()),
        trustedContext: {
          agent_definition: { ...targetMetadata(target), mode: 'tool_session' },
          surface: SURFACE.toolClient, // a session claims nothing, so nothing else would say which policies judged it
          tool_client: client,
        },
      },
      signal,
    )
    return new StartedSession(parts, session, async () => {
      await queue?.withdraw(session.binding)
      await log.close()
      parts.onClosed?.()
    })
  } catch (error) {
    await log.close()
    throw error
  }
}

/** A program without types may give the name of an agent, or the options of another function. */
function requireTarget(target: unknown): void {
  const { principal, policy } = (target ?? {}) as Partial<DelegationTarget>
  if (typeof principal === 'string' && typeof policy === 'object') return
  throw new Fault('CONFIG_INVALID', {
    message: 'Cannot open the tool session: its target is no agent of the project',
    hint: 'Give one of runtime.agents.targets; "openToolSession" of the package takes the name of an agent',
  })
}
