import { chmod, link, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ApiKeys } from '../../src/access/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { AGENT, keyFolder, settingsFor, testKey } from '../support/key-files.ts'

const open = (path: string, more = {}): Promise<ApiKeys> =>
  ApiKeys.open(settingsFor(path, more), nodeWorld(), () => undefined)

test('a key file that is not there holds no keys, and nothing authenticates', async () => {
  await using keys = await keyFolder()
  const store = await open(keys.path)
  expect(store.hasCredential).toBe(false)
  expect(await store.authenticate('fixture.test-only-secret')).toBeNull()
})

test.each([0o640, 0o604, 0o666, 0o610])(
  'a key file with mode %o is refused, and the message names 0600',
  async (mode) => {
    await using keys = await keyFolder([await testKey('fixture')])
    await chmod(keys.path, mode)
    await expect(open(keys.path)).rejects.toMatchObject({
      code: 'KEY_FILE_UNSAFE',
      message: expect.stringMatching(/has insecure mode 0\d{3} .*0600/),
    })
  },
)

test('a key file that is a symbolic link is refused, even to a good file', async () => {
  await using keys = await keyFolder([await testKey('fixture')])
  const name = join(keys.folder, 'link.json')
  await symlink(keys.path, name)
  await expect(open(name)).rejects.toMatchObject({ code: 'KEY_FILE_UNSAFE' })
})

test('a folder in place of the key file is refused', async () => {
  await using keys = await keyFolder()
  await mkdir(keys.path)
  await expect(open(keys.path)).rejects.toMatchObject({ code: 'KEY_FILE_UNSAFE' })
})

test('a key file of another user is refused', async () => {
  await using keys = await keyFolder([await testKey('fixture')])
  const world = nodeWorld()
  const stranger = { ...world, files: { ...world.files, uid: world.files.uid + 1 } }
  await expect(ApiKeys.open(settingsFor(keys.path), stranger, () => undefined)).rejects.toMatchObject({
    code: 'KEY_FILE_UNSAFE',
    message: expect.stringContaining('belongs to another user'),
  })
})

test('a key file of more than 1 MiB is refused', async () => {
  await using keys = await keyFolder()
  await keys.write(`[${' '.repeat(1024 * 1024)}]`)
  await expect(open(keys.path)).rejects.toMatchObject({ code: 'KEY_FILE_INVALID' })
})

test('two records with one key id are refused, so that it is never open which of them is revoked', async () => {
  await using keys = await keyFolder([await testKey('twice'), await testKey('twice', { revoked: true })])
  await expect(open(keys.path)).rejects.toMatchObject({
    code: 'KEY_FILE_INVALID',
    message: expect.stringContaining('"twice" appears twice'),
  })
})

test.each([
  ['text that is no JSON', 'keys: []'],
  ['an object', '{}'],
  ['a record without a hash', '[{"key_id":"a"}]'],
  ['an empty key id', '[{"key_id":"","key_hash":"x"}]'],
  ['a member named twice', '[{"key_id":"a","key_hash":"x","revoked":true,"revoked":false}]'],
  ['a revoked member that is text', '[{"key_id":"a","key_hash":"x","revoked":"true"}]'],
  ['a scope that names no agent', '[{"key_id":"a","key_hash":"x","agent_scope":["everything"]}]'],
])('%s is refused as a whole', async (_, content) => {
  await using keys = await keyFolder()
  await keys.write(content)
  await expect(open(keys.path)).rejects.toMatchObject({ code: 'KEY_FILE_INVALID', hint: expect.any(String) })
})

test('a refusal names no path of this machine', async () => {
  await using keys = await keyFolder()
  await keys.write('[', 0o600)
  const error = await open(keys.path).catch((fault: Error) => fault)
  expect(String(error)).not.toContain(keys.folder)
})

test('unknown members, a missing description and any spelling of created_at are accepted', async () => {
  await using keys = await keyFolder()
  const { description: _, ...record } = await testKey('fixture', { agent_scope: [AGENT.toUpperCase()] })
  await keys.write([{ ...record, created_at: 'last spring', owner: { team: 'a' } }])
  const store = await open(keys.path)
  expect(await store.authenticate('fixture.test-only-secret')).toMatchObject({
    key_id: 'fixture',
    agent_scope: [AGENT],
  })
})

test('a key file without records is reported and falls back to the legacy token, but not in production', async () => {
  await using keys = await keyFolder([])
  const reports: string[] = []
  const settings = settingsFor(keys.path, { legacyToken: 'legacy' })
  const store = await ApiKeys.open(settings, nodeWorld(), (fault) => reports.push(fault.code))
  expect(reports).toEqual(['KEY_FILE_INVALID'])
  expect(await store.authenticate('legacy')).toMatchObject({ key_id: null })
  await expect(open(keys.path, { production: true })).rejects.toMatchObject({ code: 'KEY_FILE_INVALID' })
})

test('a hard link beside the key file changes nothing: mode and owner are those of the file', async () => {
  await using keys = await keyFolder([await testKey('fixture')])
  await link(keys.path, join(keys.folder, 'second.json'))
  await writeFile(join(keys.folder, 'unrelated'), '')
  expect(await (await open(keys.path)).authenticate('fixture.test-only-secret')).not.toBeNull()
})
