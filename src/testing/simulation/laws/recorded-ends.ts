/** What a journal may say of an end: of its own run's, and of those of the runs that it began. */
import { createHash } from 'node:crypto'
import type { Evidence } from './evidence.ts'
import type { ReadJournal } from './journal-reader.ts'
import { whyBegunOpen, whyNotComplete } from './proven-done.ts'
import { type DelegatedRun, factsOf } from './run-facts.ts'

/** Why one of the recorded ends is not true, or null. `inOrder`: the clock never went back, so that it tells which came first. */
export function whyEndsLie(evidence: Evidence, inOrder: boolean): string | null {
  for (const journal of evidence.journals.values()) {
    const { end, delegated } = factsOf(journal)
    // what was allowed and never began is no uncertainty of the run itself: a grant may lapse while others wait for a person
    const open = end === 'Completed' ? whyBegunOpen(journal) : null
    if (open !== null) return `${journal.name} ended with "Completed", and ${open}`
    for (const child of delegated) {
      const reason = child.completed ? whyChildLies(child, journal, evidence) : null
      if (reason !== null)
        return `entry ${child.finished} of ${journal.name} says that a delegated run completed, and ${reason}`
      if (inOrder && endedAfter(child, journal, evidence))
        return `${journal.name} ended before a run that it began, of entry ${child.started}`
    }
  }
  return null
}

/** A run ends when everything below it has ended, or says that it could not wait for it. */
function endedAfter({ runId }: DelegatedRun, journal: ReadJournal, { journals }: Evidence): boolean {
  const own = journals.get(runId)
  const { end, endedAt } = factsOf(journal)
  const childEndedAt = own === undefined ? null : factsOf(own).endedAt
  if (endedAt === null || childEndedAt === null || childEndedAt <= endedAt) return false
  return !JSON.stringify(end).includes('could not be ended')
}

/** What a delegated run answered is what its own journal says, and the run that delegated observed it in these words. */
function whyChildLies(child: DelegatedRun, journal: ReadJournal, { journals }: Evidence): string | null {
  const own = journals.get(child.runId)
  if (own === undefined) return 'its journal is not there'
  const reason = whyNotComplete(own)
  if (reason !== null) return reason
  const { answer, invocation } = factsOf(own)
  if (invocation !== null) return null // a call with an id answers with an observation, and whoever asked is told it
  if (answer === null) return `${own.name} has no answer`
  if (createHash('sha256').update(answer).digest('hex') !== child.outputHash)
    return `what it answered is not ${JSON.stringify(answer)}, the answer in ${own.name}`
  const observed = journal.entries.flatMap(({ sequence, event }) =>
    event.kind === 'ToolBatchCompleted' && sequence > (child.finished ?? 0)
      ? event.observations.filter(({ call_id }) => call_id === child.callId)
      : [],
  )[0]
  if (observed === undefined || (!observed.is_error && observed.content === answer)) return null
  return `${journal.name} observed ${JSON.stringify(observed.content)}, and ${own.name} answered ${JSON.stringify(answer)}`
}
