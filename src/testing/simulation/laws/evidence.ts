/**
 * What lies on the disk of a project and may never be lost, as all laws look at it: journals, claims, approvals and the key.
 * It is read once an event, however many laws ask, and only what is new of it is read.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Json } from '../../../core/index.ts'
import { isHoled, JournalReader, keyOfSeed, type ReadJournal, type SeedKey, sameBytes } from './journal-reader.ts'
import type { DiskView } from './law.ts'
import { canonicalText } from './plain-json.ts'
import { textAt } from './run-facts.ts'
import type { Surface } from './seen.ts'

export interface ReadClaim {
  /** Of the file, in `.symbiont/invocations`. */
  readonly name: string
  /** Null while its first line is not whole. */
  readonly scope: string | null
  readonly id: string | null
  readonly runId: string | null
  /** The journal that its second line names, by the name of its file. */
  readonly journal: string | null
  /** The saved result, when its third line is whole. */
  readonly result: { readonly payload: Json } | null
  /** What is wrong with it, as a sentence, or null. */
  readonly wrong: string | null
}

/** All of it at one moment. */
export interface Evidence {
  readonly key: SeedKey | null
  /** By run id. */
  readonly journals: ReadonlyMap<string, ReadJournal>
  /** By `claimKey`; where two claim the same id, the first. */
  readonly claims: ReadonlyMap<string, ReadClaim>
  /**
   * Claims, by key, that look durable to every program and are not: the next loss of power takes a part of them away. Only the process
   * with this number was told.
   */
  readonly forgotten: ReadonlyMap<string, number>
  readonly claimFiles: readonly ReadClaim[]
  /** The bytes by path below `.symbiont`, temporary names left out. */
  readonly files: ReadonlyMap<string, Uint8Array>
}

export const GOVERNED = 'governed'
export const INVOCATIONS = 'invocations'
export const HELD = join('approvals', 'held')
export const SETTLED = join('approvals', 'settled')
export const KEY_FILE = join(GOVERNED, 'audit-signing.key')

/** Where the ids of a surface are claimed. A call without an id claims none. */
export const SCOPE_OF: Readonly<Record<Surface, string | null>> = {
  chat: 'ws:chat:v1',
  identified: 'mcp:call:v1',
  mcp: null,
}

export function claimKey(scope: string, id: string): string {
  return `${scope} ${id.toLowerCase()}`
}

export class EvidenceReader {
  readonly #root: string
  readonly #journals = new JournalReader()
  readonly #claims = new Map<string, { readonly bytes: Uint8Array; readonly claim: ReadClaim }>()
  #key: { readonly bytes: Uint8Array; readonly key: SeedKey | null } | null = null
  #latest: { readonly moment: object; readonly evidence: Evidence } | null = null

  constructor(project: string) {
    this.#root = join(project, '.symbiont')
  }

  /** What is durable. `moment` is the event that is being looked at, or all events of a life that has ended. */
  at(moment: object, disk: DiskView): Evidence {
    if (this.#latest?.moment === moment) return this.#latest.evidence
    const evidence = this.#read(
      (folder) => disk.durableNames(folder),
      (path) => disk.durable(path),
      (path) => disk.forgot?.(path) ?? null,
      (path) => disk.visible(path),
    )
    this.#latest = { moment, evidence }
    return evidence
  }

