/**
 * Verification: what a journal proves to somebody who holds only the public key. Reads, never writes; the file may lie
 * anywhere, in a folder of any mode. Whole files, files of one expected run, and the verified prefix of a file whose last
 * line was never finished.
 */
import { createHash } from 'node:crypto'
import { Fault, GENESIS, type HexHash, isFault, type RunId } from '../core/index.ts'
import type { Entry } from '../events/index.ts'
import type { PublicKey } from '../keys/index.ts'
import type { FileFacts, OpenFile, World } from '../world/index.ts'
import type { VerifiedPrefix } from './evidence.ts'
import { type ExpectedPlace, JOURNAL_BYTES_MAX, LINE_BYTES_MAX, readRecord, splitRecord } from './record.ts'
import { Signatures } from './signatures.ts'

export interface VerifyOptions {
  /** Told after each slice of records, for a person who waits. */
  readonly progress?: (bytesDone: number, bytesAll: number) => void
  /**
   * How many processors may check signatures. Default: this thread's and what the machine can spare. With 1, and for
   * small files, all work stays on this thread; more than the machine has gain nothing.
   */
  readonly threads?: number
}

/** A complete file of format version 1 or 2. Throws `EVIDENCE_INVALID` or `EVIDENCE_CHANGING`. */
export async function verify(
  world: World,
  path: string,
  key: PublicKey,
  options: VerifyOptions = {},
): Promise<readonly Entry[]> {
  const rules: Rules = { ...options, runId: null, fragment: 'refused' }
  return await withEvidence(world, path, async (bytes) => (await check(world, bytes, key, rules)).entries)
}

/** A complete file of format version 2 whose every record belongs to this run. */
export async function verifyRun(
  world: World,
  path: string,
  key: PublicKey,
  runId: RunId,
  options: VerifyOptions = {},
): Promise<readonly Entry[]> {
  const rules: Rules = { ...options, runId, fragment: 'refused' }
  return await withEvidence(world, path, async (bytes) => (await check(world, bytes, key, rules)).entries)
}

/** As `verifyRun`, and one unterminated fragment at the end is counted and left out, never trusted. */
export async function verifyRunPrefix(
  world: World,
  path: string,
  key: PublicKey,
  runId: RunId,
  options: VerifyOptions = {},
): Promise<VerifiedPrefix> {
  return await withEvidence(world, path, (bytes) => verifyPrefixBytes(world, bytes, key, runId, options))
}

/** For callers that read the file under a lock of their own. */
export async function verifyPrefixBytes(
  world: World,
  bytes: Uint8Array,
  key: PublicKey,
  runId: RunId,
  options: VerifyOptions = {},
): Promise<VerifiedPrefix> {
  if (bytes.length > JOURNAL_BYTES_MAX) throw tooLong(bytes.length)
  const checked = await check(world, bytes, key, { ...options, runId, fragment: 'left out' })
  return {
    run_id: runId,
    agent_id: checked.first.agent_id,
    entries: checked.entries,
    snapshot_sha256: checked.sha256,
    verified_bytes: checked.verifiedBytes,
    unverified_tail_bytes: bytes.length - checked.verifiedBytes,
  }
}

interface Rules extends VerifyOptions {
  readonly runId: RunId | null
  readonly fragment: 'refused' | 'left out'
}

interface Checked {
  readonly entries: readonly Entry[]
  readonly first: Entry
  readonly verifiedBytes: number
  /** Of all bytes, the fragment included. */
  readonly sha256: HexHash
}

/** The one thread is given back after this long, or after this many records where the clock stands still. */
const SLICE_MS = 5
const SLICE_RECORDS = 256

