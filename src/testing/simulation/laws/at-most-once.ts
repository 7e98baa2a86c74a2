/**
 * At most once (law 2): no effect begins twice, no id is claimed by two files or run by two journals, and the run of an id has
 * its claim durable before anything of it takes effect. Nor does a session use the id of a call for another.
 */
import type { Event } from '../../../events/index.ts'
import { claimKey, type Evidence, type EvidenceReader, SCOPE_OF } from './evidence.ts'
import { approvalsOf } from './intent-before-effect.ts'
import type { ReadJournal } from './journal-reader.ts'
import type { Law } from './law.ts'
import { asksModel, factsOf, textAt } from './run-facts.ts'
import { type Beginning, beginningIn } from './seen.ts'

export function atMostOnce(reader: EvidenceReader): Law {
  /** Tokens of what the runtime began, and of what arrived: a call may be sent twice and arrive once, and the other way round. */
  const begun = { here: new Set<string>(), there: new Set<string>() }
  /** By surface and id, the journal that a client was shown. */
  const opened = new Map<string, string>()
  return {
    name: 'at most once',
    watch: (seen, disk) => {
      const beginning = beginningIn(seen)
      if (beginning !== null || seen.kind === 'EffectBegan') {
        const { token } = beginning ?? (seen as Beginning)
        const before = beginning === null ? begun.there : begun.here
        if (before.has(token)) return `The effect of token "${token}" began a second time`
        before.add(token)
        return beginning === null ? null : whyUnclaimed(token, reader.at(seen, disk))
      }
      if (seen.kind === 'Told' && seen.answer.kind === 'Opened' && seen.id !== null) {
        const scope = SCOPE_OF[seen.surface] ?? seen.surface
        const { journal } = seen.answer
        const before = opened.get(claimKey(scope, seen.id)) ?? journal
        if (before !== journal) return `The id ${seen.id} was said to be run by ${before}, and then by ${journal}`
        opened.set(claimKey(scope, seen.id), journal)
        return whyTwice(reader.at(seen, disk))
      }
      return seen.kind === 'Crashed' || seen.kind === 'Closed' ? whyTwice(reader.at(seen, disk)) : null
    },
    settle: (life) => {
      const evidence = reader.at(life.seen, life.disk)
      for (const journal of evidence.journals.values()) {
        const reason = whyUnclaimedRun(journal.runId, evidence) ?? whyIdAgain(journal)
        if (reason !== null) return reason
      }
      return whyTwice(evidence)
    },
  }
}

function whyUnclaimed(token: string, evidence: Evidence): string | null {
  for (const { journal } of approvalsOf(token, evidence)) {
    const reason = whyUnclaimedRun(journal.runId, evidence)
    if (reason !== null) return `The effect of token "${token}" began: ${reason}`
  }
  return null
}

/** A run for an id has the claim of that id, and the claim names the run and its journal. */
function whyUnclaimedRun(runId: string, { journals, claims }: Evidence): string | null {
  const journal = journals.get(runId)
  const invocation = journal === undefined ? null : factsOf(journal).invocation
  if (journal === undefined || invocation === null) return null
  const claim = claims.get(claimKey(invocation.scope, invocation.id))
  if (claim === undefined) return `${journal.name} runs for ${invocation.id}, and no durable claim of it is there`
  if (claim.runId !== runId)
    return `${journal.name} runs for ${invocation.id}, and its claim names the run ${claim.runId}`
  return claim.journal === journal.name
    ? null
    : `the claim of ${invocation.id} does not name its journal ${journal.name}`
}

/** A session uses the id of a call once, whatever became of it: nobody could tell the answers apart. */
function whyIdAgain(journal: ReadJournal): string | null {
  if (asksModel(journal)) return null // a model may repeat itself, and what it repeats is decided anew
  const used = new Map<string, number>()
  for (const { sequence, event } of journal.entries) {
    for (const callId of callIdsIn(event)) {
      const first = used.get(callId)
      if (first !== undefined)
        return `Entry ${sequence} of ${journal.name} is of a call "${callId}", as entry ${first} was`
      used.set(callId, sequence)
    }
  }
  return null
}

/** Of the calls that this entry is the first of; one with an id is decided in a journal of its own. */
function callIdsIn(event: Event): readonly string[] {
  if (event.kind === 'DelegationStarted') return [event.call_id]
  if (event.kind !== 'PolicyEvaluated') return []
  const calls = [...(event.approved_calls ?? []), ...(event.denied_calls ?? [])]
  return calls.flatMap((call) => textAt(call, 'action', 'ToolCall', 'call_id') ?? [])
}

function whyTwice({ journals, claimFiles }: Evidence): string | null {
  const files = new Map<string, string>()
  const runs = new Map<string, string>()
  for (const { name, scope, id, runId } of claimFiles) {
    if (scope === null || id === null || runId === null) continue
    const other = files.get(claimKey(scope, id)) ?? runs.get(runId)
    if (other !== undefined) return `Two claims are for ${id} or its run ${runId}: ${other} and ${name}`
    files.set(claimKey(scope, id), name)
    runs.set(runId, name)
  }
  const served = new Map<string, string>()
  for (const journal of journals.values()) {
    const { invocation } = factsOf(journal)
    if (invocation === null) continue
    const key = claimKey(invocation.scope, invocation.id)
    const other = served.get(key)
    if (other !== undefined) return `Two journals are of the run for ${invocation.id}: ${other} and ${journal.name}`
    served.set(key, journal.name)
  }
  return null
}
