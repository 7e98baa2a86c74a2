/**
 * The recovery report: what a verified prefix of a journal proves about its run, and what nobody can know (13.4).
 *
 * Pure and read-only: entries in, report out, in time linear in the entries. It decides whether an operator must look
 * before the run counts as recorded (law 3). How a run ended plays no part in that: a failed run whose effects are all
 * recorded needs nobody. Evidence that no run could have left behind is refused, not interpreted.
 */
import type { AgentId, RunId } from '../core/index.ts'
import type { Entry, TerminationReason } from '../events/index.ts'
import { refusedEvidence, type VerifiedPrefix } from './evidence.ts'
import { type RecoveredBudget, recoveredBudget } from './recovered-budget.ts'
import { type RecoveredEffect, recoveredEffects } from './recovered-effects.ts'
import { untrackedApprovals } from './untracked-approvals.ts'

export interface RecoveryReport {
  readonly run_id: RunId
  readonly agent_id: AgentId
  readonly verified_records: number
  readonly verified_bytes: number
  readonly unverified_tail_bytes: number
  readonly journal_complete: boolean
  readonly terminal_reason: TerminationReason | null
  readonly requires_reconciliation: boolean
  readonly untracked_tool_approvals: number
  readonly effects: readonly RecoveredEffect[]
  /** Sentences, for people. */
  readonly warnings: readonly string[]
  readonly recovered_budget: RecoveredBudget | null
}

/** Throws `EVIDENCE_INVALID` that names the entry when the history contradicts itself. */
export function recoveryReport(prefix: VerifiedPrefix): RecoveryReport {
  const { run_id, agent_id, entries, verified_bytes, unverified_tail_bytes } = prefix
  const { started, terminal_reason } = frameOf(entries, agent_id)
  const effects = recoveredEffects(entries)
  const untracked = untrackedApprovals(entries)
  const complete = started && terminal_reason !== null && unverified_tail_bytes === 0
  const unknown = effects.some(({ outcome }) => outcome === 'unknown')
  return {
    run_id,
    agent_id,
    verified_records: entries.length,
    verified_bytes,
    unverified_tail_bytes,
    journal_complete: complete,
    terminal_reason,
    requires_reconciliation: !complete || untracked !== 0 || unknown,
    untracked_tool_approvals: untracked,
    effects,
    warnings: warningsOf({ started, ended: terminal_reason !== null, untracked, tailBytes: unverified_tail_bytes }),
    recovered_budget: recoveredBudget(entries),
  }
}

export type ViewStatus = 'incomplete' | 'unknown_effects' | 'completed' | 'stopped'

/** The report in one word. `stopped` is a run that ended otherwise than completed, with everything it did recorded. */
export function viewStatus(report: RecoveryReport): ViewStatus {
  if (!report.journal_complete) return 'incomplete'
  if (report.requires_reconciliation) return 'unknown_effects'
  return report.terminal_reason === 'Completed' ? 'completed' : 'stopped'
}

interface Frame {
  readonly started: boolean
  readonly terminal_reason: TerminationReason | null
}

/** A run starts once, with its first entry and as its own principal, and nothing follows its end. */
function frameOf(entries: readonly Entry[], principal: AgentId): Frame {
  let started = false
  let terminal_reason: TerminationReason | null = null
  for (const [index, { sequence, event }] of entries.entries()) {
    if (terminal_reason !== null) throw refusedEvidence(sequence, `is ${event.kind}, and the run was terminated before`)
    if (event.kind === 'Started') {
      if (started) throw refusedEvidence(sequence, 'starts the run a second time')
      if (index !== 0) throw refusedEvidence(sequence, 'starts the run, and other entries stand before it')
      if (event.agent_id !== principal) {
        throw refusedEvidence(sequence, `starts the run as "${event.agent_id}", and the journal is of "${principal}"`)
      }
      started = true
    }
    if (event.kind === 'Terminated') terminal_reason = event.reason
  }
  return { started, terminal_reason }
}

interface Findings {
  readonly started: boolean
  readonly ended: boolean
  readonly untracked: number
  readonly tailBytes: number
}

function warningsOf({ started, ended, untracked, tailBytes }: Findings): readonly string[] {
  const warnings: string[] = []
  if (!started) warnings.push('The journal has no start of the run.')
  if (!ended) warnings.push('The journal has no end of the run: it was interrupted, or it may still be active.')
  if (tailBytes > 0) {
    warnings.push(`The last ${count(tailBytes, 'byte is', 'bytes are')} an unauthenticated fragment and left out.`)
  }
  if (untracked > 0) {
    warnings.push(`${count(untracked, 'approved tool call has', 'approved tool calls have')} no dispatch intent.`)
  }
  return warnings
}

function count(amount: number, one: string, many: string): string {
  return `${amount} ${amount === 1 ? one : many}`
}
