/** What parent and child say to each other, beside what their protocol is: over the channel of Node, one object a message. */
import type { KillPoint, PromisedSyncs, Write } from '../support/killing-world.ts'
import type { Scenario } from './scenarios.ts'

/** A disk that fails once: at the n-th sync of data, before or after it was carried out. */
export interface SyncFailure {
  readonly nth: number
  readonly late: boolean
}

export interface Errand {
  readonly scenario: Scenario
  /** `again`: whatever was asked in the first life is asked once more, twice. */
  readonly role: 'live' | 'again'
  readonly project: string
  readonly tag: string
  readonly ids: readonly string[]
  /** Where effects go. */
  readonly origin: string
  readonly point: KillPoint | null
  readonly failure: SyncFailure | null
  /** For `again`: the approvals that the first life was given. */
  readonly handles: readonly string[]
}

export type ToChild = { readonly errand: Errand } | { readonly approve: string } | { readonly end: true }

/**
 * What somebody is told of an id. `NotFound`: it had never run, and ran now. `Failed`: its run ended badly, and everything that it
 * did is known.
 */
export interface Answer {
  readonly kind: 'Recorded' | 'Unresolved' | 'NotFound' | 'Failed' | 'Other'
  readonly content: string | null
  readonly run: string | null
  readonly code: string | null
}

export type FromChild =
  | { readonly serving: string }
  | { readonly opened: { readonly id: string; readonly run: string } }
  | { readonly answered: { readonly id: string; readonly answer: Answer } }
  /** `problem`: the decision could not be kept. */
  | { readonly approved: string; readonly problem: string | null }
  /** An approval of an earlier life was presented, and this came of it. */
  | { readonly presented: string }
  | { readonly failed: string }
  | {
      readonly ended: { readonly writes: readonly Write[]; readonly syncs: number; readonly promised: PromisedSyncs }
    }
