/**
 * What a run's entries say about other runs: which runs it began, which run began it, and whose tokens it spent. Taken out
 * of verified entries once, so that a tree of runs can be compared without keeping the entries of all of it.
 *
 * Judges nothing. `link-checks.ts` compares two runs, `budget-links.ts` compares a whole tree with its root.
 */

import type { RunId, Timestamp } from '../core/index.ts'
import { type AgentId, type HexHash, hexHash, isJsonObject, type Json, type JsonObject } from '../core/index.ts'
import type { AuditReference, EventOf, InferenceReservation, TerminationReason } from '../events/index.ts'
import type { VerifiedPrefix } from './evidence.ts'

/** What a parent recorded before it began another run: the members of its `DelegationStarted`. */
export type DelegationLink = Omit<EventOf<'DelegationStarted'>, 'kind'>

/** One link, from the side of the parent. */
export interface Delegation {
  readonly link: DelegationLink
  /** The entry of the intent in the parent's journal, and its time. */
  readonly sequence: number
  readonly timestamp: Timestamp
  /** What the parent recorded of the end; null while nothing says what became of it. */
  readonly finished: DelegationEnd | null
}

export interface DelegationEnd {
  readonly sequence: number
  readonly timestamp: Timestamp
  readonly audit: AuditReference
  readonly reason: TerminationReason
  readonly output_hash: HexHash
}

export interface RunFacts {
  readonly run_id: RunId
  readonly agent_id: AgentId
  /** The declared name that the run acts under, where its start gives one. */
  readonly name: string | null
  /** Null when the first entry is not the start of a run. */
  readonly start: { readonly timestamp: Timestamp; readonly context: JsonObject } | null
  readonly end: { readonly timestamp: Timestamp; readonly reason: TerminationReason } | null
  /** Where the run itself said that its journal lies; it may have been moved since. */
  readonly recordedPath: string | null
  readonly delegations: readonly Delegation[]
  /** Of each text that the last approved answer may have been. */
  readonly outputHashes: readonly HexHash[]
  /** Replies of the model that the run worked with. */
  readonly answers: number
  readonly budget: EventOf<'BudgetOpened'> | EventOf<'BudgetScopeLinked'> | null
  /** Only a root records these, for the whole tree. */
  readonly reservations: readonly InferenceReservation[]
}

export function runFacts({ run_id, agent_id, entries }: VerifiedPrefix): RunFacts {
  const delegations: Delegation[] = []
  const open = new Map<string, number>()
  const reservations: InferenceReservation[] = []
  let outputHashes: readonly HexHash[] = []
  let answers = 0
  let budget: RunFacts['budget'] = null
  let end: RunFacts['end'] = null
  for (const { sequence, timestamp, event } of entries) {
    switch (event.kind) {
      case 'DelegationStarted': {
        const { kind: _, ...link } = event
        open.set(keyOf(event), delegations.length)
        delegations.push({ link, sequence, timestamp, finished: null })
        break
      }
      case 'DelegationFinished': {
        const at = open.get(keyOf(event))
        const known = at === undefined ? undefined : delegations[at]
        if (at === undefined || known === undefined) break // recovery refuses such a history
        const { audit, reason, output_hash } = event
        delegations[at] = { ...known, finished: { sequence, timestamp, audit, reason, output_hash } }
        break
      }
      case 'PolicyEvaluated': {
        const hashes = (event.approved_calls ?? []).flatMap(({ action }) => outputHashOf(action))
        if (hashes.length > 0) outputHashes = hashes
        break
      }
      case 'ReasoningComplete':
        answers += 1
        break
      case 'BudgetOpened':
      case 'BudgetScopeLinked':
        budget = event
        break
      case 'BudgetReservationStarted':
        reservations.push(event.reservation)
        break
      case 'Terminated':
        end = { timestamp, reason: event.reason }
        break
      default: // the other events say nothing about other runs
    }
  }
  const start = startOf(entries[0])
  return {
    run_id,
    agent_id,
    name: nameIn(start?.context ?? {}),
    start,
    end,
    recordedPath: recordedPathOf(run_id, start?.context.delegation, reservations),
    delegations,
    outputHashes,
    answers,
    budget,
    reservations,
  }
}

function keyOf({ run_key, call_id }: { readonly run_key: string; readonly call_id: string }): string {
  return JSON.stringify([run_key, call_id])
}

function startOf(first: VerifiedPrefix['entries'][number] | undefined): RunFacts['start'] {
  if (first?.event.kind !== 'Started') return null
  return { timestamp: first.timestamp, context: first.event.execution_context ?? {} }
}

function nameIn({ agent_definition, source_policy }: JsonObject): string | null {
  const name = isJsonObject(agent_definition) ? agent_definition.name : undefined
  if (typeof name === 'string') return name
  const agentName = isJsonObject(source_policy) ? source_policy.agent_name : undefined
  return typeof agentName === 'string' ? agentName : null
}

/** The evidence of a decision is open JSON, so nothing in it is taken for granted. */
function outputHashOf(action: Json | undefined): readonly HexHash[] {
  if (!isJsonObject(action)) return []
  const { Respond, Terminate } = action
  const text = isJsonObject(Respond) ? Respond.content : isJsonObject(Terminate) ? Terminate.output : undefined
  return typeof text === 'string' ? [hexHash(text)] : []
}

/** A root names its journal in its reservations; a delegated run repeats what its parent called it. */
function recordedPathOf(
  runId: RunId,
  delegation: Json | undefined,
  reservations: readonly InferenceReservation[],
): string | null {
  const own = reservations.find(({ audit }) => audit?.run_id === runId)?.audit?.path
  if (own !== undefined) return own
  const audit = isJsonObject(delegation) ? delegation.audit : undefined
  return isJsonObject(audit) && typeof audit.path === 'string' ? audit.path : null
}
