/** What verification hands to those who interpret evidence. */
import type { AgentId, HexHash, RunId } from '../core/index.ts'
import type { Entry } from '../events/index.ts'

export interface VerifiedPrefix {
  readonly run_id: RunId
  readonly agent_id: AgentId
  readonly entries: readonly Entry[]
  /** Of every byte that was read, an unfinished last line included. */
  readonly snapshot_sha256: HexHash
  readonly verified_bytes: number
  readonly unverified_tail_bytes: number
}
