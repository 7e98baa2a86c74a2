/**
 * What a client sees while a turn runs, made from entries that are already durable: the decision, the call, its result.
 * Best effort; an entry that finds no room is lost to the client and stays in the journal.
 */
import { canonical, isJsonObject, type JsonObject } from '../core/index.ts'
import type { NewEntry } from '../events/index.ts'
import type { ServerMessage } from './messages.ts'

/** A function from journal entries to messages. It remembers the arguments that were approved, for the calls that follow. */
export function turnEvents(requestId: string): (entry: NewEntry) => readonly ServerMessage[] {
  const argumentsOf = new Map<string, string>()
  return ({ event }) => {
    switch (event.kind) {
      case 'PolicyEvaluated': {
        for (const call of event.approved_calls ?? []) remember(argumentsOf, call)
        const reasons = (event.denied_calls ?? []).map(({ reason }) => String(reason))
        return [
          {
            type: 'PolicyDecision',
            request_id: requestId,
            action: `${event.action_count} actions`,
            decision: event.denied_count > 0 ? 'partial_deny' : 'allow',
            reason: reasons.length > 0 ? reasons.join('; ') : 'every action is allowed by policy',
          },
        ]
      }
      case 'ToolDispatchStarted':
        return [
          {
            type: 'ToolCallStarted',
            request_id: requestId,
            call_id: event.call_id,
            tool_name: event.tool_name,
            arguments: argumentsOf.get(event.call_fingerprint) ?? '{}',
          },
        ]
      case 'DelegationStarted':
        return [
          {
            type: 'ToolCallStarted',
            request_id: requestId,
            call_id: event.call_id,
            tool_name: `delegate:${event.target}`,
            arguments: argumentsOf.get(event.call_fingerprint) ?? '{}',
          },
        ]
      case 'ToolBatchCompleted': // stands behind the receipts in the same write: durable, and with the text
        return event.observations.map(({ call_id, content, is_error }) => ({
          type: 'ToolCallResult',
          request_id: requestId,
          call_id: call_id ?? '',
          result: content,
          is_error,
        }))
      default:
        return []
    }
  }
}

function remember(argumentsOf: Map<string, string>, call: JsonObject): void {
  const { action, fingerprint } = call
  if (!isJsonObject(action) || typeof fingerprint !== 'string') return
  if (isJsonObject(action.ToolCall)) argumentsOf.set(fingerprint, String(action.ToolCall.arguments))
  else if (isJsonObject(action.Delegate)) argumentsOf.set(fingerprint, canonical({ task: action.Delegate.message }))
}
