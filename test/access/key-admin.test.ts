import { readdir, readFile, stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ApiKeys, addKey, listKeys, revokeKey } from '../../src/access/index.ts'
import type { AgentId } from '../../src/core/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { AGENT, keyFolder, settingsFor, testKey } from '../support/key-files.ts'

const world = nodeWorld()
const { signal } = new AbortController()
const admin = (keyId: string) => ({ keyId, agents: null, description: '' })

test('addKey() returns the token once, stores only its hash, and the file is private', async () => {
  await using keys = await keyFolder()
  const { key_id, token } = await addKey(keys.path, { ...admin('ci'), description: 'pipeline' }, world, signal)
  const text = await readFile(keys.path, 'utf8')
  const secret = token.slice('ci.'.length)
  expect(key_id).toBe('ci')
  expect(secret).toMatch(/^[\w-]{43}$/)
  expect(text).not.toContain(secret)
  expect(JSON.parse(text)[0]).toMatchObject({
    key_id: 'ci',
    key_hash: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/),
    agent_scope: null,
    description: 'pipeline',
    revoked: false,
  })
  expect((await stat(keys.path)).mode & 0o777).toBe(0o600)
  const store = await ApiKeys.open(settingsFor(keys.path), world, () => undefined)
  expect(await store.authenticate(token)).toMatchObject({ key_id: 'ci', agent_scope: null })
})

test('a key with agents is scoped to them', async () => {
  await using keys = await keyFolder()
  const { token } = await addKey(keys.path, { ...admin('one'), agents: [AGENT as AgentId] }, world, signal)
  const store = await ApiKeys.open(settingsFor(keys.path), world, () => undefined)
  expect(await store.authenticate(token)).toMatchObject({ agent_scope: [AGENT] })
})

test('revokeKey() takes effect in a running store, keeps the record, and says whether it was in force', async () => {
  await using keys = await keyFolder()
  const { token } = await addKey(keys.path, admin('ci'), world, signal)
  const store = await ApiKeys.open(settingsFor(keys.path), world, () => undefined)
  expect(await store.authenticate(token)).not.toBeNull()
  expect(await revokeKey(keys.path, 'ci', world, signal)).toBe(true)
  expect(await store.authenticate(token)).toBeNull()
  expect(await revokeKey(keys.path, 'ci', world, signal)).toBe(false)
  expect(await listKeys(keys.path, world)).toMatchObject([{ key_id: 'ci', revoked: true }])
})

test('listKeys() shows no hash', async () => {
  await using keys = await keyFolder([await testKey('a'), await testKey('b', { revoked: true })])
  const list = await listKeys(keys.path, world)
  expect(list.map((key) => key.key_id)).toEqual(['a', 'b'])
  expect(JSON.stringify(list)).not.toContain('argon2')
})

test('an id that exists, revoked or not, is not given again', async () => {
  await using keys = await keyFolder([await testKey('old', { revoked: true })])
  await expect(addKey(keys.path, admin('old'), world, signal)).rejects.toMatchObject({ code: 'KEY_EXISTS' })
})

test.each(['', 'a.b', 'a b', 'ä', 'x'.repeat(65)])('the id %j is refused', async (keyId) => {
  await using keys = await keyFolder()
  await expect(addKey(keys.path, admin(keyId), world, signal)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
})

test('a key that nobody has cannot be revoked', async () => {
  await using keys = await keyFolder([await testKey('a')])
  await expect(revokeKey(keys.path, 'b', world, signal)).rejects.toMatchObject({ code: 'KEY_NOT_FOUND' })
})

test('a rewrite keeps members and records that are not ours', async () => {
  await using keys = await keyFolder()
  const foreign = { ...(await testKey('theirs')), owner: { team: 'a' } }
  await keys.write([foreign])
  await addKey(keys.path, admin('ours'), world, signal)
  expect(JSON.parse(await readFile(keys.path, 'utf8'))[0]).toEqual(foreign)
})

test('an invalid file is left exactly as it is', async () => {
  await using keys = await keyFolder()
  await keys.write('[ broken')
  await expect(addKey(keys.path, admin('a'), world, signal)).rejects.toMatchObject({ code: 'KEY_FILE_INVALID' })
  expect(await readFile(keys.path, 'utf8')).toBe('[ broken')
})

test('eight commands at once lose no key and leave no temporary file', async () => {
  await using keys = await keyFolder()
  const ids = Array.from({ length: 8 }, (_, index) => `key-${index}`)
  await Promise.all(ids.map((keyId) => addKey(keys.path, admin(keyId), world, signal)))
  expect((await listKeys(keys.path, world)).map((key) => key.key_id).sort()).toEqual(ids)
  expect((await readdir(keys.folder)).sort()).toEqual(['keys.json', 'keys.json.lock'])
})

test('a failed replacement leaves the old file and no temporary one', async () => {
  await using keys = await keyFolder([await testKey('a')])
  const before = await readFile(keys.path)
  const broken = {
    ...world,
    files: { ...world.files, rename: () => Promise.reject(new Error('the disk said no')) },
  }
  await expect(addKey(keys.path, admin('b'), broken, signal)).rejects.toThrow('the disk said no')
  expect(await readFile(keys.path)).toEqual(before)
  expect((await readdir(keys.folder)).filter((name) => name.endsWith('.tmp'))).toEqual([])
})
