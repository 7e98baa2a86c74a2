/** An operator's review: what became of a run whose outcome the runtime cannot prove, why, and on which evidence. */
import { Fault, fit, isFault, readJson, shapes, type TypeOf } from '../core/index.ts'
import { kindInWords, type World } from '../world/index.ts'

const REVIEW_FILE_BYTES_MAX = 128 * 1024
const EVIDENCE_COUNT_MAX = 32

export const reviewShape = shapes.object({
  snapshot_hash: shapes.hash,
  outcome: shapes.literal('completed', 'failed', 'no_effects'),
  rationale: shapes.boundedText(1, 8192),
  evidence: shapes.list(
    shapes.object({ reference: shapes.boundedText(1, 2048), sha256: shapes.hexHash }),
    EVIDENCE_COUNT_MAX,
  ),
  effects_stopped: shapes.literal(true),
})
export type Review = TypeOf<typeof reviewShape>

/** The review with its members in the order in which they are signed, or a Fault `REVIEW_INVALID`. */
export function parseReview(value: unknown): Review {
  const { snapshot_hash, outcome, rationale, evidence, effects_stopped } = fit(
    reviewShape,
    value,
    'the review',
    'REVIEW_INVALID',
  )
  if (rationale.trim() === '') throw invalid('its rationale is blank')
  if (evidence.length === 0) throw invalid('it names no evidence')
  const texts = [rationale, ...evidence.map(({ reference }) => reference)]
  if (texts.some((text) => !text.isWellFormed())) throw invalid('a text of it holds a lone surrogate')
  return {
    snapshot_hash,
    outcome,
    rationale,
    evidence: evidence.map(({ reference, sha256 }) => ({ reference, sha256 })),
    effects_stopped,
  }
}

/** Reads a review from a regular file of at most 128 KiB that is no link. */
export async function readReviewFile(world: World, path: string): Promise<Review> {
  return parseReview(strictly(await readBytes(world, path)))
}

async function readBytes(world: World, path: string): Promise<Uint8Array> {
  await using file = await openUnlinked(world, path)
  if (file === null) throw invalid('the file does not exist')
  const { kind, size } = await file.facts()
  if (kind !== 'file') throw invalid(`it is ${kindInWords(kind)} where a regular file is needed`)
  if (size > REVIEW_FILE_BYTES_MAX) throw invalid(`it holds ${size} bytes and ${REVIEW_FILE_BYTES_MAX} are allowed`)
  return await file.readAll(REVIEW_FILE_BYTES_MAX)
}

async function openUnlinked(world: World, path: string): ReturnType<World['files']['open']> {
  try {
    return await world.files.open(path, 'read')
  } catch (error) {
    throw isFault(error, 'STORAGE_UNSAFE') ? invalid('the file is a symbolic link', error) : error
  }
}

function strictly(bytes: Uint8Array): unknown {
  try {
    return readJson(bytes)
  } catch (cause) {
    throw invalid('it is not strict JSON', cause)
  }
}

function invalid(reason: string, cause?: unknown): Fault {
  return new Fault('REVIEW_INVALID', {
    message: `Cannot use the review: ${reason}`,
    hint: 'Give a regular JSON file with snapshot_hash, outcome, rationale, 1 to 32 pieces of evidence, and effects_stopped: true',
    cause,
  })
}
