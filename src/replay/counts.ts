/** What became of the decisions of a journal, or of many. */
import { OTHER_STEPS, type OtherStep } from './recorded-decisions.ts'

export interface ReplayCounts {
  /** Decisions of policy that were judged again. */
  readonly judged: number
  readonly allow_to_deny: number
  readonly deny_to_allow: number
  /** Other policies decided, or failed, and the decision stays. */
  readonly policies_differ: number
  /** Decisions that were not policy's, by the step that made them. */
  readonly not_judged: Readonly<Record<OtherStep, number>>
  /** Recorded without all that policy was asked. */
  readonly unknown: number
}

export class Tally implements ReplayCounts {
  judged = 0
  allow_to_deny = 0
  deny_to_allow = 0
  policies_differ = 0
  readonly not_judged = { preparation: 0, restriction: 0, approval: 0, held: 0, runtime: 0 }
  unknown = 0

  changed(): number {
    return this.allow_to_deny + this.deny_to_allow
  }

  add(more: ReplayCounts): void {
    this.judged += more.judged
    this.allow_to_deny += more.allow_to_deny
    this.deny_to_allow += more.deny_to_allow
    this.policies_differ += more.policies_differ
    for (const step of OTHER_STEPS) this.not_judged[step] += more.not_judged[step]
    this.unknown += more.unknown
  }
}
