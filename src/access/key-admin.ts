/**
 * Adding, listing and revoking API keys.
 *
 * The file is replaced as a whole: a private new file, synced, renamed over the old one, and the folder synced. A crash
 * leaves the old file or the new one. Two commands at once are kept apart by a lock file beside it, so neither loses the
 * other's change. Only the hash of a secret is stored; its token is returned once and cannot be had again.
 */
import { basename, dirname } from 'node:path'
import { type AgentId, Fault, type JsonObject } from '../core/index.ts'
import { replacePrivateFile } from '../store/index.ts'
import type { OpenFile, World } from '../world/index.ts'
import { type KeyRecord, keyFileText, readKeyFile } from './key-file.ts'
import { hashSecret } from './password.ts'

export type NewKey = {
  readonly keyId: string
  /** The agents the key is limited to; null makes an admin key. */
  readonly agents: readonly AgentId[] | null
  readonly description: string
}

export type KeySummary = Omit<KeyRecord, 'key_hash'>

const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/
const LOCK_WAIT_MS = 2_000
const LOCK_RETRY_MS = 20

export async function addKey(
  path: string,
  key: NewKey,
  world: World,
  signal: AbortSignal,
): Promise<{ readonly key_id: string; readonly token: string }> {
  if (!KEY_ID.test(key.keyId)) {
    throw new Fault('INVALID_REQUEST', {
      message: `Cannot add the key ${JSON.stringify(key.keyId.slice(0, 80))}: its id is not usable`,
      hint: 'Use 1 to 64 letters, digits, hyphens and underscores; a dot would end the id inside the token',
    })
  }
  const secret = Buffer.from(world.random.bytes(32)).toString('base64url')
  const record = {
    key_id: key.keyId,
    key_hash: await hashSecret(secret, world),
    agent_scope: key.agents === null ? null : [...key.agents],
    description: key.description,
    created_at: world.clock.wall(),
    revoked: false,
  }
  await changeKeys(path, world, signal, (raw) => {
    if (!raw.some((known) => known.key_id === key.keyId)) return [...raw, record]
    throw new Fault('KEY_EXISTS', {
      message: `Cannot add the key "${key.keyId}": a key with this id exists`,
      hint: 'Choose another id; the id of a revoked key is not used again',
    })
  })
  return { key_id: key.keyId, token: `${key.keyId}.${secret}` }
}

/** The records in the order of the file, without their hashes. */
export async function listKeys(path: string, world: World): Promise<readonly KeySummary[]> {
  const { records } = await readKeyFile(path, world)
  return [...records.values()].map(({ key_hash: _, ...summary }) => summary)
}

/** Marks the key as revoked; the record stays as evidence that the id was given. True if it was in force until now. */
export async function revokeKey(path: string, keyId: string, world: World, signal: AbortSignal): Promise<boolean> {
  let wasInForce = false
  await changeKeys(path, world, signal, (raw) => {
    const record = raw.find((known) => known.key_id === keyId)
    if (record === undefined) {
      throw new Fault('KEY_NOT_FOUND', {
        message: `Cannot revoke the key ${JSON.stringify(keyId.slice(0, 80))}: no key has this id`,
        hint: 'Run "symbi keys list" to see the ids',
      })
    }
    wasInForce = record.revoked !== true
    return raw.map((known) => (known === record ? { ...known, revoked: true } : known))
  })
  return wasInForce
}

async function changeKeys(
  path: string,
  world: World,
  signal: AbortSignal,
  change: (raw: readonly JsonObject[]) => readonly JsonObject[],
): Promise<void> {
  await world.files.mkdir(dirname(path), 0o700)
  await using _lock = await lockBeside(path, world, signal)
  const { raw } = await readKeyFile(path, world)
  await replacePrivateFile(world, dirname(path), basename(path), Buffer.from(keyFileText(change(raw))))
}

/** The key file is replaced at every change, so a lock on the file itself would guard a file that is gone. */
async function lockBeside(path: string, world: World, signal: AbortSignal): Promise<OpenFile> {
  const name = `${path}.lock`
  const deadline = world.clock.monotonicMs() + LOCK_WAIT_MS
  for (;;) {
    const lock = (await world.files.create(name, 0o600)) ?? (await world.files.open(name, 'lock'))
    if (lock !== null) {
      if (await lock.tryLock()) return lock
      await lock.close()
    }
    if (world.clock.monotonicMs() >= deadline) {
      throw new Fault('STORAGE_BUSY', {
        message: 'Cannot change the API keys: another command is changing them',
        hint: 'Try again when it has finished',
      })
    }
    await world.clock.sleep(LOCK_RETRY_MS, signal)
  }
}
