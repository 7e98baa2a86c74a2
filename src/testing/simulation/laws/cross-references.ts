/** What one record says of another: digests of what stands elsewhere, in the same journal or in that of a run that was begun. */
import { createHash } from 'node:crypto'
import type { Observation } from '../../../events/index.ts'
import type { ReadJournal } from './journal-reader.ts'
import { canonicalText } from './plain-json.ts'
import { asksModel, textAt } from './run-facts.ts'

/**
 * Why a receipt is of another result than the batch holds, or a delegation of another task than was allowed; null where both
 * are true, or where the record that they are about is not there.
 */
export function whyMisquoted({ name, entries }: ReadJournal): string | null {
  const receipts = new Map<string, { readonly sequence: number; readonly hash: string }>()
  const callOf = new Map<string, string>()
  const tasks = new Map<string, string>()
  for (const { sequence, event } of entries) {
    switch (event.kind) {
      case 'PolicyEvaluated':
        for (const call of event.approved_calls ?? []) {
          const callId = textAt(call, 'action', 'Delegate', 'call_id')
          const message = textAt(call, 'action', 'Delegate', 'message')
          if (callId !== null && message !== null) tasks.set(callId, message)
        }
        break
      case 'ToolDispatchStarted':
        callOf.set(event.dispatch_id, event.call_id)
        break
      case 'ToolDispatchFinished':
        receipts.set(callOf.get(event.dispatch_id) ?? '', { sequence, hash: event.observation_hash })
        break
      case 'ToolBatchCompleted':
        for (const observation of event.observations) {
          const receipt = receipts.get(observation.call_id ?? '')
          if (receipt !== undefined && receipt.hash !== hashOf(observation))
            return `entry ${receipt.sequence} of ${name} is the receipt of another result than entry ${sequence} holds`
        }
        receipts.clear() // a later call may have the same id
        break
      case 'DelegationStarted': {
        const task = tasks.get(event.call_id)
        if (task !== undefined && sha256(task) !== event.message_hash)
          return `entry ${sequence} of ${name} hands over another task than was allowed`
        break
      }
      default:
    }
  }
  return null
}

/**
 * Why the run of a tool client's call makes another call than the session says that it began it for; null where all agree. A run
 * that a model drives was begun with a task, and makes calls of its own. No gate of these lives changes a call; one that does would leave
 * honest journals like this, so our verifier cannot ask the same.
 */
export function whyOtherCall(journals: ReadonlyMap<string, ReadJournal>): string | null {
  for (const { name, entries } of journals.values()) {
    for (const { sequence, event } of entries) {
      if (event.kind !== 'DelegationStarted') continue
      const run = journals.get(event.audit.run_id)
      if (run === undefined || asksModel(run)) continue
      const other = run.entries.find(
        (made) => made.event.kind === 'ToolDispatchStarted' && made.event.call_fingerprint !== event.call_fingerprint,
      )
      if (other !== undefined)
        return `entry ${sequence} of ${name} begins a run for one call, and entry ${other.sequence} of ${run.name} makes another`
    }
  }
  return null
}

function hashOf(observation: Observation): string {
  return `sha256:${sha256(canonicalText(observation))}`
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
