/** What a run does, entry by entry, as one line each for the person who waits. Only what is durable is told. */
import { isJsonObject, type Json, type JsonObject } from '../../core/index.ts'
import type { NewEntry } from '../../events/index.ts'

export interface ProgressLine {
  readonly tag: 'model' | 'allowed' | 'DENIED' | 'call' | 'result' | 'FAILED'
  /** As it came: fit for a terminal only after `oneLine`. */
  readonly text: string
}

/** A function from entries to lines. It counts, and remembers the arguments that were approved for the calls that follow. */
export function runProgress(): (entry: NewEntry) => readonly ProgressLine[] {
  const argumentsOf = new Map<string, string>()
  let asked = 0
  return ({ event }) => {
    switch (event.kind) {
      case 'BudgetReservationStarted':
        asked += 1
        return [{ tag: 'model', text: `asked, iteration ${asked}` }]
      case 'PolicyEvaluated':
        for (const { action, fingerprint } of event.approved_calls ?? []) {
          const call = toolCallOf(action)
          if (call !== null) argumentsOf.set(String(fingerprint), String(call.arguments))
        }
        return [
          ...(event.approved_calls ?? []).map(({ action }) => ({ tag: 'allowed' as const, text: nameOf(action) })),
          ...(event.denied_calls ?? []).map(({ action, reason }) => {
            return { tag: 'DENIED' as const, text: `${nameOf(action)}: ${String(reason)}` }
          }),
        ]
      case 'ToolDispatchStarted':
        return [{ tag: 'call', text: `${event.tool_name} ${argumentsOf.get(event.call_fingerprint) ?? '{}'}` }]
      case 'ToolBatchCompleted': // stands behind the receipts in the same write
        return event.observations.map(({ content, is_error }) => ({
          tag: is_error ? 'FAILED' : 'result',
          text: content,
        }))
      default:
        return []
    }
  }
}

function toolCallOf(action: Json | undefined): JsonObject | null {
  return isJsonObject(action) && isJsonObject(action.ToolCall) ? action.ToolCall : null
}

/** As policy calls it. */
function nameOf(action: Json | undefined): string {
  const call = toolCallOf(action)
  if (call !== null) return `tool_call::${String(call.name)}`
  return isJsonObject(action) && 'Respond' in action ? 'respond' : 'terminate'
}
