/**
 * What the claim of an identified call keeps, and what its callers are told. A replay calls nobody and changes nothing: it says
 * what is on disk, and only when the signed journal of the call says the same.
 */
import { canonical, Fault, fits, type Json, shapes, type TypeOf } from '../core/index.ts'
import {
  type AuditReference,
  type Entry,
  type Observation,
  observationShape,
  type TerminationReason,
  terminationShape,
} from '../events/index.ts'
import type { Existing, Receipt } from '../invocations/index.ts'

const savedShape = shapes.object({
  version: shapes.literal(1),
  /** Null unless the run completed. */
  observation: shapes.nullable(observationShape),
  termination_reason: terminationShape,
})
export type SavedCall = TypeOf<typeof savedShape>

export type IdentifiedOutcome =
  /** The one result of this id, a denial included. `hint` says what the caller may do where the id is used up for nothing. */
  | {
      readonly kind: 'Recorded'
      readonly observation: Observation
      readonly audit: AuditReference
      readonly replayed: boolean
      readonly hint: string | null
    }
  /** The run ended without an answer, and everything that it did is known. */
  | {
      readonly kind: 'Failed'
      readonly reason: TerminationReason
      readonly audit: AuditReference
      readonly replayed: boolean
    }
  /** What the call did is not known. `observation`: what its own caller may be told of it; a later one is told nothing. */
  | {
      readonly kind: 'Unresolved'
      readonly audit: AuditReference | null
      readonly observation: Observation | null
    }
  | { readonly kind: 'InProgress' }
  | { readonly kind: 'Reconciled'; readonly audit: AuditReference; readonly resolution: Receipt }

export function savedCallOf(observation: Observation | null, termination_reason: TerminationReason): SavedCall {
  return { version: 1, observation: termination_reason === 'Completed' ? observation : null, termination_reason }
}

/** Whether a saved result repeats the signed record: how the run ended, and the only result that its one batch brought. */
export function callAgreesWithJournal(saved: Json, entries: readonly Entry[]): boolean {
  const end = entries.at(-1)?.event
  if (!fits<SavedCall>(savedShape, saved) || end?.kind !== 'Terminated') return false
  const { observation, termination_reason } = saved
  if (canonical(termination_reason) !== canonical(end.reason)) return false
  if (end.reason !== 'Completed') return observation === null
  const batches = entries.flatMap(({ event }) => (event.kind === 'ToolBatchCompleted' ? [event.observations] : []))
  return observation !== null && batches.length === 1 && canonical(batches[0]) === canonical([observation])
}

export function outcomeOf(saved: Json, audit: AuditReference, replayed: boolean): IdentifiedOutcome {
  if (!fits<SavedCall>(savedShape, saved)) throw unreadable()
  const { observation, termination_reason: reason } = saved
  if (observation === null) return { kind: 'Failed', reason, audit, replayed }
  return { kind: 'Recorded', observation, audit, replayed, hint: hintFor(observation) }
}

export function existingOutcome(found: Existing): IdentifiedOutcome {
  switch (found.kind) {
    case 'Recorded':
      return outcomeOf(found.result, found.audit, true)
    case 'Unresolved':
      return { ...found, observation: null }
    case 'InProgress':
    case 'Reconciled':
      return found
  }
}

/** An id has one result, also where that is only that nobody allowed the call yet: what comes next needs a new id. */
function hintFor({ metadata }: Observation): string | null {
  switch (metadata?.error_type) {
    case 'approval_pending':
      return 'This invocation id stands for the call that was held. Once it is approved, make the same call with this approval id under a new invocation id'
    case 'policy_denied':
      return 'This invocation id stands for the denial. Use a new one for a call that is to be judged again'
    default:
      return null
  }
}

function unreadable(): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: 'Cannot read the saved result of this call: it does not have the expected shape',
    hint: 'Inspect it with "symbi invocation inspect --scope mcp:call:v1"',
  })
}
