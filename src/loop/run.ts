/**
 * A run as its steps see it: what it was set up with, where it stands, and the recorder it writes with. Steps get it as
 * their first argument; only the lifecycle makes one.
 */
import type { BudgetScope } from '../budget/index.ts'
import type { RunContext, Toolbox } from '../calls/index.ts'
import type { AgentId, JsonObject, Timestamp } from '../core/index.ts'
import type {
  BudgetSnapshot,
  EventLog,
  LoopConfig,
  Observation,
  Recorder,
  TerminationReason,
  ToolDefinition,
  Usage,
} from '../events/index.ts'
import type { Gate } from '../policy/index.ts'
import type { Message, Provider } from '../providers/index.ts'
import type { World } from '../world/index.ts'
import type { ContextStrategy } from './context.ts'
import type { Delegates } from './delegates.ts'
import type { ResponseDelivery } from './delivery.ts'
import { Requests } from './request-text.ts'

export interface RunSetup {
  readonly world: World
  readonly principal: AgentId
  readonly provider: Provider
  readonly gate: Gate
  readonly toolbox: Toolbox
  /** The run's evidence. A run without one does not exist: `runLoop` refuses before any inference. */
  readonly log: EventLog
  readonly config: LoopConfig
  /** The conversation so far, the new user message last. */
  readonly messages: readonly Message[]
  /** Written only by the runtime or its embedding code (law 9). */
  readonly trustedContext?: JsonObject
  readonly contextStrategy?: ContextStrategy
  /** The allowance of a delegated run, within its parent's. Without it the run is a root and opens its own. */
  readonly budget?: BudgetScope
  /** Who runs delegations; without it a call named `delegate` is a tool call like any other. */
  readonly delegates?: Delegates
  /** Delivers the reply to somewhere outside, journalled as an effect; without it the reply is only returned. */
  readonly delivery?: ResponseDelivery
}

export interface LoopResult {
  /** Empty unless the reason is Completed. */
  readonly output: string
  readonly iterations: number
  readonly total_usage: Usage
  readonly budget: BudgetSnapshot
  readonly termination_reason: TerminationReason
  readonly durationMs: number
  readonly messages: readonly Message[]
}

export class Run {
  readonly setup: RunSetup
  readonly config: LoopConfig
  readonly startedAt: Timestamp
  readonly startedMs: number
  /** Monotonic end of the run. */
  readonly deadlineMs: number
  readonly budget: BudgetScope
  readonly recorder: Recorder
  readonly trustedContext: JsonObject
  readonly tools: readonly ToolDefinition[]
  readonly messages: Message[]
  readonly requests = new Requests()
  /** What this iteration brought back so far, denials included. */
  pendingObservations: Observation[] = []

  constructor(
    parts: Omit<Run, 'pendingObservations' | 'requests' | 'world' | 'iteration' | 'context' | 'nextIteration'>,
  ) {
    this.setup = parts.setup
    this.config = parts.config
    this.startedAt = parts.startedAt
    this.startedMs = parts.startedMs
    this.deadlineMs = parts.deadlineMs
    this.budget = parts.budget
    this.recorder = parts.recorder
    this.trustedContext = parts.trustedContext
    this.tools = parts.tools
    this.messages = parts.messages
  }

  get world(): World {
    return this.setup.world
  }

  get iteration(): number {
    return this.recorder.iteration
  }

  nextIteration(): number {
    this.recorder.iteration += 1
    return this.recorder.iteration
  }

  #context: RunContext | null = null

  /** What grants and approvals are bound to: one frozen object an iteration. */
  context(): RunContext {
    if (this.#context?.iteration !== this.iteration) {
      this.#context = Object.freeze({
        agent_id: this.setup.principal,
        started_at: this.startedAt,
        iteration: this.iteration,
        trusted_context: this.trustedContext,
        config: this.config,
      })
    }
    return this.#context as RunContext
  }
}

/** The end of the loop's body, before cleanup and the terminal record. */
export interface Finished {
  readonly kind: 'finished'
  readonly reason: TerminationReason
  readonly output: string
}

export function finished(reason: TerminationReason, output = ''): Finished {
  return { kind: 'finished', reason, output: reason === 'Completed' ? output : '' }
}

export function failedWith(message: string): Finished {
  return finished({ Error: { message } })
}
