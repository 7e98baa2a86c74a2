/** Verified evidence as the rest of the runtime reads it, and the one way to refuse it. Leaves the verifying to the verifier. */
import { type AgentId, Fault, type HexHash, type RunId } from '../core/index.ts'
import type { Entry } from '../events/index.ts'

/** What `verifyRunPrefix` proved: signed and chained entries, and how much of the file they are. */
export interface VerifiedPrefix {
  readonly run_id: RunId
  readonly agent_id: AgentId
  readonly entries: readonly Entry[]
  /** Of all bytes that were read, an unterminated fragment included. */
  readonly snapshot_sha256: HexHash
  readonly verified_bytes: number
  /** Counted, never trusted. */
  readonly unverified_tail_bytes: number
}

/** Signatures hold, and yet no run can have happened like this. The history is named, and nothing is repaired (law 7). */
export function refusedEvidence(sequence: number, found: string): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot accept the evidence: entry ${sequence} ${found}`,
    hint: 'Keep the journal as it is and find out what wrote it; the run can be neither replayed nor reconciled from it',
    facts: { sequence },
  })
}
