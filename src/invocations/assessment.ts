/**
 * What the bytes of a claim, its journal and its receipt say together. The caller holds the claim lock. Whoever asks with
 * another request learns only that there is a conflict.
 */
import { digest, hexHash } from '../core/index.ts'
import type { AuditReference } from '../events/index.ts'
import type { World } from '../world/index.ts'
import { type ClaimLines, type ClaimRecord, readClaimLines } from './claim-file.ts'
import type { ClaimRequest, Existing, Inspection } from './claims.ts'
import type { Identity, Name } from './identity.ts'
import type { ClaimPlace } from './place.ts'
import {
  type Receipt,
  readReceipt,
  type Snapshot,
  snapshotOf,
  type UnverifiedReceipt,
  untrusted,
  verifyReceipt,
} from './receipt.ts'
import { conflict, contradicted, nothingToReview } from './refusals.ts'
import { currentKey, needsReconciling, type RunEvidence, readRun, requirePrivateJournal } from './run-evidence.ts'
import { stateOf } from './state.ts'

/** The journal is read only where the answer depends on it: for a result, and for a receipt that speaks about it. */
export async function readState(
  world: World,
  place: ClaimPlace,
  identity: Identity,
  bytes: Uint8Array,
  agrees: ClaimRequest['agrees'],
): Promise<Existing> {
  const lines = readClaimLines(bytes, place)
  requireSame(lines, identity)
  const receipt = await readReceipt(world, place)
  if (!namesJournal(lines)) {
    if (receipt !== null) throw untrusted('the claim changed after it was signed')
    return stateOf(lines, true, null)
  }
  if (lines.result === null && receipt === null) return stateOf(lines, true, null)
  const { run, resolution } = await assess(world, place, bytes, lines, receipt)
  const state = stateOf(lines, needsReconciling(run), resolution)
  if (state.kind === 'Recorded' && agrees?.(state.result, run.entries) === false) throw contradicted(identity)
  return state
}

/** Everything an operator needs. Refuses a claim that names no journal, and a journal that others could have written. */
export async function inspectClaim(
  world: World,
  place: ClaimPlace,
  name: Name,
  bytes: Uint8Array,
): Promise<Inspection> {
  const lines = readClaimLines(bytes, place)
  requireSame(lines, name)
  if (!namesJournal(lines)) throw nothingToReview(name)
  await requirePrivateJournal(world, lines.audit)
  const { run, snapshot, recorded, resolution } = await assess(
    world,
    place,
    bytes,
    lines,
    await readReceipt(world, place),
  )
  return {
    status: resolution !== null ? 'reconciled' : recorded ? 'recorded' : 'unresolved',
    snapshot,
    snapshot_hash: digest(snapshot),
    recovery: run.recovery,
    resolution,
  }
}

type NamingLines = ClaimLines & { readonly claim: ClaimRecord; readonly audit: AuditReference }

function namesJournal(lines: ClaimLines): lines is NamingLines {
  return lines.claim !== null && lines.audit !== null
}

function requireSame({ claim }: ClaimLines, asked: Name & Partial<Identity>): void {
  if (claim === null) return
  const same = claim.scope === asked.scope && claim.id === asked.id
  if (!same || (asked.request_hash ?? claim.request_hash) !== claim.request_hash) throw conflict(asked)
}

interface Assessment {
  readonly run: RunEvidence
  readonly snapshot: Snapshot
  readonly recorded: boolean
  /** Verified against the bytes as they are now. */
  readonly resolution: Receipt | null
}

async function assess(
  world: World,
  place: ClaimPlace,
  bytes: Uint8Array,
  lines: NamingLines,
  receipt: UnverifiedReceipt | null,
): Promise<Assessment> {
  const { claim, audit } = lines
  const run = await readRun(world, place, claim, audit)
  const snapshot = snapshotOf(claim, hexHash(bytes), run.journal_sha256, audit)
  const recorded = stateOf(lines, needsReconciling(run), null).kind === 'Recorded'
  if (receipt === null) return { run, snapshot, recorded, resolution: null }
  if (recorded) throw untrusted('the invocation has a proved result beside it')
  const key = await currentKey(world, place, audit)
  return { run, snapshot, recorded, resolution: verifyReceipt(receipt, snapshot, key.publicKey) }
}
