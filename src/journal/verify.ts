/**
 * Verification: what a journal proves to somebody who holds only the public key. Reads, never writes; the file may lie
 * anywhere, in a folder of any mode. Whole files, files of one expected run, and the verified prefix of a file whose last
 * line was never finished.
 */
import { Fault, GENESIS, hexHash, type RunId } from '../core/index.ts'
import type { Entry } from '../events/index.ts'
import type { PublicKey } from '../keys/index.ts'
import type { FileFacts, World } from '../world/index.ts'
import type { VerifiedPrefix } from './evidence.ts'
import { type ExpectedPlace, JOURNAL_BYTES_MAX, LINE_BYTES_MAX, readRecord } from './record.ts'

export interface VerifyOptions {
  /** Told after each slice of records, for a person who waits. */
  readonly progress?: (bytesDone: number, bytesAll: number) => void
}

/** A complete file of format version 1 or 2. Throws `EVIDENCE_INVALID` or `EVIDENCE_CHANGING`. */
export async function verify(
  world: World,
  path: string,
  key: PublicKey,
  options: VerifyOptions = {},
): Promise<readonly Entry[]> {
  const bytes = await readEvidence(world, path)
  return (await check(world, bytes, key, { runId: null, fragment: 'refused', ...options })).entries
}

/** A complete file of format version 2 whose every record belongs to this run. */
export async function verifyRun(
  world: World,
  path: string,
  key: PublicKey,
  runId: RunId,
  options: VerifyOptions = {},
): Promise<readonly Entry[]> {
  const bytes = await readEvidence(world, path)
  return (await check(world, bytes, key, { runId, fragment: 'refused', ...options })).entries
}

/** As `verifyRun`, and one unterminated fragment at the end is counted and left out, never trusted. */
export async function verifyRunPrefix(
  world: World,
  path: string,
  key: PublicKey,
  runId: RunId,
  options: VerifyOptions = {},
): Promise<VerifiedPrefix> {
  const bytes = await readEvidence(world, path)
  return await verifyPrefixBytes(world, bytes, key, runId, options)
}

/** For callers that read the file under a lock of their own. */
export async function verifyPrefixBytes(
  world: World,
  bytes: Uint8Array,
  key: PublicKey,
  runId: RunId,
  options: VerifyOptions = {},
): Promise<VerifiedPrefix> {
  const { entries, verifiedBytes } = await check(world, bytes, key, { runId, fragment: 'left out', ...options })
  return {
    run_id: runId,
    agent_id: (entries[0] as Entry).agent_id,
    entries,
    snapshot_sha256: hexHash(bytes),
    verified_bytes: verifiedBytes,
    unverified_tail_bytes: bytes.length - verifiedBytes,
  }
}

interface Rules extends VerifyOptions {
  readonly runId: RunId | null
  readonly fragment: 'refused' | 'left out'
}

/** Signatures cost 0.1 ms each, so the one thread is given back after this many records. */
const SLICE_RECORDS = 64

async function check(
  world: World,
  bytes: Uint8Array,
  key: PublicKey,
  rules: Rules,
): Promise<{ entries: readonly Entry[]; verifiedBytes: number }> {
  const entries: Entry[] = []
  let at = 0
  let place: ExpectedPlace = { sequence: 0, previousHash: GENESIS, agentId: null, runId: null }
  for (;;) {
    const newline = bytes.indexOf(0x0a, at)
    if (newline === -1) break
    const record = readRecord(bytes.subarray(at, newline + 1), key, place)
    if (rules.runId !== null && record.runId !== rules.runId) {
      throw invalid(
        `record ${place.sequence} belongs to ${record.runId === null ? 'no run (format version 1)' : 'another run'}`,
      )
    }
    entries.push(record.entry)
    place = {
      sequence: place.sequence + 1,
      previousHash: record.lineHash,
      agentId: record.entry.agent_id,
      runId: record.runId,
    }
    at = newline + 1
    if (entries.length % SLICE_RECORDS === 0) {
      rules.progress?.(at, bytes.length)
      await world.clock.yield()
    }
  }
  const tail = bytes.length - at
  if (tail > 0 && rules.fragment === 'refused') throw invalid(`its last line is not finished (${tail} bytes)`)
  if (tail > LINE_BYTES_MAX) throw invalid(`its last line is longer than ${LINE_BYTES_MAX} bytes`)
  if (entries.length === 0) throw invalid('it holds no complete record')
  rules.progress?.(at, bytes.length)
  return { entries, verifiedBytes: at }
}

/** Every byte of the file, or a fault when it is no regular file, too large, or changed while it was read. */
export async function readEvidence(world: World, path: string): Promise<Uint8Array> {
  await using file = await world.files.open(path, 'read')
  if (file === null) {
    throw new Fault('EVIDENCE_INVALID', {
      message: 'Cannot verify the journal: the file does not exist',
      hint: 'Check the path; a journal is never deleted by the runtime',
    })
  }
  const before = await file.facts()
  if (before.kind !== 'file') throw invalid(`it is a ${before.kind} where a regular file is needed`)
  if (before.size > JOURNAL_BYTES_MAX)
    throw invalid(`it holds ${before.size} bytes and ${JOURNAL_BYTES_MAX} are allowed`)
  const bytes = await file.read(0, before.size)
  const after = await file.facts()
  if (bytes.length !== before.size || !sameState(before, after)) {
    throw new Fault('EVIDENCE_CHANGING', {
      message: 'Cannot verify the journal: it changed while it was read',
      hint: 'Its run may still be at work; try again',
    })
  }
  return bytes
}

function sameState(left: FileFacts, right: FileFacts): boolean {
  return left.size === right.size && left.modifiedNs === right.modifiedNs && left.changedNs === right.changedNs
}

function invalid(reason: string): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot verify the journal: ${reason}`,
    hint: 'Keep the file as it is; it was truncated, edited, or belongs to another run',
  })
}
