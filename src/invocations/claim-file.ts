/**
 * The claim file: JSON lines in one order, claim, audit, result, each complete with its newline. Written by one owner and
 * never changed by a reader (law 7).
 *
 * A last line without its newline is what a crash leaves behind, and so are lines with sectors that were never written: they are
 * counted as torn, never trusted. Any other complete line that is malformed was not written by a crash, so the claim is refused.
 */
import { assert, canonical, Fault, fit, fits, type Json, readJson, shapes, type TypeOf } from '../core/index.ts'
import { type AuditReference, auditReferenceShape } from '../events/index.ts'
import { hasPrivateDirectory, hasUnwrittenSectors, judgePrivateFile, type PrivateFileRule } from '../store/index.ts'
import type { OpenFile, World } from '../world/index.ts'
import { scopeShape } from './identity.ts'
import { auditPath, type Place } from './place.ts'

export const CLAIM_RULE: PrivateFileRule = { what: 'invocation claim', bytesMax: 2 * 1024 * 1024 }
export const STORE_NAME = 'invocation store'
const RESULT_BYTES_MAX = 1024 * 1024

const claimShape = shapes.object({
  kind: shapes.literal('claim'),
  version: shapes.literal(1),
  scope: scopeShape,
  id: shapes.id('invocation'),
  request_hash: shapes.hash,
  agent_id: shapes.id('agent'),
  run_id: shapes.id('run'),
})
const auditShape = shapes.object({ kind: shapes.literal('audit'), reference: auditReferenceShape })
const resultShape = shapes.object({ kind: shapes.literal('result'), payload: shapes.json })
export type ClaimRecord = TypeOf<typeof claimShape>

export interface ClaimLines {
  readonly claim: ClaimRecord | null
  readonly audit: AuditReference | null
  readonly result: { readonly payload: Json } | null
  /** Behind the complete lines there is more. */
  readonly torn: boolean
}

/** Reads what a claim says, or throws `CLAIM_INVALID`. */
export function readClaimLines(bytes: Uint8Array, place: Place): ClaimLines {
  const lines = completeLines(bytes)
  if (lines.complete.length > 3) throw invalid(`it has ${lines.complete.length} lines where three are the most`)
  const [first, second, third] = lines.complete
  const claim = first === undefined ? null : fit(claimShape, parse(first), 'line 1 of the claim', 'CLAIM_INVALID')
  const audit = second === undefined ? null : fit(auditShape, parse(second), 'line 2 of the claim', 'CLAIM_INVALID')
  const result = third === undefined ? null : fit(resultShape, parse(third), 'line 3 of the claim', 'CLAIM_INVALID')
  if (claim !== null && audit !== null) {
    const { run_id, path } = audit.reference
    if (run_id !== claim.run_id) throw invalid('its audit line names another run')
    if (path !== auditPath(place, claim.agent_id, claim.run_id)) throw invalid('its journal lies in another place')
  }
  return {
    claim,
    audit: audit === null ? null : audit.reference,
    result: result === null ? null : { payload: result.payload },
    torn: lines.bytes < bytes.length,
  }
}

const NEWLINE = 0x0a

/** The lines that a crash left whole, and how many bytes they are with their newlines. */
function completeLines(bytes: Uint8Array): { readonly complete: readonly Uint8Array[]; readonly bytes: number } {
  const complete: Uint8Array[] = []
  let at = 0
  for (;;) {
    const newline = bytes.indexOf(NEWLINE, at)
    if (newline === -1) break
    const line = bytes.subarray(at, newline)
    if (hasUnwrittenSectors(bytes, at)) break
    complete.push(line)
    at = newline + 1
  }
  return { complete, bytes: at }
}

/** Canonical JSON is at most 512 levels deep, and the line of a result adds one. */
const DEPTH_MAX = 513

function parse(line: Uint8Array): Json {
  try {
    return readJson(line, { depthMax: DEPTH_MAX, bytesMax: CLAIM_RULE.bytesMax })
  } catch (cause) {
    throw invalid('a complete line of it is not strict JSON', cause)
  }
}

function invalid(reason: string, cause?: unknown): Fault {
  return new Fault('CLAIM_INVALID', {
    message: `Cannot read the invocation claim: ${reason}`,
    hint: 'Keep the file as evidence; its id never runs again. Send new work under a new id',
    cause,
  })
}

export function claimLine(claim: ClaimRecord): Buffer {
  assert(fits(claimShape, claim), 'a claim that is written can be read')
  const { kind, version, scope, id, request_hash, agent_id, run_id } = claim
  return line({ kind, version, scope, id, request_hash, agent_id, run_id }) // the order of the members on disk
}

export function auditLine({ run_id, path, public_key }: AuditReference): Buffer {
  return line({ kind: 'audit', reference: { run_id, path, public_key } })
}

/** Throws when the result is too large, or is no value that a strict reader gives back. */
export function resultLine(result: Json): Buffer {
  const payload = canonical(result)
  const bytes = Buffer.byteLength(payload)
  if (bytes > RESULT_BYTES_MAX) {
    throw new Fault('PAYLOAD_TOO_LARGE', {
      message: `Cannot record the result: it holds ${bytes} bytes and ${RESULT_BYTES_MAX} are allowed`,
      hint: 'Let the run return less; the claim stays unresolved',
    })
  }
  readJson(payload, { depthMax: DEPTH_MAX - 1 }) // what we write, we can read: an unreadable line would close the id as damaged
  return Buffer.from(`{"kind":"result","payload":${payload}}\n`)
}

function line(record: Json): Buffer {
  return Buffer.from(`${JSON.stringify(record)}\n`)
}

/** The owner's hand on the file. Each append looks again at the folder, at the file, and at its length. */
export class ClaimWriter {
  readonly #world: World
  readonly #store: string
  readonly #file: OpenFile
  #bytes = 0

  constructor(world: World, store: string, file: OpenFile) {
    this.#world = world
    this.#store = store
    this.#file = file
  }

  async append(bytes: Uint8Array): Promise<void> {
    if (!(await hasPrivateDirectory(this.#world, this.#store, STORE_NAME))) throw changed('its folder is gone')
    const facts = await this.#file.facts()
    judgePrivateFile(this.#world, facts, CLAIM_RULE)
    if (facts.size !== this.#bytes) throw changed(`it holds ${facts.size} bytes and we wrote ${this.#bytes}`)
    await this.#file.append(bytes)
    this.#bytes += bytes.length
  }

  async sync(): Promise<void> {
    await this.#file.syncData()
  }
}

function changed(reason: string): Fault {
  return new Fault('CLAIM_INVALID', {
    message: `Cannot append to the invocation claim: ${reason}`,
    hint: 'Somebody else changed the store. Keep it as evidence, and inspect the invocation',
  })
}
