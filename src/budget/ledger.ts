/**
 * The ledger: how many tokens every scope of one root may use, has used, holds back and cannot account for (13.1).
 *
 * Arithmetic only. It neither writes nor asks anybody, so recovery rebuilds the same ledger from a journal. Each amount is
 * booked in a scope and in all its ancestors in one step, and moves in one direction: held, then refunded (never asked),
 * used (reported) or uncertain (everything else). Nothing leaves `uncertain`.
 *
 * Counts are exact inside and saturate where they are shown, so that a booking can be taken back without a trace.
 */
import { assert, type Id } from '../core/index.ts'
import type { BudgetSnapshot, InferenceReservation, Usage } from '../events/index.ts'
import { saturate } from './tokens.ts'

export type Ancestor = InferenceReservation['ancestors'][number]

/** The root counts too. */
export const SCOPES_MAX = 4096

interface Account {
  readonly scope: number
  readonly parent: Account | null
  readonly limit: number
  prompt: number
  completion: number
  total: number
  reserved: number
  uncertain: number
  /** Shown as `exceeded`: no tokens are available any more, for whatever reason. */
  closed: boolean
}

export class Ledger {
  readonly rootId: Id<'root'>
  readonly #accounts = new Map<number, Account>()

  constructor(rootId: Id<'root'>, limit: number) {
    this.rootId = rootId
    this.#accounts.set(0, newAccount(0, null, limit))
  }

  get size(): number {
    return this.#accounts.size
  }

  /** The caller has checked the limit and the number of scopes. */
  open(scope: number, parent: number, limit: number): void {
    const above = this.#account(parent)
    assert(!this.#accounts.has(scope), 'a scope is opened once')
    assert(limit <= above.limit, 'a scope never has more than its parent')
    this.#accounts.set(scope, newAccount(scope, above, limit))
  }

  /** The scope as every reservation in it names it, or null. */
  find(scope: number): Ancestor | null {
    const account = this.#accounts.get(scope)
    return account === undefined ? null : ancestor(account)
  }

  /** Leaf first, the root last. */
  ancestors(scope: number): readonly Ancestor[] {
    return [...this.#upwards(scope)].map(ancestor)
  }

  /** Effective: the smallest availability on the way to the root. */
  available(scope: number): number {
    let least = Number.MAX_SAFE_INTEGER
    for (const account of this.#upwards(scope)) least = Math.min(least, own(account))
    return least
  }

  /** Effective: true when the scope or any ancestor is closed. */
  closed(scope: number): boolean {
    for (const account of this.#upwards(scope)) if (account.closed) return true
    return false
  }

  usage(scope: number): Usage {
    const { prompt, completion, total } = this.#account(scope)
    return {
      prompt_tokens: saturate(prompt),
      completion_tokens: saturate(completion),
      total_tokens: saturate(total),
    }
  }

  snapshot(scope: number): BudgetSnapshot {
    return this.#shown(this.#account(scope), this.available(scope), this.closed(scope))
  }

  /** All scopes, the root first. One pass from the root downwards, because a tree may be deep. */
  snapshots(): readonly BudgetSnapshot[] {
    const shown = new Map<Account | null, BudgetSnapshot>()
    for (const account of this.#accounts.values()) {
      const above = shown.get(account.parent)
      const available = Math.min(own(account), above?.available_tokens ?? Number.MAX_SAFE_INTEGER)
      shown.set(account, this.#shown(account, available, account.closed || above?.exceeded === true))
    }
    return [...shown.values()].sort((left, right) => left.scope - right.scope)
  }

  /** Holds an amount back in the scope and in all its ancestors. */
  hold(scope: number, amount: number): void {
    assert(this.closed(scope) || amount <= this.available(scope), 'no ancestor is ever over-reserved') // [B1]
    for (const account of this.#upwards(scope)) account.reserved += amount
  }

  /** The provider was certainly never asked: the amount is available again. */
  refund(scope: number, amount: number): void {
    for (const account of this.#upwards(scope)) unhold(account, amount)
  }

  /** Nobody can say what was used: the amount stays charged for good. */
  doubt(scope: number, amount: number): void {
    for (const account of this.#upwards(scope)) {
      unhold(account, amount)
      account.uncertain += amount
    }
  }

  /** The use was reported: it takes the place of the amount that was held. */
  charge(scope: number, amount: number, usage: Usage): void {
    for (const account of this.#upwards(scope)) {
      unhold(account, amount)
      addTo(account, usage, 1)
    }
  }

  /** The report of a charge was lost: without evidence the full amount is uncertain, as recovery will find it [B3]. */
  retract(scope: number, amount: number, usage: Usage): void {
    for (const account of this.#upwards(scope)) {
      addTo(account, usage, -1)
      account.uncertain += amount
    }
  }

  close(scope: number): void {
    for (const account of this.#upwards(scope)) account.closed = true
  }

  #shown({ scope, limit, reserved, uncertain }: Account, available: number, exceeded: boolean): BudgetSnapshot {
    return {
      root_id: this.rootId,
      scope,
      limit,
      usage: this.usage(scope),
      reserved_tokens: saturate(reserved),
      uncertain_tokens: saturate(uncertain),
      available_tokens: available,
      exceeded,
    }
  }

  *#upwards(scope: number): Generator<Account> {
    for (let at: Account | null = this.#account(scope); at !== null; at = at.parent) yield at
  }

  #account(scope: number): Account {
    const account = this.#accounts.get(scope)
    assert(account !== undefined, 'a scope is opened before it is used')
    return account
  }
}

function newAccount(scope: number, parent: Account | null, limit: number): Account {
  return { scope, parent, limit, prompt: 0, completion: 0, total: 0, reserved: 0, uncertain: 0, closed: false }
}

function ancestor({ scope, parent, limit }: Account): Ancestor {
  return { scope, parent: parent === null ? null : parent.scope, limit }
}

function own({ limit, total, uncertain, reserved, closed }: Account): number {
  return closed ? 0 : Math.max(0, limit - total - uncertain - reserved)
}

function unhold(account: Account, amount: number): void {
  assert(account.reserved >= amount, 'tokens are given back only where they were held')
  account.reserved -= amount
}

function addTo(account: Account, usage: Usage, sign: 1 | -1): void {
  account.prompt += sign * usage.prompt_tokens
  account.completion += sign * usage.completion_tokens
  account.total += sign * usage.total_tokens
}
