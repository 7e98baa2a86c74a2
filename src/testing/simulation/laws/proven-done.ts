/** What has to lie on the disk before anybody may be told that a request was done. */
import type { Json } from '../../../core/index.ts'
import { claimKey, type Evidence, SCOPE_OF } from './evidence.ts'
import type { ReadJournal } from './journal-reader.ts'
import { factsOf, textAt } from './run-facts.ts'
import type { Surface } from './seen.ts'

/** Why the evidence does not prove that the request of this id was done with this answer, or null. */
export function whyNotDone(surface: Surface, id: string, content: string, evidence: Evidence): string | null {
  const claim = evidence.claims.get(claimKey(SCOPE_OF[surface] ?? '', id))
  if (claim === undefined) return 'no durable claim of it is there'
  if (claim.result === null) return `its claim ${claim.name} has no durable result`
  const said = answerIn(surface, claim.result.payload)
  if (said !== content)
    return `its claim ${claim.name} says ${said === null ? 'that it was not' : JSON.stringify(said)}`
  const journal = evidence.journals.get(claim.runId ?? '')
  if (journal === undefined) return 'its journal is not there'
  return whyNotComplete(journal) ?? whyAnotherAnswer(surface, content, journal)
}

/** The saved result only repeats what the journal says. */
function whyAnotherAnswer(surface: Surface, content: string, journal: ReadJournal): string | null {
  const recorded =
    surface === 'chat'
      ? [factsOf(journal).answer]
      : journal.entries.flatMap(({ event }) =>
          event.kind === 'ToolBatchCompleted' ? event.observations.map((observation) => observation.content) : [],
        )
  if (recorded.includes(content)) return null
  return `${journal.name} has the answer ${JSON.stringify(recorded.at(-1) ?? null)}`
}

/** The answer that a saved result holds; null for a run that did not end well. */
function answerIn(surface: Surface, payload: Json): string | null {
  if (textAt(payload, 'termination_reason') !== 'Completed') return null
  return surface === 'chat' ? textAt(payload, 'output') : textAt(payload, 'observation', 'content')
}

/** Why a journal does not prove that its run ended well and left nothing open, or null. */
export function whyNotComplete(journal: ReadJournal): string | null {
  const { end } = factsOf(journal)
  if (end === null) return `${journal.name} has no end`
  if (end !== 'Completed') return `${journal.name} ended with ${JSON.stringify(end)}`
  return whyOpen(journal)
}

/** What in the journal is not known to have come back well, or null. */
export function whyOpen(journal: ReadJournal): string | null {
  const { dispatches, approved } = factsOf(journal)
  const begun = new Set(dispatches.map(({ fingerprint }) => fingerprint))
  const untracked = approved.find(({ fingerprint }) => !begun.has(fingerprint))
  if (untracked === undefined) return whyBegunOpen(journal)
  return whyBegunOpen(journal) ?? `${journal.name} has no intent of what entry ${untracked.at} allowed`
}

/** What the journal says has begun, and is not known to have come back well, or null. */
export function whyBegunOpen(journal: ReadJournal): string | null {
  const { dispatches, delegated, openReservations, openEffects } = factsOf(journal)
  const call = dispatches.find(({ known }) => !known)
  if (call !== undefined) return `${journal.name} does not know what entry ${call.started} did`
  const child = delegated.find(({ completed }) => !completed)
  if (child !== undefined) return `${journal.name} does not know how the run of entry ${child.started} ended`
  if (openReservations.length > 0) return `${journal.name} has the open reservation ${openReservations[0]?.id}`
  return openEffects.length > 0 ? `${journal.name} has the open effect of ${openEffects[0]}` : null
}
