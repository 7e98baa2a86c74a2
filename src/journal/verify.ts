/**
 * Verification: what a journal proves to somebody who holds only the public key. Reads, never writes; the file may lie
 * anywhere, in a folder of any mode. Whole files, files of one expected run, and the verified prefix of a file whose last
 * line was never finished.
 */
import { createHash } from 'node:crypto'
import { type AgentId, Fault, GENESIS, type HexHash, isFault, type RunId } from '../core/index.ts'
import type { Entry } from '../events/index.ts'
import type { PublicKey } from '../keys/index.ts'
import { hasUnwrittenSectors } from '../store/index.ts'
import { type FileFacts, kindInWords, type OpenFile, type World } from '../world/index.ts'
import type { VerifiedPrefix } from './evidence.ts'
import {
  type ExpectedPlace,
  invalidRecord,
  JOURNAL_BYTES_MAX,
  LINE_BYTES_MAX,
  readRecord,
  type SignedPayload,
  splitRecord,
} from './record.ts'
import { Signatures } from './signatures.ts'

export interface VerifyOptions {
  /** Told after each slice of records, for a person who waits. */
  readonly progress?: (bytesDone: number, bytesAll: number) => void
  /**
   * Threads that may check signatures, this one among them, 8 at most. Default: it and as many as the machine can spare.
   * The others are started where the journal is long enough to keep them busy; with 1 all work stays here.
   */
  readonly threads?: number
}

/**
 * A complete file of format version 1 or 2. Throws `EVIDENCE_INVALID`, also for what is no regular file or not there,
 * `EVIDENCE_CHANGING` when it changed while it was read, and `STORAGE_*` when the system does not let it be read.
 */
export async function verify(
  world: World,
  path: string,
  key: PublicKey,
  options: VerifyOptions = {},
): Promise<readonly Entry[]> {
  const rules: Rules = { ...options, runId: 'any', fragment: 'refused' }
  return await withEvidence(world, path, async (bytes) => (await check(world, bytes, key, rules)).entries)
}

/** A complete file of format version 1, whose records name no run; for files whose name says that they are one. Throws as `verify`. */
export async function verifyLegacy(
  world: World,
  path: string,
  key: PublicKey,
  options: VerifyOptions = {},
): Promise<readonly Entry[]> {
  const rules: Rules = { ...options, runId: null, fragment: 'refused' }
  return await withEvidence(world, path, async (bytes) => (await check(world, bytes, key, rules)).entries)
}

/** A complete file of format version 2 whose every record belongs to this run. Throws as `verify`. */
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

/**
 * As `verifyRun`, and one unterminated fragment at the end is counted and left out, never trusted. So is a write that has holes,
 * as a loss of power leaves them, with all that lies behind. Throws as `verify`.
 */
export async function verifyRunPrefix(
  world: World,
  path: string,
  key: PublicKey,
  runId: RunId,
  options: VerifyOptions = {},
): Promise<VerifiedPrefix> {
  return await withEvidence(world, path, (bytes) => verifyPrefixBytes(world, bytes, key, runId, options))
}

/** Shown the entries of a journal in order, a few at a time, each once its signature holds. */
export type EntryVisitor = (entries: readonly Entry[]) => void | Promise<void>

/**
 * As `verifyRunPrefix`, for a reader who needs each entry once: none is kept, so that a long journal costs no more than its
 * bytes. A later record may still be bad, so what was seen counts only when this resolves; and after `EVIDENCE_CHANGING`
 * all of it is shown again. Without a run id the file must be complete and name no run, as for `verifyLegacy`. Throws as `verify`,
 * and what the visitor throws.
 */
export async function visitRunPrefix(
  world: World,
  path: string,
  key: PublicKey,
  runId: RunId | null,
  visit: EntryVisitor,
  options: VerifyOptions = {},
): Promise<{ readonly agent_id: AgentId; readonly unverified_tail_bytes: number }> {
  const rules: Rules = { ...options, runId, fragment: runId === null ? 'refused' : 'left out', visit }
  return await withEvidence(world, path, async (bytes) => {
    const { first, verifiedBytes } = await check(world, bytes, key, rules)
    return { agent_id: first.agent_id, unverified_tail_bytes: bytes.length - verifiedBytes }
  })
}

/** As `verifyRunPrefix`, for callers that read the file under a lock of their own. Throws `EVIDENCE_INVALID`. */
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
    snapshot_sha256: await sha256Of(world, bytes),
    verified_bytes: checked.verifiedBytes,
    unverified_tail_bytes: bytes.length - checked.verifiedBytes,
  }
}

const HASHED_AT_ONCE = 1024 * 1024

/** Of a whole file, with turns for others in between. */
async function sha256Of({ clock }: World, bytes: Uint8Array): Promise<HexHash> {
  const sha256 = createHash('sha256')
  for (let at = 0; at < bytes.length; at += HASHED_AT_ONCE) {
    sha256.update(bytes.subarray(at, at + HASHED_AT_ONCE))
    await clock.yield()
  }
  return sha256.digest('hex') as HexHash
}

interface Rules extends VerifyOptions {
  /** Null: every record must be of none. `any`: all must be of the same, or of none. */
  readonly runId: RunId | null | 'any'
  readonly fragment: 'refused' | 'left out'
  /** With it entries are shown and let go of. */
  readonly visit?: EntryVisitor
}

