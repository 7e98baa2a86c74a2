/**
 * Tokens are not minted: no scope ever holds more than its limit, each reservation is settled once, what the model says it used
 * is charged, and a run that was delegated to pays from the budget of the root.
 */
import { AskedRuns } from './asked-runs.ts'
import type { Evidence, EvidenceReader } from './evidence.ts'
import type { ReadJournal } from './journal-reader.ts'
import type { Law, Life, Scenario } from './law.ts'
import type { Charge, TokenFold } from './token-fold.ts'
import { tokenFold } from './token-fold.ts'

export function budgetsAreNotMinted(reader: EvidenceReader, scenario: Pick<Scenario, 'requestOf'>): Law {
  return {
    name: 'budgets are not minted',
    settle: (life) => {
      const evidence = reader.at(life.seen, life.disk)
      const folds = new Map<string, TokenFold>()
      for (const journal of evidence.journals.values()) {
        const fold = tokenFold(journal)
        if (fold?.wrong != null) return fold.wrong
        if (fold !== null) folds.set(journal.runId, fold)
      }
      return whyChildFree(evidence, folds) ?? whyUncharged(life, new AskedRuns(scenario), evidence, folds)
    },
  }
}

/** What a delegated run asked the model, and used, stands in the journal of the root. */
function whyChildFree({ journals }: Evidence, folds: ReadonlyMap<string, TokenFold>): string | null {
  for (const journal of journals.values()) {
    const link = journal.entries.find(({ event }) => event.kind === 'BudgetScopeLinked')?.event
    const rootId = link?.kind === 'BudgetScopeLinked' ? link.root_audit?.run_id : journal.runId
    const fold = folds.get(rootId ?? '')
    const asked = replies(journal)
    if (fold === undefined) {
      if (link !== undefined || asked.length > 0)
        return `${journal.name} asks the model, and its root ${rootId} has no budget`
      continue
    }
    const charges = [...fold.charges.values()].filter(({ reservation }) => reservation.audit?.run_id === journal.runId)
    if (link?.kind === 'BudgetScopeLinked') {
      const astray = charges.find(({ reservation }) => reservation.ancestors[0]?.scope !== link.scope)
      if (astray !== undefined)
        return `entry ${astray.started} of the root ${rootId} charges another scope than ${link.scope} for ${journal.name}`
    }
    const unpaid = asked.find((used, at) => !pays(charges[at], used))
    if (unpaid !== undefined)
      return `${journal.name} had a reply for ${unpaid} tokens that the root ${rootId} does not charge`
    const balance = link?.kind === 'BudgetScopeLinked' ? whyUnbalanced(journal, fold, link.scope) : null
    if (balance !== null) return balance
  }
  return null
}

/** The tokens of each reply that a run had, in order. */
function replies(journal: ReadJournal): readonly number[] {
  return journal.entries.flatMap(({ event }) => (event.kind === 'ReasoningComplete' ? [event.usage.total_tokens] : []))
}

/** The settlement may have been lost in a crash: then all of the amount is charged. */
function pays(charge: Charge | undefined, used: number): boolean {
  if (charge === undefined) return false
  return charge.finished === null || charge.finished.usage.total_tokens === used
}

/** The balance of a delegated run counts what the root has settled for it, and at most what the root holds. */
function whyUnbalanced(journal: ReadJournal, { scopes }: TokenFold, scope: number): string | null {
  const update = journal.entries.find(({ event }) => event.kind === 'BudgetUpdated')
  if (update?.event.kind !== 'BudgetUpdated') return null
  const { usage, reserved_tokens, uncertain_tokens } = update.event.budget
  const total = usage.total_tokens
  const { used = 0, reserved = 0 } = scopes.get(scope) ?? {}
  // a settlement that is there although its sync failed counts as a doubt of the run, which charges more and not less
  const charged = total + reserved_tokens + uncertain_tokens
  if (charged >= used && total <= used + reserved) return null
  return `entry ${update.sequence} of ${journal.name} balances ${total} tokens, and the root holds ${used} and ${reserved} open ones for it`
}

/**
 * What the model said it had used is charged in the journal of the root that it worked for. A runtime that heard nothing of it
 * charges all that was reserved, even where the model says that it took more.
 */
function whyUncharged(
  { seen }: Life,
  asked: AskedRuns,
  evidence: Evidence,
  folds: ReadonlyMap<string, TokenFold>,
): string | null {
  const subjects = new Map<number, string>()
  const told = new Map<string, number[]>()
  for (const event of seen) {
    asked.see(event)
    if (event.kind === 'InferenceBegan') subjects.set(event.inference, event.subject)
    if (event.kind !== 'InferenceEnded' || event.told === null) continue
    const subject = subjects.get(event.inference) ?? 'nobody'
    const rootId = asked.rootOf(subject, evidence)
    if (rootId === null)
      return `The model told a use of ${event.told} tokens for "${subject}", which no run is known for`
    told.set(rootId, [...(told.get(rootId) ?? []), event.told])
  }
  for (const [rootId, counts] of told) {
    const reason = whyLess(`the run ${rootId}`, counts, [...(folds.get(rootId)?.charges.values() ?? [])])
    if (reason !== null) return reason
  }
  return null
}

function whyLess(what: string, told: readonly number[], charges: readonly Charge[]): string | null {
  const charged = charges.reduce((sum, charge) => sum + chargeOf(charge), 0)
  const unheard = charges.some(({ finished }) => finished === null || finished.outcome === 'unknown')
  const most = unheard ? Math.max(...charges.map(({ amount }) => amount)) : Number.POSITIVE_INFINITY
  const due = told.reduce((sum, count) => sum + Math.min(count, most), 0)
  return due <= charged
    ? null
    : `The model said that it used ${due} tokens for ${what}, and the journals charge ${charged}`
}

function chargeOf({ finished, amount }: Charge): number {
  if (finished === null || finished.outcome === 'unknown') return amount
  const { total_tokens, prompt_tokens, completion_tokens } = finished.usage
  return Math.max(total_tokens, prompt_tokens + completion_tokens)
}