async function check(world: World, source: Uint8Array, key: PublicKey, rules: Rules): Promise<Checked> {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength)
  const signatures = new Signatures(key, inFlightMax(world, bytes.length, rules.threads))
  const sha256 = createHash('sha256')
  const entries: Entry[] = []
  let at = 0
  let hashed = 0
  let sliceEndMs = world.clock.monotonicMs() + SLICE_MS
  let place: ExpectedPlace = { sequence: 0, previousHash: GENESIS, agentId: null, runId: null }
  try {
    for (let line = nextLine(bytes, at); line !== null; line = nextLine(bytes, at)) {
      const signed = splitRecord(line, place.sequence)
      await signatures.check(place.sequence, signed)
      const record = readRecord(line, signed.payload, place)
      if (rules.runId !== null && record.runId !== rules.runId) throw strange(place.sequence, record.runId)
      entries.push(record.entry)
      place = {
        sequence: place.sequence + 1,
        previousHash: record.lineHash,
        agentId: record.entry.agent_id,
        runId: record.runId,
      }
      at += line.length
      if (entries.length % SLICE_RECORDS === 0 || world.clock.monotonicMs() >= sliceEndMs) {
        sha256.update(bytes.subarray(hashed, at))
        hashed = at
        rules.progress?.(at, bytes.length)
        await world.clock.yield()
        sliceEndMs = world.clock.monotonicMs() + SLICE_MS
      }
    }
  } catch (error) {
    await signatures.settle() // a bad signature in front of the place that failed is the better answer
    throw error
  }
  await signatures.settle()
  const tail = bytes.length - at
  if (tail > 0 && rules.fragment === 'refused') throw invalid(`its last line is not finished (${tail} bytes)`)
  if (tail > LINE_BYTES_MAX) throw invalid(`its last line is longer than ${LINE_BYTES_MAX} bytes`)
  const first = entries[0]
  if (first === undefined) throw invalid('it holds no complete record')
  rules.progress?.(at, bytes.length)
  return {
    entries,
    first,
    verifiedBytes: at,
    sha256: sha256.update(bytes.subarray(hashed)).digest('hex') as HexHash,
  }
}

function nextLine(bytes: Buffer, at: number): Buffer | null {
  const newline = bytes.indexOf(0x0a, at)
  return newline === -1 ? null : bytes.subarray(at, newline + 1)
}

/** Below this, starting the other threads costs more than they save. */
const SHARED_BYTES_MIN = 64 * 1024
const IN_FLIGHT_PER_THREAD = 8

function inFlightMax(world: World, bytes: number, threads = world.threads.spare + 1): number {
  return threads > 1 && bytes >= SHARED_BYTES_MIN ? threads * IN_FLIGHT_PER_THREAD : 0
}

/** Every byte of the file, or a fault when it is no regular file, too large, or changed while it was read. */
export async function readEvidence(world: World, path: string): Promise<Uint8Array> {
  return await withEvidence(world, path, async (bytes) => bytes)
}

/**
 * Reads the file and judges it. A writer at work may be seen in the middle of a line, so a refusal stands only if the
 * file is still what was read when the judgement is made.
 */
async function withEvidence<T>(world: World, path: string, judge: (bytes: Uint8Array) => Promise<T>): Promise<T> {
  await using file = await openEvidence(world, path)
  const before = await file.facts()
  if (before.kind !== 'file') throw invalid(`it is a ${before.kind} where a regular file is needed`)
  if (before.size > JOURNAL_BYTES_MAX) throw tooLong(before.size)
  const bytes = await file.read(0, before.size)
  if (bytes.length !== before.size || !sameState(before, await file.facts())) throw changing()
  try {
    return await judge(bytes)
  } catch (error) {
    if (isFault(error, 'EVIDENCE_INVALID') && !sameState(before, await file.facts())) throw changing()
    throw error
  }
}

async function openEvidence(world: World, path: string): Promise<OpenFile> {
  let file: OpenFile | null
  try {
    file = await world.files.open(path, 'read')
  } catch (error) {
    const noFile = isFault(error) && (error.code === 'STORAGE_UNSAFE' || error.facts.errno === 'ENXIO')
    if (noFile) throw invalid('its name leads to no regular file', error)
    throw error
  }
  if (file !== null) return file
  throw new Fault('EVIDENCE_INVALID', {
    message: 'Cannot verify the journal: the file does not exist',
    hint: 'Check the path; a journal is never deleted by the runtime',
  })
}

function sameState(left: FileFacts, right: FileFacts): boolean {
  return left.size === right.size && left.modifiedNs === right.modifiedNs && left.changedNs === right.changedNs
}

function changing(): Fault {
  return new Fault('EVIDENCE_CHANGING', {
    message: 'Cannot verify the journal: it changed while it was read',
    hint: 'Its run may still be at work; try again',
  })
}

function strange(sequence: number, runId: RunId | null): Fault {
  return invalid(`record ${sequence} belongs to ${runId === null ? 'no run (format version 1)' : 'another run'}`)
}

function tooLong(bytes: number): Fault {
  return invalid(`it holds ${bytes} bytes and ${JOURNAL_BYTES_MAX} are allowed`)
}

function invalid(reason: string, cause?: unknown): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot verify the journal: ${reason}`,
    hint: 'Keep the file as it is; it was truncated, edited, or belongs to another run',
    cause,
  })
}