interface Checked {
  /** All of them; none when they were shown. */
  readonly entries: readonly Entry[]
  readonly first: Entry
  readonly verifiedBytes: number
}

async function check(world: World, source: Uint8Array, key: PublicKey, rules: Rules): Promise<Checked> {
  const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength)
  using signatures = new Signatures(world, key, rules.threads)
  const entries: Entry[] = []
  let first: Entry | null = null
  let at = 0
  let shown = 0
  /** A write did not reach the disk whole before the power failed: nothing of it was acknowledged, and nothing is believed. */
  let unwritten = false
  /** Shows what is proven before it says what is not: whoever visits sees the same, however many threads there are. */
  const settle = async (settling: Promise<void>): Promise<void> => {
    try {
      await settling
    } finally {
      const proven = rules.visit === undefined ? [] : entries.splice(0, signatures.settled - shown)
      shown += proven.length
      if (proven.length > 0) await rules.visit?.(proven)
    }
  }
  let place: ExpectedPlace = { sequence: 0, previousHash: GENESIS, agentId: null, runId: null }
  for (let block = nextBlock(bytes, at, 0); block !== null; block = nextBlock(bytes, at, place.sequence)) {
    signatures.startThreadsFor(recordsLeft(bytes.length - at, block.end - at, block.signed.length))
    signatures.ask(block.signed, place.sequence)
    try {
      for (const { line, payload } of block.signed) {
        const record = readRecord(line, payload, place)
        if (rules.runId !== 'any' && record.runId !== rules.runId)
          throw strange(place.sequence, record.runId, rules.runId)
        entries.push(record.entry)
        first ??= record.entry
        place = {
          sequence: place.sequence + 1,
          previousHash: record.lineHash,
          agentId: record.entry.agent_id,
          runId: record.runId,
        }
      }
      if (block.broken !== null) {
        unwritten = rules.fragment === 'left out' && hasUnwrittenSectors(bytes, block.end)
        if (!unwritten) throw block.broken
      }
    } catch (error) {
      await settle(signatures.settle(place.sequence + 1)) // a bad signature up to here is the better answer
      throw error
    }
    await settle(signatures.advance())
    at = block.end
    if (unwritten) break
    rules.progress?.(at, bytes.length)
    await world.clock.yield()
  }
  await settle(signatures.settle(place.sequence))
  const tail = bytes.length - at
  if (tail > 0 && rules.fragment === 'refused') throw invalid(`its last line is not finished (${tail} bytes)`)
  if (tail > LINE_BYTES_MAX && !hasUnwrittenSectors(bytes, at))
    throw invalid(`its last line is longer than ${LINE_BYTES_MAX} bytes`)
  if (first === null) throw invalid('it holds no complete record')
  return { entries, first, verifiedBytes: at }
}

/** As many as there are if the rest of the file is like this block. */
function recordsLeft(bytesLeft: number, blockBytes: number, blockRecords: number): number {
  return blockRecords === 0 ? 0 : (bytesLeft / blockBytes) * blockRecords
}

interface Block {
  readonly signed: readonly SignedPayload[]
  /** Where the last of its lines ends. */
  readonly end: number
  /** Why the line behind them is no record. */
  readonly broken: unknown
}

/** Some complete lines: few enough to be read in a millisecond or two, and many because curve arithmetic empties the caches. */
const BLOCK_RECORDS = 128
const BLOCK_BYTES = 512 * 1024

function nextBlock(bytes: Buffer, start: number, firstSequence: number): Block | null {
  const signed: SignedPayload[] = []
  let end = start
  while (signed.length < BLOCK_RECORDS && end - start < BLOCK_BYTES) {
    const newline = bytes.indexOf(0x0a, end)
    if (newline === -1) break
    try {
      const line = bytes.subarray(end, newline + 1)
      if (line.includes(0)) throw invalidRecord(firstSequence + signed.length, 'it holds zeros')
      signed.push(splitRecord(line, firstSequence + signed.length))
    } catch (broken) {
      return { signed, end, broken }
    }
    end = newline + 1
  }
  return end === start ? null : { signed, end, broken: null }
}

/**
 * Every byte of the file, not judged. Throws `EVIDENCE_INVALID` when it is no regular file, not there or too large,
 * `EVIDENCE_CHANGING` when it changed while it was read, and `STORAGE_*` when the system does not let it be read.
 */
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
  if (before.kind !== 'file') throw invalid(`it is ${kindInWords(before.kind)} where a regular file is needed`)
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

export async function openEvidence(world: World, path: string): Promise<OpenFile> {
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

export function sameState(left: FileFacts, right: FileFacts): boolean {
  return left.size === right.size && left.modifiedNs === right.modifiedNs && left.changedNs === right.changedNs
}

function changing(): Fault {
  return new Fault('EVIDENCE_CHANGING', {
    message: 'Cannot verify the journal: it changed while it was read',
    hint: 'Its run may still be at work; try again',
  })
}

function strange(sequence: number, runId: RunId | null, expected: RunId | null): Fault {
  if (expected === null) return invalid(`record ${sequence} belongs to a run, and the legacy format names none`)
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
