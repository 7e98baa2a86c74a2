/**
 * The shared token budget as a journal proves it: the same ledger, replayed from the entries. A reservation without a
 * settlement is an uncertain charge of its full amount.
 *
 * Refuses a history that no ledger could have written: a start that over-reserves an ancestor, a scope that changes its
 * limit, an outcome that the reported usage contradicts, a final balance that differs from the entries [B1].
 */
import { amountOf, chargeOf, Ledger, outcomeOf, SCOPES_MAX, type SettlementOutcome } from '../budget/index.ts'
import type { Id } from '../core/index.ts'
import type { BudgetSnapshot, Entry, EventOf, InferenceReservation, Usage } from '../events/index.ts'
import { refusedEvidence } from './evidence.ts'

export interface RecoveredBudget {
  readonly root_id: Id<'root'>
  readonly scopes: readonly BudgetSnapshot[]
  readonly reservations: readonly RecoveredReservation[]
}

export interface RecoveredReservation {
  readonly reservation: InferenceReservation
  readonly start_sequence: number
  readonly finish_sequence: number | null
  readonly outcome: SettlementOutcome
  readonly usage: Usage | null
}

/** Null for a run that opened no budget of its own, as a delegated run does. */
export function recoveredBudget(entries: readonly Entry[]): RecoveredBudget | null {
  const history = new History()
  for (const { sequence, event } of entries) {
    switch (event.kind) {
      case 'BudgetOpened':
        history.opened(event, sequence)
        break
      case 'BudgetScopeLinked':
        history.linked(event, sequence)
        break
      case 'BudgetReservationStarted':
        history.started(event, sequence)
        break
      case 'BudgetReservationFinished':
        history.finished(event, sequence)
        break
      case 'BudgetUpdated':
        history.updated(event, sequence)
        break
      default: // the other events say nothing about tokens
    }
  }
  return history.report()
}

class History {
  #ledger: Ledger | null = null
  #link: EventOf<'BudgetScopeLinked'> | null = null
  readonly #reservations = new Map<string, RecoveredReservation>()

  opened({ root_id, limit }: EventOf<'BudgetOpened'>, sequence: number): void {
    this.#refuseSecondAttachment(sequence)
    this.#ledger = new Ledger(root_id, limit)
  }

  linked(event: EventOf<'BudgetScopeLinked'>, sequence: number): void {
    this.#refuseSecondAttachment(sequence)
    if (event.scope === 0)
      throw refusedEvidence(sequence, 'links the run to scope 0, which is a root and links to none')
    this.#link = event
  }

