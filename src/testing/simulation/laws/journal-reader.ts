/**
 * Journals, read by their written format alone: lines, chain of hashes, signature, sequence, and the run and principal that
 * the name of the file says. Shares no code with the writer or the verifier. Reading the same journal again costs only what is
 * new of it; what was read before must still be there, byte for byte.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Event } from '../../../events/index.ts'
import { canonicalText } from './plain-json.ts'

/** An entry, with its event in the form `{kind, …members}`. Its members are as signed, and not checked one by one. */
export interface ReadEntry {
  readonly sequence: number
  readonly iteration: number
  /** As written; texts of one clock sort like their times. */
  readonly timestamp: string
  readonly event: Event
}

/** A new object whenever the file has grown. */
export interface ReadJournal {
  /** Of the file, in `.symbiont/governed`. */
  readonly name: string
  readonly agentId: string
  readonly runId: string
  readonly bytes: Uint8Array
  /** Up to the first line that is not what a writer leaves behind. */
  readonly entries: readonly ReadEntry[]
  /** Bytes behind the last newline, or behind the last good line. */
  readonly tailBytes: number
  /** What is wrong with it, as a sentence, or null. A torn tail is not wrong. */
  readonly wrong: string | null
}

export interface SeedKey {
  readonly publicHex: string
  readonly key: KeyObject
}

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** The key that 32 bytes of seed stand for, as the file of the key holds them; null for anything else. */
export function keyOfSeed(seed: Uint8Array): SeedKey | null {
  if (seed.length !== 32) return null
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
  const key = createPublicKey(secret)
  const { x = '' } = key.export({ format: 'jwk' })
  return { key, publicHex: Buffer.from(x, 'base64url').toString('hex') }
}

const NAME = /^([0-9a-f-]{36})\.([0-9a-f-]{36})\.jsonl$/

export function isJournalName(name: string): boolean {
  return NAME.test(name)
}

interface Progress {
  readonly journal: ReadJournal
  readonly entries: ReadEntry[]
  /** Where the next line starts. */
  at: number
  previousHash: string
  ended: boolean
}

export class JournalReader {
  readonly #known = new Map<string, Progress>()

  /** Null for a name that is none of a journal. Bytes that were handed in are never changed by anybody afterwards. */
  read(name: string, bytes: Uint8Array, key: SeedKey | null): ReadJournal | null {
    const known = this.#known.get(name)
    if (known !== undefined && sameBytes(known.journal.bytes, bytes)) return known.journal
    const named = NAME.exec(name)
    if (named === null) return null
    const [, agentId = '', runId = ''] = named
    const grown = known !== undefined && startsWith(bytes, known.journal.bytes) && known.journal.wrong === null
    const progress = grown ? known : { entries: [], at: 0, previousHash: ZEROS, ended: false }
    const wrong = readOn(progress, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), { agentId, runId, key })
    const { entries, at, previousHash, ended } = progress
    const journal = { name, agentId, runId, bytes, entries: [...entries], tailBytes: bytes.length - at, wrong }
    this.#known.set(name, { journal, entries, at, previousHash, ended })
    return journal
  }
}

/** Takes in the complete lines from `at` on. Says what is wrong with the first that is none of a writer. */
function readOn(progress: Omit<Progress, 'journal'>, bytes: Buffer, owner: Owner): string | null {
  for (;;) {
    const { at, entries } = progress
    const sequence = entries.length
    if (progress.ended && at < bytes.length)
      return `${bytes.length - at} bytes stand behind its end, entry ${sequence - 1}`
    const newline = bytes.indexOf(0x0a, at)
    if (newline === -1)
      return bytes.length - at > LINE_BYTES_MAX && !isHoled(bytes, at) ? 'its last line is too long' : null
    const line = bytes.subarray(at, newline + 1)
    if (line.includes(0) && isHoled(bytes, at)) return null
    const entry = entryIn(line, { ...owner, sequence, previousHash: progress.previousHash })
    if (typeof entry === 'string') return `line ${sequence} ${entry}`
    entries.push(entry.entry)
    progress.previousHash = entry.lineHash
    progress.at = newline + 1
    progress.ended = entry.entry.event.kind === 'Terminated'
  }
}

