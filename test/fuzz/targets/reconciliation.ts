/** What an operator hands in after an unknown outcome, and the receipt that we signed over it. */
import { digest, isFault } from '../../../src/core/index.ts'
import { claimPlace, placeOf } from '../../../src/invocations/place.ts'
import { readReceipt, snapshotOf, verifyReceipt } from '../../../src/invocations/receipt.ts'
import { parseReview, readReviewFile } from '../../../src/invocations/review.ts'
import { parsePublicKey, signingKeyOf } from '../../../src/keys/index.ts'
import { REFERENCE } from '../../support/budget.ts'
import { fileWorld } from '../file-world.ts'
import { answer, answerOf, must, pure, type Target } from '../target.ts'

const KEY = signingKeyOf(new Uint8Array(32).fill(7))
const PUBLIC = parsePublicKey(KEY.publicKey.hex)
const AGENT = '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'
const ID = '3f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'
const PLACE = claimPlace(placeOf('/project'), { scope: 'cli:orga', id: ID as never })
const SNAPSHOT = snapshotOf(
  { scope: 'cli:orga', id: ID, request_hash: digest('request'), agent_id: AGENT } as never,
  'c'.repeat(64) as never,
  'd'.repeat(64) as never,
  REFERENCE,
)
const REVIEW = {
  snapshot_hash: digest(SNAPSHOT),
  outcome: 'completed',
  rationale: 'seen in the log',
  evidence: [{ reference: 'ticket 7', sha256: 'e'.repeat(64) }],
  effects_stopped: true,
} as const
const PAYLOAD = JSON.stringify({
  version: 1,
  snapshot: SNAPSHOT,
  review: REVIEW,
  operator_uid: 1000,
  recorded_at: '2026-03-04T10:11:12.131Z',
})
const SIGNATURE = Buffer.from(KEY.sign(Buffer.from(`symbi-invocation-resolution:v1\n${PAYLOAD}`))).toString('hex')
const HONEST = `{"payload":${PAYLOAD},"signature":"${SIGNATURE}"}\n`

export const receiptFile: Target = {
  name: 'receipt-file',
  property:
    'a receipt that holds says exactly what was signed, whatever stands around it; everything else is EVIDENCE_INVALID',
  seeds: [
    HONEST,
    HONEST.trim(),
    `{"signature":"${SIGNATURE}","payload":${PAYLOAD}}`,
    HONEST.replace('"completed"', '"failed"'),
    HONEST.replace('{"version":1', '{ "version":1'),
    '{}',
  ],
  words: [
    '"payload":',
    '"signature":',
    '"version":1',
    '"snapshot":',
    '"review":',
    '"no_effects"',
    SIGNATURE,
    '\\u0063',
    ' ',
    '\n',
  ],
  bytesMax: 4096,
  steps: { fixed: 8000, perByte: 80 },
  open: () => pure(checkReceipt),
}

async function checkReceipt(input: Uint8Array): Promise<void> {
  const read = await answerOf(() => readReceipt(fileWorld(input), PLACE))
  if (read.kind === 'Fault') {
    must(isFault(read.fault, 'EVIDENCE_INVALID'), 'a refusal is EVIDENCE_INVALID')
    return
  }
  const unverified = read.value
  must(unverified !== null, 'a file that is there is read')
  const verified = answer(() => verifyReceipt(unverified, SNAPSHOT, PUBLIC))
  if (verified.kind === 'Fault') must(isFault(verified.fault, 'EVIDENCE_INVALID'), 'a refusal is EVIDENCE_INVALID')
  else must(JSON.stringify(verified.value.payload) === PAYLOAD, 'what holds is what was signed')
}

export const reviewFile: Target = {
  name: 'review-file',
  property:
    'a review that is taken has one of three outcomes, a rationale, evidence with digests and the word that effects stopped, and reads as itself when it is written again',
  seeds: [
    JSON.stringify(REVIEW),
    JSON.stringify({ ...REVIEW, evidence: [] }),
    JSON.stringify({ ...REVIEW, rationale: ' \n' }),
    JSON.stringify({ ...REVIEW, effects_stopped: false, more: 1 }),
  ],
  words: [
    '"outcome":',
    '"no_effects"',
    '"failed"',
    '"rationale":',
    '"evidence":',
    '"reference":',
    '"sha256":',
    '"effects_stopped":true',
    '\\ud800',
    'sha256:',
  ],
  bytesMax: 4096,
  steps: { fixed: 5000, perByte: 60 },
  open: () => pure(checkReview),
}

async function checkReview(input: Uint8Array): Promise<void> {
  const read = await answerOf(() => readReviewFile(fileWorld(input), '/review.json'))
  if (read.kind === 'Fault') {
    must(isFault(read.fault, 'REVIEW_INVALID'), 'a refusal is REVIEW_INVALID')
    return
  }
  const { outcome, rationale, evidence, effects_stopped } = read.value
  must(
    ['completed', 'failed', 'no_effects'].includes(outcome) && effects_stopped === true,
    'it has an outcome, and effects stopped',
  )
  must(rationale.trim() !== '' && evidence.length >= 1 && evidence.length <= 32, 'it says why, and on which evidence')
  must(
    evidence.every(({ sha256 }) => /^[0-9a-f]{64}$/.test(sha256)),
    'evidence has digests',
  )
  const written = JSON.stringify(read.value)
  must(JSON.stringify(parseReview(JSON.parse(written))) === written, 'a review that is written again reads as itself')
}
