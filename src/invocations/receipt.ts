/**
 * The receipt of a reconciliation: the operator's review, the evidence it speaks about, and our signature over both. It
 * lies beside the claim, appears whole or not at all, and is never replaced. It does not open the id again.
 *
 * A reader takes the signed text out of the file and never rebuilds it. Whoever reads a receipt holds the claim lock, so
 * no publication is under way meanwhile.
 */
import { join } from 'node:path'
import { digest, Fault, fit, type Hash, type HexHash, readJsonMembers, shapes, type TypeOf } from '../core/index.ts'
import { auditReferenceShape } from '../events/index.ts'
import type { PublicKey, SigningKey } from '../keys/index.ts'
import { isTemporaryOf, publishPrivateFile, readPrivateFile } from '../store/index.ts'
import type { World } from '../world/index.ts'
import { scopeShape } from './identity.ts'
import type { ClaimPlace } from './place.ts'
import { type Review, reviewShape } from './review.ts'

const DOMAIN = 'symbi-invocation-resolution:v1\n'
const RULE = { what: 'reconciliation receipt', bytesMax: 1024 * 1024 }

const snapshotShape = shapes.object({
  scope: scopeShape,
  id: shapes.id('invocation'),
  request_hash: shapes.hash,
  agent_id: shapes.id('agent'),
  claim_sha256: shapes.hexHash,
  journal_sha256: shapes.hexHash,
  audit: auditReferenceShape,
})
/** The evidence of an invocation, byte for byte. */
export type Snapshot = TypeOf<typeof snapshotShape>

const payloadShape = shapes.object({
  version: shapes.literal(1),
  snapshot: snapshotShape,
  review: reviewShape,
  operator_uid: shapes.u32,
  recorded_at: shapes.timestamp,
})
const receiptShape = shapes.object({ payload: payloadShape, signature: shapes.text })
export type Receipt = TypeOf<typeof receiptShape>

/** A receipt as it stands in its file, not yet believed. */
export interface UnverifiedReceipt {
  readonly receipt: Receipt
  readonly signedText: string
}

/** The members in the order in which they are signed. */
export function snapshotOf(
  claim: Pick<Snapshot, 'scope' | 'id' | 'request_hash' | 'agent_id'>,
  claim_sha256: HexHash,
  journal_sha256: HexHash,
  { run_id, path, public_key }: Snapshot['audit'],
): Snapshot {
  const { scope, id, request_hash, agent_id } = claim
  return { scope, id, request_hash, agent_id, claim_sha256, journal_sha256, audit: { run_id, path, public_key } }
}

/** Signs and publishes. The file of a publication that a crash interrupted is left to `readReceipt`. */
export async function writeReceipt(
  world: World,
  place: ClaimPlace,
  snapshot: Snapshot,
  review: Review,
  key: SigningKey,
): Promise<void> {
  const payload = JSON.stringify({
    version: 1,
    snapshot,
    review,
    operator_uid: world.files.uid,
    recorded_at: world.clock.wall(),
  })
  const signature = Buffer.from(key.sign(Buffer.from(DOMAIN + payload))).toString('hex')
  const bytes = Buffer.from(`{"payload":${payload},"signature":"${signature}"}\n`)
  await publishPrivateFile(world, place.store, place.receiptName, bytes)
}

/** What lies there, or null. Throws `EVIDENCE_INVALID` when it is no receipt. */
export async function readReceipt(world: World, place: ClaimPlace): Promise<UnverifiedReceipt | null> {
  const bytes = await readPrivateFile(world, place.receipt, RULE)
  if (bytes === null) return null
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const { value, spans } = readJsonMembers(text)
    const receipt = fit(receiptShape, value, 'the reconciliation receipt', 'EVIDENCE_INVALID')
    const span = spans.get('payload')
    return { receipt, signedText: text.slice(span?.start, span?.end) }
  } catch (cause) {
    throw untrusted('it cannot be understood', cause)
  }
}

/** The receipt, if it is signed by this key and speaks about exactly this evidence. */
export function verifyReceipt({ receipt, signedText }: UnverifiedReceipt, snapshot: Snapshot, key: PublicKey): Receipt {
  const { payload, signature } = receipt
  if (
    !/^[0-9a-f]{128}$/.test(signature) ||
    !key.verifies(Buffer.from(DOMAIN + signedText), Buffer.from(signature, 'hex'))
  ) {
    throw untrusted('its signature does not fit')
  }
  const now: Hash = digest(snapshot)
  if (digest(payload.snapshot) !== now || payload.review.snapshot_hash !== now) {
    throw untrusted('the claim or the journal changed after it was signed')
  }
  return receipt
}

/**
 * A crash between publishing a receipt and dropping its temporary name leaves the file with two links, which every reader
 * refuses. The operator who asks again completes it: the second name goes, the evidence stays. The caller holds the claim
 * lock. This is the only place that lists the store, and only when a receipt has two links.
 */
export async function completePublication(world: World, place: ClaimPlace): Promise<void> {
  const facts = await world.files.lstat(place.receipt)
  if (facts === null || facts.links !== 2) return
  for (const name of (await world.files.list(place.store)) ?? []) {
    if (!isTemporaryOf(place.receiptName, name)) continue
    const path = join(place.store, name)
    if ((await world.files.lstat(path))?.inode === facts.inode) await world.files.unlink(path)
  }
  await world.files.syncDirectory(place.store)
}

export function untrusted(reason: string, cause?: unknown): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot trust the reconciliation of this invocation: ${reason}`,
    hint: 'Keep the claim, the journal and the receipt as they are; the id never runs again',
    cause,
  })
}
