/**
 * The Cedar gate: a call is allowed when a policy permits it, none forbids it, and none failed while it was evaluated.
 * Approval is never decided here: a contract that requires one is refused, because this gate has no approver
 * ([D3]); an escalation gate wraps it and asks one.
 */

import type { ActionName } from '../../calls/index.ts'
import { type ApprovalAnswer, type Decision, deny, type Gate, type GateQuestion, withoutApprover } from '../gate.ts'
import { decisionOf, wordsFor } from './cedar-decision.ts'
import { type CedarEngine, sharedEngine } from './cedar-engine.ts'
import { requestOf } from './cedar-request.ts'
import { Judge } from './judge.ts'
import type { PolicyEntry } from './policy-set.ts'

export type CedarGateOptions = {
  readonly policies: readonly PolicyEntry[]
  readonly name?: string
  readonly engine?: CedarEngine
} & (
  | { readonly default: 'deny' }
  /** For development only: while no policy is active, everything is allowed, and `warn` is told each time. */
  | { readonly default: 'allow-development'; readonly warn: (message: string) => void }
)

/** Every change is made as a whole or not at all, and is in force when the call returns. */
export interface CedarGate extends Gate, Disposable {
  list(): readonly PolicyEntry[]
  /** The number of policies that are in force. */
  activeCount(): number
  add(entry: PolicyEntry): void
  /** False when no entry has this name. */
  removeByName(name: string): boolean
  replaceAll(entries: readonly PolicyEntry[]): void
  /** Reads the entries with `read`, then replaces all; when either fails, nothing changes. */
  reload(read: () => Promise<readonly PolicyEntry[]>): Promise<void>
}

/** Throws `POLICY_INVALID` when the policies are not valid. */
export function cedarGate(options: CedarGateOptions): CedarGate {
  return new Cedar(options)
}

class Cedar implements CedarGate {
  readonly name: string
  readonly #judge: Judge
  /** Null unless an empty set allows. */
  readonly #warn: ((message: string) => void) | null

  constructor(options: CedarGateOptions) {
    this.name = options.name ?? 'cedar'
    this.#judge = new Judge(options.engine ?? sharedEngine())
    this.#warn = options.default === 'allow-development' ? options.warn : null
    this.#judge.replace(options.policies)
  }

  async approve(question: GateQuestion): Promise<ApprovalAnswer> {
    return withoutApprover(question)
  }

  async decide(question: GateQuestion, signal: AbortSignal): Promise<Decision> {
    return this.#judged(question, signal, false)
  }

  async preview(question: GateQuestion, signal: AbortSignal): Promise<Decision> {
    return this.#judged(question, signal, true)
  }

  async mayAllow(actions: readonly ActionName[]): Promise<readonly boolean[]> {
    const open = this.#warn !== null && this.activeCount() === 0
    return actions.map((action) => open || this.#judge.mayPermit(action))
  }

  list(): readonly PolicyEntry[] {
    return this.#judge.set.entries
  }

  activeCount(): number {
    return this.#judge.set.policies.length
  }

  add(entry: PolicyEntry): void {
    this.#judge.replace([...this.list(), entry])
  }

  removeByName(name: string): boolean {
    const left = this.list().filter((entry) => entry.name !== name)
    if (left.length === this.list().length) return false
    this.#judge.replace(left)
    return true
  }

  replaceAll(entries: readonly PolicyEntry[]): void {
    this.#judge.replace(entries)
  }

  async reload(read: () => Promise<readonly PolicyEntry[]>): Promise<void> {
    this.#judge.replace(await read())
  }

  [Symbol.dispose](): void {
    this.#judge[Symbol.dispose]()
  }

  #judged(question: GateQuestion, signal: AbortSignal, asIfApproved: boolean): Decision {
    if (signal.aborted) return deny('the question was cancelled before policy answered')
    const outcome = requestOf(question, asIfApproved)
    if (outcome.kind === 'Unfit') return deny(outcome.reason)
    if (this.#warn !== null && this.activeCount() === 0) {
      this.#warn(`DEVELOPMENT ONLY: no policy is active, and ${wordsFor(outcome.request)} is allowed without one`)
      return { kind: 'Allow', policies: [] }
    }
    return decisionOf(this.#judge, outcome.request)
  }
}
