/**
 * One record of a journal: the line, its signature and its place in the chain. The writer builds a known shape directly;
 * the reader takes the raw text of the payload out of the line and never rebuilds it.
 */
import {
  type AgentId,
  assert,
  canonical,
  Fault,
  fit,
  fits,
  type HexHash,
  hexHash,
  type RunId,
  readJsonMembers,
  shapes,
} from '../core/index.ts'
import { type Entry, entryShape, fromWire, type NewEntry, toWire, wireEventShape } from '../events/index.ts'
import type { PublicKey, SigningKey } from '../keys/index.ts'

/** Bytes of a line, its newline included. */
export const LINE_BYTES_MAX = 1024 * 1024
/** Bytes of a journal. */
export const JOURNAL_BYTES_MAX = 64 * 1024 * 1024

export interface ChainPlace {
  readonly sequence: number
  readonly previousHash: HexHash
}

/** The complete line of an entry, newline included. Format version 2. */
export function recordLine(entry: NewEntry, runId: RunId, place: ChainPlace, key: SigningKey): Buffer {
  const wire = toWire(entry.event)
  assert(fits(wireEventShape, wire), `an event that is written is one of the catalogue (${entry.event.kind})`)
  const payload =
    `{"entry":{"agent_id":"${entry.agent_id}","event":${canonical(wire)},"iteration":${entry.iteration},` +
    `"sequence":${place.sequence},"timestamp":"${entry.timestamp}"},` +
    `"previous_hash":"${place.previousHash}","run_id":"${runId}","version":2}`
  const signature = Buffer.from(key.sign(Buffer.from(payload))).toString('base64')
  return Buffer.from(`{"payload":${payload},"signature":"${signature}"}\n`)
}

const recordShape = shapes.object({ payload: shapes.jsonObject, signature: shapes.text })
const payloadShape = shapes.object({
  entry: entryShape,
  previous_hash: shapes.hexHash,
  run_id: shapes.optional(shapes.id('run')),
  version: shapes.literal(1, 2),
})

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

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads and checks one complete line, its newline included. Throws `EVIDENCE_INVALID` that names the record. */
export function readRecord(line: Uint8Array, key: PublicKey, place: ExpectedPlace): ReadRecord {
  const fail = (reason: string, cause?: unknown): Fault => invalidRecord(place.sequence, reason, cause)
  if (line.length > LINE_BYTES_MAX) throw fail(`it is longer than ${LINE_BYTES_MAX} bytes`)
  let text: string
  try {
    text = utf8.decode(line.subarray(0, line.length - 1))
  } catch (cause) {
    throw fail('it is not valid UTF-8', cause)
  }
  const { value, spans } = strictly(() => readJsonMembers(text, { depthMax: 256 }), fail)
  const record = strictly(() => fit(recordShape, value, 'the record', 'EVIDENCE_INVALID'), fail)
  const span = spans.get('payload')
  assert(span !== undefined, 'a record that fits its shape has a payload')
  const raw = text.slice(span.start, span.end)
  // Only the payload is signed, so nothing else in the line may vary: a last line could be altered unnoticed.
  if (text !== `{"payload":${raw},"signature":"${record.signature}"}`) throw fail('the line holds more than its record')
  const signature = decodeSignature(record.signature)
  if (signature === null) throw fail('its signature is not the padded base64 of 64 bytes')
  if (!key.verifies(Buffer.from(raw), signature)) {
    throw fail('its signature does not fit the payload and the given key')
  }
  const payload = strictly(() => fit(payloadShape, record.payload, 'the payload', 'EVIDENCE_INVALID'), fail)
  if (payload.previous_hash !== place.previousHash) throw fail('it does not continue the record before it')
  if (payload.entry.sequence !== place.sequence) throw fail(`it has the number ${payload.entry.sequence}`)
  if (place.agentId !== null && payload.entry.agent_id !== place.agentId) throw fail('it belongs to another principal')
  const runId = payload.run_id ?? null
  if ((payload.version === 2) !== (runId !== null)) throw fail('its version and its run id do not go together')
  if (place.sequence > 0 && runId !== place.runId) throw fail('it belongs to another run')
  const { event, ...entry } = payload.entry
  return { entry: { ...entry, event: fromWire(event) }, runId, lineHash: hexHash(line) }
}

function strictly<T>(read: () => T, fail: (reason: string, cause?: unknown) => Fault): T {
  try {
    return read()
  } catch (cause) {
    throw fail(cause instanceof Error ? cause.message : 'it cannot be read', cause)
  }
}

function decodeSignature(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === 64 && bytes.toString('base64') === text ? bytes : null
}

function invalidRecord(index: number, reason: string, cause?: unknown): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot verify record ${index} of the journal: ${reason}`,
    hint: 'Keep the file as it is; it was truncated, edited, reordered, or signed by another key',
    facts: { record: index },
    cause,
  })
}
