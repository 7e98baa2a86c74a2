/**
 * Claims: a request id executes at most once (law 2). This is the port; every maker of it runs the same contract suite.
 *
 * Owns the nouns: who may run (`Fresh`), who may not (`Existing`), and what an operator may say about a run whose outcome
 * nobody can prove. Leaves the running to the loop. A claim that is unresolved is never tried again by us.
 *
 * A conflict, a claim that cannot be understood, lost evidence and bad storage are Faults: `INVOCATION_CONFLICT`,
 * `CLAIM_INVALID`, `EVIDENCE_LOST`, `EVIDENCE_INVALID`, `KEY_INVALID`, `STORAGE_*`.
 */
import type { AgentId, InvocationId, Json } from '../core/index.ts'
import type { AuditReference, Entry, EventLog } from '../events/index.ts'
import type { RecoveryReport } from '../journal/index.ts'
import type { Receipt, Snapshot } from './receipt.ts'
import type { Review } from './review.ts'

export interface ClaimStore {
  /** Takes the id for this caller, or says what became of it. Only the caller who got `Fresh` may execute. */
  open(request: ClaimRequest, signal: AbortSignal): Promise<Fresh | Existing>
  /** What became of the id. Creates no store, no claim and no journal. */
  lookup(request: ClaimRequest, signal: AbortSignal): Promise<Existing | NotFound>
  /** For an operator: everything known about the run. A living owner refuses with `OWNER_ALIVE`. */
  inspect(scope: string, id: InvocationId, signal: AbortSignal): Promise<Inspection>
  /** Signs the operator's review. The same review again gives the same receipt; the id stays closed for ever. */
  reconcile(scope: string, id: InvocationId, review: Review, signal: AbortSignal): Promise<Receipt>
}

export type ClaimRequest = {
  /** The entry point, 1 to 256 bytes. The same id under another scope is another invocation. */
  readonly scope: string
  readonly id: InvocationId
  /** What is asked, and by whom. The same id with another request is a conflict. At most 1 MiB. */
  readonly request: Json
  readonly principal: AgentId
  /**
   * Whether a saved result says what the verified journal says. The claim's own lines are not signed, so without this a
   * replay could repeat what somebody wrote into them; a result that disagrees is `EVIDENCE_INVALID`.
   */
  readonly agrees?: (result: Json, entries: readonly Entry[]) => boolean
}

export type Fresh = { readonly kind: 'Fresh'; readonly owner: ClaimOwner }
export type NotFound = { readonly kind: 'NotFound' }
export type Existing =
  | { readonly kind: 'InProgress' }
  | { readonly kind: 'Unresolved'; readonly audit: AuditReference | null }
  | { readonly kind: 'Recorded'; readonly audit: AuditReference; readonly result: Json }
  | { readonly kind: 'Reconciled'; readonly audit: AuditReference; readonly resolution: Receipt }

/** `Unresolved` means that nothing was written: the evidence does not prove what the effects did (law 3). */
export type Finished = { readonly kind: 'Recorded' } | { readonly kind: 'Unresolved' }

/** The one holder of a claim. While it lives, everybody else is told `InProgress`. */
export interface ClaimOwner extends AsyncDisposable {
  readonly audit: AuditReference
  readonly principal: AgentId
  /** The journal of the run: `Started` once, then anything, `Terminated` last. */
  readonly log: EventLog
  /** Records the result if the evidence allows it. The claim is free and the journal closed before it settles, always. */
  finish(result: Json): Promise<Finished>
  /** The owner goes away without a result: the claim stays, unresolved. Again does nothing. */
  release(): Promise<void>
}

export type Inspection = {
  readonly status: 'recorded' | 'unresolved' | 'reconciled'
  /** What a review speaks about; `snapshot_hash` names it. */
  readonly snapshot: Snapshot
  readonly snapshot_hash: string
  /** Null when the journal is empty: nothing began. */
  readonly recovery: RecoveryReport | null
  readonly resolution: Receipt | null
}