  /** `forgottenIn`: where the durable bytes do not tell, because the system lost some in a failed sync and says nothing to others. */
  #read(
    list: (folder: string) => readonly string[],
    bytesOf: (path: string) => Uint8Array | null,
    forgottenIn: (path: string) => number | null,
    visibleOf: (path: string) => Uint8Array | null,
  ): Evidence {
    const files = new Map<string, Uint8Array>()
    for (const folder of [GOVERNED, INVOCATIONS, HELD, SETTLED]) {
      for (const name of list(join(this.#root, folder))) {
        if (name.startsWith('.') || name.endsWith('.lock')) continue
        const bytes = bytesOf(join(this.#root, folder, name))
        if (bytes !== null) files.set(join(folder, name), bytes)
      }
    }
    const key = this.#keyIn(files.get(KEY_FILE))
    const journals = new Map<string, ReadJournal>()
    const claims = new Map<string, ReadClaim>()
    const forgotten = new Map<string, number>()
    const claimFiles: ReadClaim[] = []
    for (const [path, bytes] of files) {
      if (path.startsWith(`${GOVERNED}/`)) {
        const journal = this.#journals.read(path.slice(GOVERNED.length + 1), bytes, key)
        if (journal !== null) journals.set(journal.runId, journal)
      } else if (path.startsWith(`${INVOCATIONS}/`) && path.endsWith('.jsonl')) {
        const file = join(this.#root, path)
        const toldTo = forgottenIn(file)
        const shown = toldTo === null ? bytes : (visibleOf(file) ?? bytes)
        const claim = this.#claimIn(path.slice(INVOCATIONS.length + 1), shown)
        claimFiles.push(claim)
        if (claim.scope === null || claim.id === null) continue
        const id = claimKey(claim.scope, claim.id)
        if (!claims.has(id)) claims.set(id, claim)
        if (toldTo !== null) forgotten.set(id, toldTo)
      }
    }
    return { key, journals, claims, forgotten, claimFiles, files }
  }

  #keyIn(bytes: Uint8Array | undefined): SeedKey | null {
    if (bytes === undefined) return null
    if (this.#key === null || !sameBytes(this.#key.bytes, bytes)) this.#key = { bytes, key: keyOfSeed(bytes) }
    return this.#key.key
  }

  #claimIn(name: string, bytes: Uint8Array): ReadClaim {
    const known = this.#claims.get(name)
    if (known !== undefined && sameBytes(known.bytes, bytes)) return known.claim
    const claim = readClaim(name, bytes)
    this.#claims.set(name, { bytes, claim })
    return claim
  }
}

export function readClaim(name: string, bytes: Uint8Array): ReadClaim {
  const lines = wholeLines(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  const [first, second, third] = lines.map(parsed)
  const claim: ReadClaim = {
    name,
    scope: textAt(first, 'scope'),
    id: textAt(first, 'id'),
    runId: textAt(first, 'run_id'),
    journal: textAt(second, 'reference', 'path')?.split('/').at(-1) ?? null,
    result: third === undefined ? null : { payload: memberOf(third, 'payload') },
    wrong: null,
  }
  return { ...claim, wrong: wrongWith(claim, [first, second, third], lines.length) }
}

/** Those before the first that is not finished, or has a hole. */
function wholeLines(bytes: Buffer): readonly string[] {
  const lines: string[] = []
  for (let at = 0; ; ) {
    const newline = bytes.indexOf(0x0a, at)
    if (newline === -1 || (bytes.subarray(at, newline).includes(0) && isHoled(bytes, at))) return lines
    lines.push(bytes.toString('utf8', at, newline))
    at = newline + 1
  }
}

function wrongWith(claim: ReadClaim, lines: readonly (Json | undefined)[], count: number): string | null {
  if (count > 3) return `has ${count} lines`
  const kinds = ['claim', 'audit', 'result']
  const odd = lines.findIndex((line, at) => line !== undefined && textAt(line, 'kind') !== kinds[at])
  if (odd !== -1) return `holds no ${kinds[odd]} in line ${odd + 1}`
  if (count === 0) return null
  const { scope, id, runId, journal, name } = claim
  if (scope === null || id === null || runId === null) return 'names no scope, id and run'
  const proper = `${createHash('sha256')
    .update(canonicalText([scope, id]))
    .digest('hex')}.jsonl`
  if (name !== proper) return `claims "${id}", and its name should be ${proper}`
  if (journal !== null && journal !== `${textAt(lines[0], 'agent_id')}.${runId}.jsonl`)
    return `names the journal ${journal}`
  return null
}

function parsed(line: string): Json {
  try {
    return JSON.parse(line) as Json
  } catch {
    return null
  }
}

function memberOf(value: Json, name: string): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? ((value as Readonly<Record<string, Json>>)[name] ?? null)
    : null
}
