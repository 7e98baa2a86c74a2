/**
 * What the journal of a claim proves. Verified with the project's own key as it lies on disk now, which must be the one
 * that the claim names; interpreted by the recovery report; and bound: a sound journal of another invocation proves
 * nothing about this one.
 */
import { canonical, Fault, type HexHash, hexHash } from '../core/index.ts'
import type { AuditReference, Entry } from '../events/index.ts'
import {
  JOURNAL_BYTES_MAX,
  type RecoveryReport,
  readEvidence,
  readSigningKey,
  recoveryReport,
  type VerifiedPrefix,
  verifyPrefixBytes,
} from '../journal/index.ts'
import type { SigningKey } from '../keys/index.ts'
import { openPrivateFile } from '../store/index.ts'
import type { World } from '../world/index.ts'
import type { ClaimRecord } from './claim-file.ts'
import type { Place } from './place.ts'

export interface RunEvidence {
  readonly journal_sha256: HexHash
  /** Null when the journal is empty: the run never began. */
  readonly recovery: RecoveryReport | null
  /** Verified. */
  readonly entries: readonly Entry[]
}

/** Throws when the evidence does not verify, is not of this invocation, or cannot be read. */
export async function readRun(
  world: World,
  place: Place,
  claim: ClaimRecord,
  audit: AuditReference,
): Promise<RunEvidence> {
  const bytes = await readEvidence(world, audit.path)
  if (bytes.length === 0) return { journal_sha256: hexHash(bytes), recovery: null, entries: [] }
  const { publicKey } = await currentKey(world, place, audit)
  const prefix = await verifyPrefixBytes(world, bytes, publicKey, audit.run_id)
  requireBound(prefix, claim)
  return { journal_sha256: prefix.snapshot_sha256, recovery: recoveryReport(prefix), entries: prefix.entries }
}

/** Nothing was proved unless a whole run was. */
export function needsReconciling({ recovery }: RunEvidence): boolean {
  return recovery === null || recovery.requires_reconciliation
}

/** The signing key on disk. Throws `KEY_INVALID` unless it is the one that the claim was opened with. */
export async function currentKey(world: World, { governed }: Place, audit: AuditReference): Promise<SigningKey> {
  const key = await readSigningKey(world, governed)
  if (key !== null && key.publicKey.hex === audit.public_key) return key
  throw new Fault('KEY_INVALID', {
    message: `Cannot judge the run "${audit.run_id}": the signing key of the project is ${key === null ? 'missing' : 'another one'}`,
    hint: 'Put back the key that the run was signed with; until then its evidence cannot be checked here',
  })
}

/** For an operator's judgement the journal itself must be a file that nobody else could write. */
export async function requirePrivateJournal(world: World, audit: AuditReference): Promise<void> {
  const rule = { what: 'journal of the invocation', bytesMax: JOURNAL_BYTES_MAX }
  const file = await openPrivateFile(world, audit.path, 'read', rule)
  await file?.close()
}

function requireBound({ agent_id, entries }: VerifiedPrefix, claim: ClaimRecord): void {
  const { scope, id, request_hash } = claim
  const first = entries[0]?.event
  const named = first?.kind === 'Started' ? first.execution_context?.invocation : undefined
  if (agent_id === claim.agent_id && named !== undefined && canonical(named) === canonical({ scope, id, request_hash }))
    return
  throw new Fault('EVIDENCE_INVALID', {
    message: `Cannot judge the run "${claim.run_id}": its journal does not belong to invocation "${id}"`,
    hint: 'Keep both files as they are; one of them was replaced',
  })
}
