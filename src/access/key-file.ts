/**
 * The key file: a JSON array of API key records, shared with other tools of the same format.
 *
 * Owns reading and judging it, and fails closed (law 5): a file that others could read or replace, that is too large, or
 * that does not say clearly which keys exist, is refused as a whole. Leaves changing it to `key-admin.ts`.
 */
import {
  type AgentId,
  Fault,
  fit,
  hexHash,
  idOrNull,
  isFault,
  type Json,
  type JsonObject,
  messageOf,
  readJson,
  shapes,
} from '../core/index.ts'
import type { FileFacts, World } from '../world/index.ts'

const KEY_FILE_BYTES_MAX = 1024 * 1024

export type KeyRecord = {
  readonly key_id: string
  /** Argon2id PHC text of the secret part. Text that is not one simply never verifies. */
  readonly key_hash: string
  readonly agent_scope: readonly AgentId[] | null
  readonly description: string
  /** Free text of whoever wrote it. */
  readonly created_at: string
  readonly revoked: boolean
}

export type KeyFile = {
  readonly records: ReadonlyMap<string, KeyRecord>
  /** The records as they stand in the file, with members that are not ours: a rewrite keeps them. */
  readonly raw: readonly JsonObject[]
  readonly exists: boolean
  /** Changes when the file may have changed. */
  readonly mark: string
  /** Digest of the bytes, to see that nothing changed after all. */
  readonly bytes: string
}

const RECORD = shapes.open({
  key_id: shapes.boundedText(1, 256),
  key_hash: shapes.boundedText(1, 1024),
  agent_scope: shapes.optional(shapes.nullable(shapes.list(shapes.text))),
  description: shapes.optional(shapes.text),
  created_at: shapes.optional(shapes.text),
  revoked: shapes.optional(shapes.bool),
})

/** Reads the file, or throws `KEY_FILE_UNSAFE` or `KEY_FILE_INVALID`. A file that is not there holds no keys. */
export async function readKeyFile(path: string, world: World): Promise<KeyFile> {
  await using file = await openKeyFile(path, world)
  if (file === null) return { records: new Map(), raw: [], exists: false, mark: 'absent', bytes: '' }
  const facts = await file.facts()
  refuseUnsafe(facts, world)
  if (facts.size > KEY_FILE_BYTES_MAX) throw tooLarge(facts.size)
  const bytes = await file.readAll(KEY_FILE_BYTES_MAX)
  const raw = parse(bytes)
  return {
    records: recordsOf(raw),
    raw,
    exists: true,
    mark: markOf(facts),
    bytes: hexHash(bytes),
  }
}

/**
 * The mark of the file as it stands on disk now, without opening it, and the instant of its last change: timestamps move
 * in steps, so a file that is very young may change again under the same mark.
 */
export async function keyFileMark(path: string, world: World): Promise<{ mark: string; changedNs: bigint }> {
  const facts = await world.files.lstat(path)
  return facts === null ? { mark: 'absent', changedNs: 0n } : { mark: markOf(facts), changedNs: facts.changedNs }
}

/** The text of a key file with these records, or `KEY_FILE_INVALID` where nobody could read it back. */
export function keyFileText(raw: readonly JsonObject[]): string {
  recordsOf(raw)
  const text = `${JSON.stringify(raw, null, 2)}\n`
  if (Buffer.byteLength(text) > KEY_FILE_BYTES_MAX) throw tooLarge(Buffer.byteLength(text))
  return text
}

function markOf(facts: FileFacts): string {
  return `${facts.kind}:${facts.inode}:${facts.size}:${facts.mode}:${facts.modifiedNs}:${facts.changedNs}`
}

async function openKeyFile(path: string, world: World): ReturnType<World['files']['open']> {
  try {
    return await world.files.open(path, 'read')
  } catch (error) {
    if (isFault(error, 'STORAGE_UNSAFE')) throw unsafe('it is a symbolic link', 'Name the file itself')
    throw error
  }
}

function refuseUnsafe(facts: FileFacts, world: World): void {
  if (facts.kind !== 'file') throw unsafe('it is not a regular file', 'Name a regular file')
  if (world.files.uid === -1) return // a platform without owners and modes
  if (facts.ownerUid !== world.files.uid) {
    throw unsafe('it belongs to another user', 'Let the user who runs this service own the file')
  }
  if ((facts.mode & 0o077) !== 0) {
    const mode = facts.mode.toString(8).padStart(4, '0')
    throw unsafe(`it has insecure mode ${mode} where 0600 is expected`, 'Run "chmod 600" on the file')
  }
}

function parse(bytes: Uint8Array): readonly JsonObject[] {
  let value: Json
  try {
    value = readJson(bytes, { bytesMax: KEY_FILE_BYTES_MAX })
  } catch (cause) {
    throw invalid(messageOf(cause), 'Correct the file by hand, or restore a copy', cause)
  }
  fit(shapes.list(RECORD), value, 'the API key file', 'KEY_FILE_INVALID')
  return value as readonly JsonObject[]
}

function recordsOf(raw: readonly JsonObject[]): Map<string, KeyRecord> {
  const list = fit(shapes.list(RECORD), raw, 'the API key file', 'KEY_FILE_INVALID')
  const records = new Map<string, KeyRecord>()
  for (const record of list) {
    if (records.has(record.key_id)) {
      throw invalid(
        `the key id ${JSON.stringify(record.key_id)} appears twice`,
        'Keep one record of each key id: two would leave open which of them is revoked',
      )
    }
    records.set(record.key_id, {
      key_id: record.key_id,
      key_hash: record.key_hash,
      agent_scope: scopeOf(record.key_id, record.agent_scope ?? null),
      description: record.description ?? '',
      created_at: record.created_at ?? '',
      revoked: record.revoked ?? false,
    })
  }
  return records
}

function scopeOf(keyId: string, scope: readonly string[] | null): readonly AgentId[] | null {
  if (scope === null) return null
  return scope.map((text) => {
    const agent = idOrNull('agent', text)
    if (agent !== null) return agent
    throw invalid(
      `the scope of key ${JSON.stringify(keyId)} names ${JSON.stringify(text.slice(0, 80))}, which is no agent id`,
      'Give agent ids as UUIDs of 36 characters, or null for an admin key',
    )
  })
}

function unsafe(state: string, hint: string): Fault {
  return new Fault('KEY_FILE_UNSAFE', { message: `Cannot use the API key file: ${state}`, hint })
}

function invalid(state: string, hint: string, cause?: unknown): Fault {
  return new Fault('KEY_FILE_INVALID', { message: `Cannot use the API key file: ${state}`, hint, cause })
}

function tooLarge(size: number): Fault {
  return invalid(
    `it would hold ${size} bytes and ${KEY_FILE_BYTES_MAX} are allowed`,
    'Remove the records of keys that were revoked long ago',
  )
}