/**
 * Whether the bytes from the beginning of a line on have holes as a loss of power leaves them, and no other zeros: whole
 * sectors, or what stands in them behind what was synced, which ends with a line.
 */
export function isHoled(bytes: Buffer, start: number): boolean {
  const text = bytes.toString('latin1', start)
  const holes = [...text.matchAll(/\0+/g)].map((match) => ({
    from: start + match.index,
    to: start + match.index + match[0].length,
  }))
  const isSector = (at: number): boolean => at % 512 === 0
  return (
    holes.length > 0 &&
    holes.every(({ from, to }) => (isSector(from) || bytes[from - 1] === 0x0a) && (isSector(to) || to === bytes.length))
  )
}

interface Owner {
  readonly agentId: string
  readonly runId: string
  readonly key: SeedKey | null
}

interface Place extends Owner {
  readonly sequence: number
  readonly previousHash: string
}

const ZEROS = '0'.repeat(64)
const LINE_BYTES_MAX = 1024 * 1024
const HEAD = '{"payload":'
const TAIL = /^,"signature":"([A-Za-z0-9+/]{86}==)"\}\n$/
const TAIL_BYTES = 105

function entryIn(line: Buffer, place: Place): { readonly entry: ReadEntry; readonly lineHash: string } | string {
  if (line.length > LINE_BYTES_MAX) return 'is longer than a line may be'
  const tail = TAIL.exec(line.toString('latin1', Math.max(0, line.length - TAIL_BYTES)))
  if (tail === null || line.toString('latin1', 0, HEAD.length) !== HEAD) return 'is no signed record'
  const payload = line.subarray(HEAD.length, line.length - TAIL_BYTES)
  const lineHash = createHash('sha256').update(line).digest('hex')
  if (place.key === null) return 'was written without a key'
  if (!signed(payload, tail[1] ?? '', lineHash, place.key)) return 'is not signed with the key of the project'
  const text = payload.toString('utf8')
  const record = parsed(text)
  if (record === null || canonicalText(record) !== text) return 'is no canonical JSON'
  const { entry, previous_hash, run_id, version } = record
  if (version !== 2 || Object.keys(record).length !== 4) return 'is no record of format version 2'
  if (previous_hash !== place.previousHash) return 'does not continue the chain'
  if (run_id !== place.runId) return `belongs to the run "${run_id}"`
  if (entry?.sequence !== place.sequence) return `calls itself entry ${entry?.sequence}`
  if (entry.agent_id !== place.agentId) return `belongs to the principal "${entry.agent_id}"`
  const kinds = Object.entries(entry.event ?? {})
  const [kind, members] = kinds[0] ?? []
  if (kinds.length !== 1 || typeof kind !== 'string' || typeof members !== 'object') return 'holds no event'
  if ((kind === 'Started') !== (place.sequence === 0)) return `is ${kind}`
  const event = { kind, ...members } as unknown as Event
  const { iteration = 0, timestamp = '' } = entry
  return { entry: { sequence: place.sequence, iteration, timestamp, event }, lineHash }
}

interface WireRecord {
  readonly entry?: {
    readonly sequence?: number
    readonly agent_id?: string
    readonly iteration?: number
    readonly timestamp?: string
    readonly event?: Record<string, object>
  }
  readonly previous_hash?: string
  readonly run_id?: string
  readonly version?: number
}

function parsed(text: string): WireRecord | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? (value as WireRecord | null) : null
  } catch {
    return null
  }
}

/** Lines whose signature was found good, by key and hash of the line. A check costs more than all else here together. */
const good = new Set<string>()
const GOOD_MAX = 50_000

function signed(payload: Buffer, signature: string, lineHash: string, { key, publicHex }: SeedKey): boolean {
  const name = `${publicHex}${lineHash}`
  if (good.has(name)) return true
  if (!verify(null, payload, key, Buffer.from(signature, 'base64'))) return false
  if (good.size >= GOOD_MAX) for (const oldest of [...good].slice(0, GOOD_MAX / 2)) good.delete(oldest)
  good.add(name)
  return true
}

export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left === right || (left.length === right.length && startsWith(left, right))
}

export function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  return bytes.length >= prefix.length && Buffer.compare(bytes.subarray(0, prefix.length), prefix) === 0
}
