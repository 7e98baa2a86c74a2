/** What may be counted of a run: its steps, the calls of a session, and how many delegations it is away from where it began. */
import type { Evidence } from './evidence.ts'
import type { ReadJournal } from './journal-reader.ts'
import { asksModel, configOf, factsOf, textAt } from './run-facts.ts'

/** By run, how often it asked the model, as the journals that count its tokens say. */
export function inferencesOf({ journals }: Evidence): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { entries } of journals.values()) {
    for (const { event } of entries) {
      if (event.kind !== 'BudgetReservationStarted') continue
      const runId = event.reservation.audit?.run_id ?? 'nobody'
      counts.set(runId, (counts.get(runId) ?? 0) + 1)
    }
  }
  return counts
}

/** Why this run took more steps than it may, or counts others at its end than it took; null where it does neither. */
export function whyTooMuch(journal: ReadJournal, inferences: number): string | null {
  const { name, entries } = journal
  const most = configOf(journal)?.max_iterations ?? 0
  const asks = asksModel(journal)
  const steps = entries.filter(({ event }) =>
    asks ? event.kind === 'ReasoningComplete' : event.kind === 'PolicyEvaluated' || event.kind === 'DelegationStarted',
  )
  if (steps.length > most)
    return `entry ${steps[most]?.sequence} of ${name} is step ${most + 1}, and ${most} are allowed`
  if (inferences > most) return `${name} asks the model ${inferences} times, and ${most} are allowed`
  const end = entries.at(-1)?.event
  if (end?.kind !== 'Terminated') return null
  // a session counts calls that were refused before anything was written; a run that was interrupted counts nothing
  const counted = asks ? end.iterations === steps.length || end.iterations === 0 : end.iterations >= steps.length
  if (!counted) return `${name} ends after ${steps.length} steps, and counts ${end.iterations}`
  return end.iterations > most ? `${name} counts ${end.iterations} steps, and ${most} are allowed` : null
}

/** Why the run is further down than it may be, below itself, or says that it is elsewhere than its links lead; or null. */
export function whyTooDeep(journal: ReadJournal, { journals }: Evidence): string | null {
  const { name } = journal
  const targets: string[] = []
  let root = journal
  for (let at: ReadJournal | undefined = journal; at !== undefined; ) {
    root = at
    const target = delegatedTo(at)
    if (target === null) break
    if (targets.includes(target)) return `${name} is of a run for "${target}" below another one for it`
    targets.unshift(target)
    at = journals.get(factsOf(at).parent ?? '')
  }
  const config = configOf(journal)
  const first = configOf(root)
  if (config === null || first === null) return null
  const depth = first.delegation_depth + targets.length
  if (targets.length > 0 && depth > first.max_delegation_depth)
    return `${name} is of a run ${depth} delegations deep, and ${first.max_delegation_depth} are allowed`
  const said = JSON.stringify([config.delegation_depth, ...config.delegation_chain])
  const found = JSON.stringify([depth, ...first.delegation_chain, ...targets])
  if (delegatedTo(root) !== null || said === found) return null // without the run that delegated another law objects
  return `${name} says that it stands at ${said}, and its links lead to ${found}`
}

/** The name that it was delegated to; null for a run that nobody delegated, such as a call with an id. */
function delegatedTo(journal: ReadJournal): string | null {
  if (factsOf(journal).invocation !== null) return null
  const started = journal.entries[0]?.event
  return started?.kind === 'Started' ? textAt(started.execution_context, 'delegation', 'target') : null
}
