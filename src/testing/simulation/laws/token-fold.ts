/** The tokens of one root journal, added up by hand, entry by entry. */
import type { EventOf } from '../../../events/index.ts'
import type { ReadJournal } from './journal-reader.ts'

export interface Account {
  readonly limit: number
  prompt: number
  completion: number
  used: number
  uncertain: number
  reserved: number
  closed: boolean
}

export interface Charge {
  /** The entry that reserves it. */
  readonly started: number
  readonly reservation: EventOf<'BudgetReservationStarted'>['reservation']
  readonly amount: number
  /** Null while it is open: then all of the amount is charged. */
  finished: EventOf<'BudgetReservationFinished'> | null
}

export interface TokenFold {
  readonly scopes: ReadonlyMap<number, Account>
  /** By reservation id, in order. */
  readonly charges: ReadonlyMap<string, Charge>
  /** What no ledger could have written, as a sentence, or null. */
  readonly wrong: string | null
}

/** Null for the journal of a run that has to do with no budget. */
export function tokenFold(journal: ReadJournal): TokenFold | null {
  let fold: Fold | null = null
  for (const { sequence, event } of journal.entries) {
    const at = `entry ${sequence} of ${journal.name}`
    let wrong: string | null = null
    if (event.kind === 'BudgetOpened') {
      wrong = fold === null ? null : `${at} opens a second budget`
      fold ??= new Fold(event.limit)
    } else if (event.kind === 'BudgetReservationStarted') {
      wrong = fold === null ? `${at} reserves in no budget of its journal` : fold.start(event.reservation, sequence, at)
    } else if (event.kind === 'BudgetReservationFinished') {
      wrong = fold === null ? `${at} settles in no budget of its journal` : fold.finish(event, at)
    } else if (event.kind === 'BudgetUpdated' && event.budget.scope === 0) {
      wrong = fold === null ? `${at} balances no budget of its journal` : fold.end(event.budget, at)
    }
    if (wrong !== null) return { scopes: new Map(), charges: new Map(), wrong }
  }
  return fold
}

class Fold implements TokenFold {
  readonly scopes = new Map<number, Account>()
  readonly charges = new Map<string, Charge>()
  readonly wrong = null

  constructor(limit: number) {
    this.scopes.set(0, newAccount(limit))
  }

  start(reservation: Charge['reservation'], started: number, at: string): string | null {
    const { id, ancestors, input_tokens, output_tokens } = reservation
    const amount = input_tokens + output_tokens
    if (this.charges.has(id)) return `${at} starts the reservation ${id} a second time`
    if (ancestors.at(-1)?.scope !== 0) return `${at} reserves in scopes that do not end at the root`
    for (const [index, { scope, parent, limit }] of ancestors.entries()) {
      if (parent !== (ancestors[index + 1]?.scope ?? null)) return `${at} names scopes that do not lead to the root`
      const account = this.scopes.get(scope)
      if (account === undefined) this.scopes.set(scope, newAccount(limit))
      else if (account.limit !== limit) return `${at} changes the limit of scope ${scope}`
    }
    const accounts = this.#accounts(reservation)
    const closed = accounts.some((account) => account.closed)
    for (const account of accounts) {
      account.reserved += amount
      const held = account.reserved + account.used + account.uncertain
      if (!closed && held > account.limit) return `${at} brings a scope to ${held} tokens of ${account.limit}`
    }
    this.charges.set(id, { started, reservation, amount, finished: null })
    return null
  }

  finish(event: EventOf<'BudgetReservationFinished'>, at: string): string | null {
    const charge = this.charges.get(event.reservation_id)
    if (charge === undefined) return `${at} settles the reservation ${event.reservation_id}, which never started`
    if (charge.finished !== null) return `${at} settles the reservation ${event.reservation_id} a second time`
    charge.finished = event
    const { prompt_tokens, completion_tokens, total_tokens } = event.usage
    const total = Math.max(total_tokens, prompt_tokens + completion_tokens)
    if (event.outcome === 'unknown' && total > 0) return `${at} calls a use of ${total} tokens unknown`
    const fits = total > 0 && total <= charge.amount && completion_tokens <= charge.reservation.output_tokens
    if (event.outcome === 'confirmed' && !fits) {
      return `${at} confirms ${total} tokens where ${charge.amount} were reserved`
    }
    for (const account of this.#accounts(charge.reservation)) {
      account.reserved -= charge.amount
      if (event.outcome === 'unknown') account.uncertain += charge.amount
      else {
        account.prompt += prompt_tokens
        account.completion += completion_tokens
        account.used += total
      }
      if (event.outcome === 'exceeded') account.closed = true
    }
    return null
  }

  /** The balance of the root: what is open is uncertain at the end of its run. */
  end(budget: EventOf<'BudgetUpdated'>['budget'], at: string): string | null {
    const account = this.scopes.get(0) as Account
    const { usage, limit, reserved_tokens, uncertain_tokens, available_tokens, exceeded } = budget
    const same =
      limit === account.limit &&
      usage.total_tokens === account.used &&
      usage.prompt_tokens === account.prompt &&
      usage.completion_tokens === account.completion &&
      reserved_tokens + uncertain_tokens === account.reserved + account.uncertain
    const left = exceeded ? 0 : Math.max(0, limit - account.used - account.reserved - account.uncertain)
    if (same && available_tokens === left && (exceeded || !account.closed)) return null
    const { used, uncertain, reserved } = account
    const sum = JSON.stringify({ used, uncertain, reserved })
    return `${at} balances ${JSON.stringify(budget)}, and the entries add up to ${sum}`
  }

  #accounts({ ancestors }: Charge['reservation']): readonly Account[] {
    return ancestors.map(({ scope }) => this.scopes.get(scope) as Account)
  }
}

function newAccount(limit: number): Account {
  return { limit, prompt: 0, completion: 0, used: 0, uncertain: 0, reserved: 0, closed: false }
}
