/**
 * Until when something may begin: before the time of its run is over, no later behind the decision about it than one call may take,
 * and before the approval has lapsed that it was made with.
 *
 * Entries are dated by the clock of the wall, and limits are kept by another, which nobody can set. Whether somebody set the first
 * shows: then the length of the run, by the other, is not the time between its first entry and its last, and nothing is said of
 * its dates. Nor is anything of a run that was cut off: it has no length.
 */
import type { Duration } from '../../../core/index.ts'
import type { Event } from '../../../events/index.ts'
import type { Evidence } from './evidence.ts'
import type { ReadEntry, ReadJournal } from './journal-reader.ts'
import { configOf, factsOf, textAt } from './run-facts.ts'

/** How far a clock that moves on with each look may be ahead. */
const AHEAD_MS = 10

interface Lapse {
  /** The run of the session that may come back with it. */
  readonly session: string
  readonly ms: number
}

/** By handle, when an approval lapses that a tool client was told to come back with; of sessions with a steady clock. */
export function lapsesOf({ journals }: Evidence): ReadonlyMap<string, Lapse> {
  const lapses = new Map<string, Lapse>()
  for (const journal of journals.values()) {
    const session = sessionOf(journal)
    const own = journals.get(session)
    if (own === undefined || !hasSteadyClock(own)) continue
    for (const { event } of journal.entries) {
      if (event.kind !== 'PolicyEvaluated') continue
      for (const call of event.denied_calls ?? []) {
        const handle = textAt(call, 'pending_approval', 'approval_id')
        const lapse = textAt(call, 'pending_approval', 'expires_at')
        if (handle !== null && lapse !== null) lapses.set(handle, { session, ms: Date.parse(lapse) })
      }
    }
  }
  return lapses
}

/** The first thing that began too late, as a sentence, or null. */
export function whyTooLate(journal: ReadJournal, lapses: ReadonlyMap<string, Lapse>): string | null {
  const { name, entries } = journal
  const config = configOf(journal)
  const [first] = entries
  if (config === null || first === undefined || !hasSteadyClock(journal)) return null
  const endMs = timeOf(first) + lengthOf(config.timeout) + AHEAD_MS
  let callEndMs = Number.POSITIVE_INFINITY
  for (const entry of entries) {
    const { sequence, event } = entry
    const ms = timeOf(entry)
    if (event.kind === 'PolicyEvaluated') callEndMs = ms + lengthOf(config.tool_timeout) + AHEAD_MS
    if (event.kind === 'ToolBatchCompleted') callEndMs = Number.POSITIVE_INFINITY
    if (!begins(event)) continue
    const what = `entry ${sequence} of ${name} begins an effect`
    if (ms > endMs) return `${what}, and the time of its run was over`
    if (ms > callEndMs) return `${what}, and its grant had lapsed`
    const handle = event.kind === 'ToolDispatchStarted' ? handleOf(event.call_id, journal) : null
    const lapse = lapses.get(handle ?? '')
    if (lapse?.session === sessionOf(journal) && ms > lapse.ms + AHEAD_MS)
      return `${what}, and the approval ${handle} had lapsed`
  }
  return null
}

function begins(event: Event): boolean {
  switch (event.kind) {
    case 'ToolDispatchStarted':
    case 'DelegationStarted':
    case 'BudgetReservationStarted':
      return true
    case 'ToolEffect':
      return 'NetworkRequestStarted' in event.effect || 'FilePublicationPrepared' in event.effect
    default:
      return false
  }
}

/** A call with an id has a run of its own, which its session began. */
function sessionOf(journal: ReadJournal): string {
  return factsOf(journal).parent ?? journal.runId
}

function handleOf(callId: string, journal: ReadJournal): string | null {
  return factsOf(journal).approved.find((call) => call.callId === callId)?.handle ?? null
}

function hasSteadyClock({ entries }: ReadJournal): boolean {
  const [first, last] = [entries[0], entries.at(-1)]
  if (first === undefined || last?.event.kind !== 'Terminated') return false
  return Math.abs(timeOf(last) - timeOf(first) - lengthOf(last.event.duration)) <= AHEAD_MS
}

function timeOf({ timestamp }: ReadEntry): number {
  return Date.parse(timestamp)
}

/** In milliseconds. */
function lengthOf({ secs, nanos }: Duration): number {
  return secs * 1000 + nanos / 1e6
}
