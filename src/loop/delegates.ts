/**
 * Delegates: the port through which a run hands work to other runs (10). The loop says when, in which order and what
 * becomes of the answer; the maker, two floors up, opens the child, links its evidence, and owns it until its end is
 * recorded.
 */
import type { BudgetScope } from '../budget/index.ts'
import type { Grant, RunContext } from '../calls/index.ts'
import { isJsonObject, readJson } from '../core/index.ts'
import type { ProposedAction, Recorder } from '../events/index.ts'
import type { Gate } from '../policy/index.ts'
import type { Provider, ToolCallRequest } from '../providers/index.ts'

/** The tool by which a model asks for a delegation: `{agent, task}`. */
export const DELEGATE_TOOL = 'delegate'

export interface Delegates {
  /**
   * Runs one granted delegation to its recorded end, and spends the grant. The signal ends it, and its end is recorded all the
   * same: `cleanUp` waits for that. Rejects when evidence that must exist cannot be
   * written or does not verify: then the parent stops with an error, and nothing is tried again (law 6).
   */
  delegate(grant: Grant, parent: DelegatingRun, signal: AbortSignal): Promise<Delegated>
  /** Ends every child of the run that is still at work, waits until all of them recorded their end, and forgets the run. */
  cleanUp(runKey: string): Promise<void>
}

/** The parent as its children need it. */
export interface DelegatingRun {
  readonly context: RunContext
  readonly recorder: Recorder
  readonly budget: BudgetScope
  readonly provider: Provider
  readonly gate: Gate
}

export type Delegated =
  | { readonly kind: 'Completed'; readonly output: string }
  /** The child began and did not complete: what it did is unknown (law 3). */
  | { readonly kind: 'Unconfirmed'; readonly reason: string }
  /** Nothing began. */
  | { readonly kind: 'Refused'; readonly reason: string }

/** What a model's call proposes. Only exactly `{agent, task}`, both text, is a delegation: nothing is dropped silently. */
export function proposalOf(call: ToolCallRequest, canDelegate: boolean): ProposedAction {
  const { id: call_id, name, arguments: text } = call
  if (canDelegate && name === DELEGATE_TOOL) {
    const args = strictly(text)
    if (isJsonObject(args) && Object.keys(args).length === 2) {
      const { agent: target, task: message } = args
      if (typeof target === 'string' && typeof message === 'string') return { Delegate: { call_id, target, message } }
    }
  }
  return { ToolCall: { call_id, name, arguments: text } }
}

/** Undefined for what is no strict JSON: preparation says so to the model. */
function strictly(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}
