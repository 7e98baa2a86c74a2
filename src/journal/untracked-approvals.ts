/**
 * Approved tool calls that no dispatch intent followed: the policy said yes, and the journal does not say whether anybody
 * began. Counted by iteration and fingerprint, because that is what an approval is bound to.
 */
import { fits, type Hash, isJsonObject, type JsonObject, shapes } from '../core/index.ts'
import type { Entry } from '../events/index.ts'
import { refusedEvidence } from './evidence.ts'

export function untrackedApprovals(entries: readonly Entry[]): number {
  const open = new Map<string, number>()
  let untracked = 0
  for (const { sequence, iteration, event } of entries) {
    if (event.kind === 'PolicyEvaluated') {
      for (const call of event.approved_calls ?? []) {
        if (!isToolCall(call, sequence)) continue
        const key = `${event.iteration} ${fingerprintOf(call, sequence)}`
        open.set(key, (open.get(key) ?? 0) + 1)
        untracked += 1
      }
    } else if (event.kind === 'ToolDispatchStarted') {
      const key = `${iteration} ${event.call_fingerprint}`
      const waiting = open.get(key) ?? 0
      if (waiting === 0) continue // an intent covers one approval that came before it, and no other
      open.set(key, waiting - 1)
      untracked -= 1
    }
  }
  return untracked
}

const ACTIONS = ['ToolCall', 'Delegate', 'Respond', 'Terminate']

function isToolCall(call: JsonObject, sequence: number): boolean {
  const { action } = call
  const kinds = isJsonObject(action) ? Object.keys(action) : []
  const kind = kinds[0]
  if (kind === undefined || kinds.length !== 1 || !ACTIONS.includes(kind)) {
    throw refusedEvidence(sequence, 'approves a call whose action cannot be understood')
  }
  return kind === 'ToolCall'
}

function fingerprintOf({ fingerprint }: JsonObject, sequence: number): Hash {
  if (fits(shapes.hash, fingerprint)) return fingerprint
  throw refusedEvidence(sequence, 'approves a tool call without a fingerprint')
}
