/**
 * Toolbox: the port behind which tools live. Calls declares it; `tools` and the embedding code make it, and `dispatch`
 * alone reaches its `execute`, because only a spent grant gives an authorised call.
 */
import type { JsonObject } from '../core/index.ts'
import type { Observation, ProposedAction, ToolDefinition, ToolEffect } from '../events/index.ts'
import type { AuthorisedCall } from './grant.ts'
import type { PreparedCall } from './prepared-call.ts'
import type { RunContext } from './run-context.ts'

/** An action as policy names it, such as `Action::"tool_call::read_file"`. */
export interface ActionName {
  readonly type: string
  readonly id: string
}

export interface Toolbox {
  /** Throws `CONFIG_INVALID` when it cannot work at all. Asked once a run, before its first call. */
  validate(): void
  definitions(): readonly ToolDefinition[]
  /** Entries for the trusted context, frozen with the run. */
  context(): JsonObject
  /**
   * Makes a proposed action into a prepared call, or throws `CALL_INVALID` (a denial before policy, never an effect).
   * `offered` is the run's list of tools.
   */
  prepare(action: ProposedAction, offered: readonly ToolDefinition[]): PreparedCall
  /**
   * Restrictions that travel with the tools, such as the inline policy of an agent: why this call must not happen, or null.
   * Asked after preparation and before any approval, and again when the grant is issued. It can only refuse.
   */
  restrict(call: PreparedCall, run: RunContext): string | null
  /**
   * For lists of tools, before there is a call: false only when `restrict` refuses every call of this tool, whatever its
   * arguments. It decides nothing. Without it, true.
   */
  mayPass?(name: string): boolean
  /** The one action as which policy judges every call of this tool; null where calls of it may differ. Without it, null. */
  actionOf?(name: string): ActionName | null
  /**
   * Executes authorised calls, one observation for each, each with its call id. Must observe the signal. A failure is an
   * observation with `is_error`; a throw means that the outcome is unknown.
   */
  execute(calls: readonly AuthorisedCall[], scope: ExecutionScope, signal: AbortSignal): Promise<readonly Observation[]>
  /** Tells the workers of a run to stop, without waiting. The run itself ends at `deadlineMs`, monotonic, at the latest. */
  cancelRun(runKey: string, deadlineMs: number): void
  /** Waits until the workers of a run are gone. */
  cleanUp(runKey: string): Promise<void>
}

export interface ExecutionScope {
  readonly runKey: string
  /** Monotonic. */
  readonly deadlineMs: number
  /** The effect journal of one call of this batch (6.7). */
  effectsOf(call: AuthorisedCall): EffectHandle
}

/**
 * Through this a tool tells the journal about its own effects: intent before, receipt after. Each promise resolves when
 * the record is durable, and a rejected start means that the effect must not happen.
 */
export interface EffectHandle {
  record(effect: ToolEffect): Promise<void>
}
