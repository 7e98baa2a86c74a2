/**
 * A tool, as its author writes it: a definition that the model sees, optionally a contract that policy judges, optionally
 * a resolution of the arguments to the concrete effect, and the effect itself. What a tool may count on: its arguments are
 * frozen and fit its schema, policy allowed exactly them, and its intent is durable (law 1).
 */
import type { EffectHandle, ToolContract } from '../calls/index.ts'
import type { JsonObject } from '../core/index.ts'
import type { ToolDefinition } from '../events/index.ts'

export interface Tool {
  readonly definition: ToolDefinition
  /** What policy judges. Default: `Action::"tool_call::<name>"` on `Resource::"default"`. */
  readonly contract?: ToolContract
  /**
   * True: every contract that `resolve` gives has the action of `contract`, and a call with another one is refused. Only then,
   * or without `resolve`, can a list of tools leave out one that no policy permits.
   */
  readonly oneAction?: true
  /**
   * Says, before policy, what these arguments stand for. No effect may happen here. A throw is a denial; a Fault's message
   * is what the model is told.
   */
  resolve?(args: JsonObject): Resolution
  /**
   * The effect. Must observe the signal. A text is the result; a throw is an error, and then nobody knows what the effect
   * did, so throw only when you do not know either.
   */
  run(args: JsonObject, call: ToolCall): Promise<ToolAnswer>
}

export interface ToolCall {
  readonly signal: AbortSignal
  /** Tells the journal about effects inside the tool: intent before, receipt after (6.7). */
  readonly effects: EffectHandle
  /** Monotonic; passed means now >= deadlineMs. */
  readonly deadlineMs: number
}

export type ToolAnswer =
  | string
  | {
      readonly content: string
      /** Nobody knows what the effect did; the same as a throw. */
      readonly is_error: boolean
      /** The tool knows that it did not do what was asked, and says why: an answer, and no error over which a run would stop. */
      readonly not_done?: boolean
    }

/** The answer of a tool that knows that it did not do what was asked. */
export function notDone(content: string): ToolAnswer {
  return { content, is_error: false, not_done: true }
}

export interface Resolution {
  /** The arguments in their one normal form, where several spellings mean the same. They must fit the schema as well. */
  readonly arguments?: JsonObject
  /** A contract for these arguments alone, for example with the resource that they name. */
  readonly contract?: ToolContract
  /** The concrete effect, for policy, approvers and the journal. */
  readonly resolved?: JsonObject
}
