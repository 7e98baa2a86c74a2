/**
 * One record of a journal: the line, its signature and its place in the chain. The writer builds a known shape directly;
 * the reader takes the raw text of the payload out of the line and never rebuilds it.
 *
 * Only the payload is signed, so nothing else in a line may vary: a last line could be altered unnoticed otherwise.
 */
import {
  type AgentId,
  assert,
  Fault,
  fit,
  fits,
  type HexHash,
  hexHash,
  isTimestamp,
  type RunId,
  readJson,
  shapes,
} from '../core/index.ts'
import { type Entry, entryShape, eventText, fromWire, type NewEntry } from '../events/index.ts'
import type { SigningKey } from '../keys/index.ts'

/** Bytes of a line, its newline included. */
export const LINE_BYTES_MAX = 1024 * 1024
/** Bytes of a journal. */
export const JOURNAL_BYTES_MAX = 64 * 1024 * 1024
/** Levels of a payload. The writer's canonical text of an event is less deep, so that it never writes what is refused. */
const DEPTH_MAX = 640

export interface ChainPlace {
  readonly sequence: number
  readonly previousHash: HexHash
}

const HEAD = '{"payload":'
const MIDDLE = ',"signature":"'
const TAIL = '"}\n'
const SIGNATURE_CHARS = 88
const FRAME_BYTES = HEAD.length + MIDDLE.length + SIGNATURE_CHARS + TAIL.length
/** The complete line of an entry, newline included. Format version 2. */
export function recordLine(entry: NewEntry, runId: RunId, place: ChainPlace, key: Pick<SigningKey, 'sign'>): Buffer {
  const event = eventText(entry.event)
  assert(isTimestamp(entry.timestamp) && fits(shapes.u32, entry.iteration), 'an entry has its time and its iteration')
  const text =
    `${HEAD}{"entry":{"agent_id":"${entry.agent_id}","event":${event},"iteration":${entry.iteration},` +
    `"sequence":${place.sequence},"timestamp":"${entry.timestamp}"},` +
    `"previous_hash":"${place.previousHash}","run_id":"${runId}","version":2}`
  const line = Buffer.allocUnsafe(Buffer.byteLength(text) + FRAME_BYTES - HEAD.length)
  const at = line.write(text, 'utf8')
  const signature = base64(key.sign(line.subarray(HEAD.length, at)))
  line.write(`${MIDDLE}${signature}${TAIL}`, at, 'latin1')
  return line
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

const payloadShape = shapes.object({
  entry: entryShape,
  previous_hash: shapes.hexHash,
  run_id: shapes.optional(shapes.id('run')),
  version: shapes.literal(1, 2),
})

/** A line taken apart, nothing judged yet but its frame. */
export interface SignedPayload {
  readonly line: Buffer
  readonly payload: Uint8Array
  readonly signature: Uint8Array
}

export interface ReadRecord {
  readonly entry: Entry
  /** Null in format version 1. */
  readonly runId: RunId | null
  /** Of this line; the next record must name it. */
  readonly lineHash: HexHash
}

export interface ExpectedPlace extends ChainPlace {
  readonly agentId: AgentId | null
  readonly runId: RunId | null
}

/** Takes one complete line apart, its newline included. Throws `EVIDENCE_INVALID` that names the record. */
export function splitRecord(line: Buffer, sequence: number): SignedPayload {
  if (line.length > LINE_BYTES_MAX) throw invalidRecord(sequence, `it is longer than ${LINE_BYTES_MAX} bytes`)
  const end = line.length - (FRAME_BYTES - HEAD.length)
  const tail = line.toString('latin1', Math.max(0, end))
  const signatureText = tail.slice(MIDDLE.length, -TAIL.length)
  const signature = Buffer.from(signatureText, 'base64')
  const framed =
    line[HEAD.length] === 0x7b && // the payload is an object, with no space around it
    line[end - 1] === 0x7d &&
    line.toString('latin1', 0, HEAD.length) === HEAD &&
    tail.startsWith(MIDDLE) &&
    tail.endsWith(TAIL)
  if (!framed) throw invalidRecord(sequence, 'it is not one payload and one signature, and nothing else')
  if (signature.length !== 64 || signature.toString('base64') !== signatureText) {
    throw invalidRecord(sequence, 'its signature is not the padded base64 of 64 bytes')
  }
  return { line, payload: line.subarray(HEAD.length, end), signature }
}

/** Reads the payload of a line and checks its place. Its signature is the caller's to check, before anything is believed. */
export function readRecord(line: Buffer, payloadBytes: Uint8Array, place: ExpectedPlace): ReadRecord {
  const fail = (reason: string, cause?: unknown): Fault => invalidRecord(place.sequence, reason, cause)
  const payload = strictly(() => {
    const value = readJson(payloadBytes, { depthMax: DEPTH_MAX })
    return fit(payloadShape, value, 'the payload', 'EVIDENCE_INVALID')
  }, fail)
  if (payload.previous_hash !== place.previousHash) throw fail('it does not continue the record before it')
  if (payload.entry.sequence !== place.sequence) throw fail(`it has the number ${payload.entry.sequence}`)
  if (place.agentId !== null && payload.entry.agent_id !== place.agentId) throw fail('it belongs to another principal')
  const runId = payload.run_id ?? null
  if ((payload.version === 2) !== (runId !== null)) throw fail('its version and its run id do not go together')
  if (place.sequence > 0 && runId !== place.runId) throw fail('it belongs to another run')
  const { sequence, timestamp, agent_id, iteration, event } = payload.entry
  const entry = { sequence, timestamp, agent_id, iteration, event: fromWire(event) }
  return { entry, runId, lineHash: hexHash(line) }
}

function strictly<T>(read: () => T, fail: (reason: string, cause?: unknown) => Fault): T {
  try {
    return read()
  } catch (cause) {
    throw fail(cause instanceof Error ? cause.message : 'it cannot be read', cause)
  }
}

export function invalidRecord(sequence: number, reason: string, cause?: unknown): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot verify record ${sequence} of the journal: ${reason}`,
    hint: 'Keep the file as it is; it was truncated, edited, reordered, or signed by another key',
    facts: { record: sequence },
    cause,
  })
}