  started({ reservation }: EventOf<'BudgetReservationStarted'>, sequence: number): void {
    const ledger = this.#opened(reservation.root_id, sequence)
    if (this.#reservations.has(reservation.id)) {
      throw refusedEvidence(sequence, `starts the reservation "${reservation.id}" a second time`)
    }
    const scope = adopt(ledger, reservation.ancestors, sequence)
    const amount = amountOf(reservation)
    if (reservation.output_tokens === 0) throw refusedEvidence(sequence, 'reserves no output tokens')
    // A start that was on its way while a sibling closed the budget is legal: its response was refused.
    if (!ledger.closed(scope) && amount > ledger.available(scope)) {
      throw refusedEvidence(sequence, `reserves ${amount} tokens where ${ledger.available(scope)} were available`)
    }
    ledger.hold(scope, amount)
    this.#reservations.set(reservation.id, {
      reservation,
      start_sequence: sequence,
      finish_sequence: null,
      outcome: 'unknown',
      usage: null,
    })
  }

  finished({ root_id, reservation_id, usage, outcome }: EventOf<'BudgetReservationFinished'>, sequence: number): void {
    const ledger = this.#opened(root_id, sequence)
    const known = this.#reservations.get(reservation_id)
    if (known === undefined) {
      throw refusedEvidence(sequence, `settles the reservation "${reservation_id}", which never started`)
    }
    if (known.finish_sequence !== null) {
      throw refusedEvidence(sequence, `settles the reservation "${reservation_id}" a second time`)
    }
    const scope = scopeOf(known.reservation)
    const proper = outcomeOf(known.reservation, usage)
    // In a closed budget a writer may also record a report that fits as refused; the charge is the same.
    if (outcome !== proper && !(outcome === 'exceeded' && proper === 'confirmed' && ledger.closed(scope))) {
      throw refusedEvidence(sequence, `calls a usage "${outcome}" that is "${proper}" for what was reserved`)
    }
    const amount = amountOf(known.reservation)
    if (outcome === 'unknown') ledger.doubt(scope, amount)
    else ledger.charge(scope, amount, chargeOf(usage))
    if (outcome === 'exceeded') ledger.close(scope)
    this.#reservations.set(reservation_id, { ...known, finish_sequence: sequence, outcome, usage })
  }

  /** The balance that a run wrote down at its end must be the one that its entries add up to. */
  updated({ budget }: EventOf<'BudgetUpdated'>, sequence: number): void {
    const link = this.#link
    if (link !== null) {
      if (budget.root_id === link.root_id && budget.scope === link.scope) return
      throw refusedEvidence(sequence, 'balances another scope than the one that the run was linked to')
    }
    const ledger = this.#opened(budget.root_id, sequence)
    const rebuilt = budget.scope === 0 ? ledger.snapshot(0) : null
    if (rebuilt === null || rebuilt.limit !== budget.limit || !sameUsage(rebuilt.usage, budget.usage)) {
      throw refusedEvidence(sequence, 'states a balance of the budget that differs from the entries before it')
    }
  }

  report(): RecoveredBudget | null {
    const ledger = this.#ledger
    if (ledger === null) return null
    const reservations = [...this.#reservations.values()]
    for (const { reservation, finish_sequence } of reservations) {
      if (finish_sequence === null) ledger.doubt(scopeOf(reservation), amountOf(reservation))
    }
    return { root_id: ledger.rootId, scopes: ledger.snapshots(), reservations }
  }

  #refuseSecondAttachment(sequence: number): void {
    if (this.#ledger !== null || this.#link !== null) throw refusedEvidence(sequence, 'attaches a budget a second time')
  }

  #opened(rootId: Id<'root'>, sequence: number): Ledger {
    if (this.#ledger === null) throw refusedEvidence(sequence, 'uses a budget that was never opened in this journal')
    if (this.#ledger.rootId === rootId) return this.#ledger
    throw refusedEvidence(sequence, `belongs to the budget "${rootId}" and not to "${this.#ledger.rootId}"`)
  }
}

/** Adds scopes that are new, compares those that are known, and gives the leaf. A scope is what its first mention said. */
function adopt(ledger: Ledger, ancestors: InferenceReservation['ancestors'], sequence: number): number {
  let above: number | null = null
  for (let index = ancestors.length - 1; index >= 0; index -= 1) {
    const { scope, parent, limit } = ancestors[index] as (typeof ancestors)[number]
    if (parent !== above) throw refusedEvidence(sequence, 'names ancestors that do not lead from a scope to the root')
    const known = ledger.find(scope)
    if (known === null && parent !== null) {
      const over = ledger.find(parent)
      if (over === null || limit > over.limit) throw refusedEvidence(sequence, 'gives a scope more than its parent has')
      if (ledger.size >= SCOPES_MAX) throw refusedEvidence(sequence, `opens more than ${SCOPES_MAX} scopes`)
      ledger.open(scope, parent, limit)
    } else if (known === null || known.parent !== parent || known.limit !== limit) {
      throw refusedEvidence(sequence, `describes scope ${scope} differently than an entry before it`)
    }
    above = scope
  }
  if (above === null) throw refusedEvidence(sequence, 'reserves tokens in no scope')
  return above
}

function scopeOf({ ancestors }: InferenceReservation): number {
  return ancestors[0]?.scope ?? 0
}

function sameUsage(left: Usage, right: Usage): boolean {
  return (
    left.prompt_tokens === right.prompt_tokens &&
    left.completion_tokens === right.completion_tokens &&
    left.total_tokens === right.total_tokens
  )
}
