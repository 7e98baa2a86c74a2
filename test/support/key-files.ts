/** Key files for tests: hashes with the smallest costs, so that a suite does not spend its time on Argon2. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hash } from '@node-rs/argon2'
import type { AccessSettings } from '../../src/access/index.ts'

export const AGENT = '11111111-2222-4333-8444-555555555555'
export const OTHER_AGENT = '99999999-2222-4333-8444-555555555555'
export const SECRET = 'test-only-secret'

export type TestKey = {
  readonly key_id: string
  readonly key_hash: string
  readonly agent_scope: readonly string[] | null
  readonly description: string
  readonly created_at: string
  readonly revoked: boolean
}

export async function testKey(keyId: string, more: Partial<TestKey> = {}, secret = SECRET): Promise<TestKey> {
  return {
    key_id: keyId,
    key_hash: await hash(secret, { memoryCost: 8, timeCost: 1, parallelism: 1 }),
    agent_scope: null,
    description: '',
    created_at: '2026-01-01',
    revoked: false,
    ...more,
  }
}

export function settingsFor(keyFile: string | null, more: Partial<AccessSettings> = {}): AccessSettings {
  return { keyFile, legacyToken: null, refuseLegacyToken: false, rejectLegacyKeys: false, production: false, ...more }
}

export interface KeyFolder extends AsyncDisposable {
  readonly folder: string
  readonly path: string
  write(content: unknown, mode?: number): Promise<void>
}

export async function keyFolder(keys?: readonly TestKey[]): Promise<KeyFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'symbi-keys-'))
  const path = join(folder, 'keys.json')
  const write = async (content: unknown, mode = 0o600): Promise<void> => {
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content), { mode })
  }
  if (keys !== undefined) await write(keys)
  return { folder, path, write, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
