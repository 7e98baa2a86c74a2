import { rename, rm, writeFile } from 'node:fs/promises'
import { hash } from '@node-rs/argon2'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ApiKeys, networkCaller, SDK_FINGERPRINT } from '../../src/access/index.ts'
import { digest, instantOf } from '../../src/core/index.ts'
import { type FileFacts, type Files, nodeWorld } from '../../src/world/index.ts'
import { AGENT, keyFolder, SECRET, settingsFor, testKey } from '../support/key-files.ts'
import { testWorld } from '../support/test-world.ts'

const verifications = vi.hoisted(() => ({ hashes: [] as string[], active: 0, most: 0 }))
vi.mock('@node-rs/argon2', async (original) => {
  const real = await original<typeof import('@node-rs/argon2')>()
  return {
    ...real,
    verify: async (phc: string, secret: string) => {
      verifications.hashes.push(phc)
      verifications.active += 1
      verifications.most = Math.max(verifications.most, verifications.active)
      try {
        return await real.verify(phc, secret)
      } finally {
        verifications.active -= 1
      }
    },
  }
})
afterEach(() => {
  verifications.hashes.length = 0
  verifications.most = 0
})

const open = (path: string | null, more = {}, world = nodeWorld()): Promise<ApiKeys> =>
  ApiKeys.open(settingsFor(path, more), world, () => undefined)

describe('tokens', () => {
  test('a token is split at its first dot, and the rest is the secret', async () => {
    await using keys = await keyFolder([await testKey('fixture', {}, 'a.b.c')])
    const store = await open(keys.path)
    expect(await store.authenticate('fixture.a.b.c')).toMatchObject({ key_id: 'fixture', agent_scope: null })
    expect(await store.authenticate('fixture.a')).toBeNull()
  })

  test.each([
    ['a wrong secret', 'fixture.wrong-secret'],
    ['an unknown id', 'nobody.test-only-secret'],
    ['an empty token', ''],
    ['white space', ' \t '],
    ['an id without a secret', 'fixture.'],
    ['more than 8192 bytes', `fixture.${'s'.repeat(8192)}`],
    ['a lone surrogate', 'fixture.\ud800'],
    ['the secret alone, when such tokens are refused', SECRET],
  ])('%s is no credential', async (_, token) => {
    await using keys = await keyFolder([await testKey('fixture')])
    expect(await (await open(keys.path, { rejectLegacyKeys: true })).authenticate(token)).toBeNull()
  })

  test('a revoked key with its right secret is no credential', async () => {
    await using keys = await keyFolder([await testKey('fixture', { revoked: true }), await testKey('other')])
    expect(await (await open(keys.path)).authenticate(`fixture.${SECRET}`)).toBeNull()
  })

  test.each([
    'not a hash',
    '$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$aaaaaaaaaaaaaaaaaaaaaa',
    '$argon2id$v=19$m=9999999,t=1,p=1$c29tZXNhbHQ$aaaaaaaaaaaaaaaaaaaaaa',
  ])('a record whose hash is %j never verifies and takes the memory of no such hash', async (keyHash) => {
    await using keys = await keyFolder([await testKey('fixture', { key_hash: keyHash }), await testKey('other')])
    const store = await open(keys.path)
    expect(await store.authenticate(`fixture.${SECRET}`)).toBeNull()
    expect(verifications.hashes).not.toContain(keyHash)
    expect(await store.authenticate(`other.${SECRET}`)).not.toBeNull()
  })

  test('an unknown id, a revoked id and an unusable hash each spend one verification of full cost', async () => {
    await using keys = await keyFolder([
      await testKey('fixture'),
      await testKey('gone', { revoked: true }),
      await testKey('broken', { key_hash: 'x' }),
    ])
    const store = await open(keys.path)
    for (const id of ['nobody', 'gone', 'broken']) await store.authenticate(`${id}.${SECRET}`)
    expect(verifications.hashes).toHaveLength(3)
    for (const phc of verifications.hashes) expect(phc).toContain('$m=19456,t=2,p=1$')
  })

  test('a token without an id is tried against every key in force, unless such tokens are refused', async () => {
    await using keys = await keyFolder([await testKey('first'), await testKey('second', {}, 'plain-secret')])
    expect(await (await open(keys.path)).authenticate('plain-secret')).toMatchObject({ key_id: 'second' })
    verifications.hashes.length = 0
    expect(await (await open(keys.path, { rejectLegacyKeys: true })).authenticate('plain-secret')).toBeNull()
    expect(verifications.hashes).toEqual([])
  })
})

describe('the cost of a proof', () => {
  test('the hash is paid once a token, not once a request, and not once for each of many at the same time', async () => {
    await using keys = await keyFolder([await testKey('fixture')])
    const store = await open(keys.path)
    const callers = await Promise.all(Array.from({ length: 50 }, () => store.authenticate(`fixture.${SECRET}`)))
    for (let round = 0; round < 10; round += 1) callers.push(await store.authenticate(`fixture.${SECRET}`))
    expect(callers.every((caller) => caller?.key_id === 'fixture')).toBe(true)
    expect(verifications.hashes).toHaveLength(1)
  })

  test('at most two verifications run at once, and what finds no place to wait is refused before it begins', async () => {
    await using keys = await keyFolder([await testKey('fixture')])
    const store = await open(keys.path)
    const tries = await Promise.allSettled(
      Array.from({ length: 400 }, (_, index) => store.authenticate(`fixture.guess-${index}`)),
    )
    const refused = tries.filter((outcome) => outcome.status === 'rejected')
    expect(verifications.most).toBe(2)
    expect(refused).toHaveLength(400 - 2 - 256)
    for (const outcome of refused) expect(outcome.reason).toMatchObject({ code: 'OVERLOADED' })
    expect(await store.authenticate(`fixture.${SECRET}`)).not.toBeNull()
  })
})

describe('changes of the file', () => {
  test('a revocation holds at the next authentication, although the proof was remembered', async () => {
    const key = await testKey('fixture')
    await using keys = await keyFolder([key])
    const store = await open(keys.path)
    const caller = await store.authenticate(`fixture.${SECRET}`)
    expect(caller).not.toBeNull()
    await keys.write([{ ...key, revoked: true }])
    expect(await store.isCurrent(caller!)).toBe(false)
    expect(await store.authenticate(`fixture.${SECRET}`)).toBeNull()
  })

  test('a change under the same mark is noticed while the file is young; an old file is not read again', async () => {
    const key = await testKey('fixture')
    await using keys = await keyFolder([key])
    const text = (revoked: string) => JSON.stringify([key]).replace('"revoked":false', `"revoked":${revoked}`)
    const world = testWorld()
    const then = instantOf(world.clock.wall())
    // A disk whose timestamps stand still, as those of a real one do for some milliseconds.
    const frozen = <F extends FileFacts | null>(facts: F): F => facts && { ...facts, modifiedNs: then, changedNs: then }
    let opens = 0
    const files: Files = {
      ...world.files,
      lstat: async (path) => frozen(await world.files.lstat(path)),
      open: async (path, how) => {
        opens += 1
        const file = await world.files.open(path, how)
        return file && { ...file, facts: async () => frozen(await file.facts()) }
      },
    }
    const store = await open(keys.path, {}, { ...world, files })
    await keys.write(text('true '))
    expect(await store.authenticate(`fixture.${SECRET}`)).toBeNull()
    await keys.write(text('false'))
    expect(await store.authenticate(`fixture.${SECRET}`)).not.toBeNull()
    world.advance(5_000)
    const before = opens
    for (let round = 0; round < 5; round += 1) await store.authenticate(`fixture.${SECRET}`)
    expect(opens).toBe(before)
  })

  test('another hash or another scope under the same id ends what was proven before', async () => {
    const key = await testKey('fixture')
    await using keys = await keyFolder([key])
    const store = await open(keys.path)
    const admin = await store.authenticate(`fixture.${SECRET}`)
    await keys.write([{ ...key, agent_scope: [AGENT] }])
    expect(await store.isCurrent(admin!)).toBe(false)
    const scoped = await store.authenticate(`fixture.${SECRET}`)
    expect(scoped?.agent_scope).toEqual([AGENT])
    expect(scoped?.fingerprint).not.toBe(admin?.fingerprint)
    await keys.write([await testKey('fixture', { agent_scope: [AGENT] }, 'rotated')])
    expect(await store.authenticate(`fixture.${SECRET}`)).toBeNull()
  })

  test('equal bytes written again keep every proof', async () => {
    const key = await testKey('fixture')
    await using keys = await keyFolder([key])
    const world = testWorld()
    const store = await open(keys.path, {}, world)
    const caller = await store.authenticate(`fixture.${SECRET}`)
    await writeFile(`${keys.path}.new`, JSON.stringify([key]), { mode: 0o600 })
    await rename(`${keys.path}.new`, keys.path)
    world.advance(60_000)
    expect(await store.authenticate(`fixture.${SECRET}`)).toBe(caller)
    expect(verifications.hashes).toHaveLength(1)
  })

  test.each([
    ['that is no JSON', '[', 0o600],
    ['that others may read', '[]', 0o644],
  ])('a new file %s changes nothing and is reported once', async (_, content, mode) => {
    await using keys = await keyFolder([await testKey('fixture')])
    const reports: string[] = []
    const store = await ApiKeys.open(settingsFor(keys.path), nodeWorld(), (fault) => reports.push(fault.code))
    await rm(keys.path)
    await keys.write(content, mode)
    for (let round = 0; round < 3; round += 1) expect(await store.authenticate(`fixture.${SECRET}`)).not.toBeNull()
    expect(reports).toEqual([mode === 0o644 ? 'KEY_FILE_UNSAFE' : 'KEY_FILE_INVALID'])
    await rm(keys.path)
    await keys.write([await testKey('other')])
    expect(await store.authenticate(`fixture.${SECRET}`)).toBeNull()
    expect(await store.authenticate(`other.${SECRET}`)).not.toBeNull()
  })

  test('removing every key leaves no credential, and the legacy token does not come back', async () => {
    await using keys = await keyFolder([await testKey('fixture')])
    const store = await open(keys.path, { legacyToken: 'legacy' })
    await rm(keys.path)
    expect(await store.authenticate(`fixture.${SECRET}`)).toBeNull()
    expect(await store.authenticate('legacy')).toBeNull()
    expect(store.hasCredential).toBe(false)
  })
})

describe('the legacy token', () => {
  test('it is an admin while there are no records', async () => {
    const store = await open(null, { legacyToken: 'legacy.token' })
    expect(await store.authenticate('legacy.token')).toMatchObject({ key_id: null, agent_scope: null })
    expect(await store.authenticate('legacy.tokem')).toBeNull()
    expect(store.hasCredential).toBe(true)
  })

  test.each([
    ['refused by a setting', { legacyToken: 'legacy', refuseLegacyToken: true }],
    ['empty', { legacyToken: '' }],
    ['unset', { legacyToken: null }],
  ])('it is no credential when it is %s', async (_, settings) => {
    const store = await open(null, settings)
    expect(await store.authenticate('legacy')).toBeNull()
    expect(await store.authenticate('')).toBeNull()
    expect(store.hasCredential).toBe(false)
  })

  test('it is ignored as soon as the file holds one record', async () => {
    await using keys = await keyFolder([])
    const store = await open(keys.path, { legacyToken: 'legacy' })
    const caller = await store.authenticate('legacy')
    await keys.write([await testKey('fixture')])
    expect(await store.isCurrent(caller!)).toBe(false)
    expect(await store.authenticate('legacy')).toBeNull()
    expect(await store.authenticate(`fixture.${SECRET}`)).not.toBeNull()
  })
})

describe('fingerprints [C13.1]', () => {
  test('a caller is the digest of the token and what the key file says of it', async () => {
    await using keys = await keyFolder([await testKey('scoped', { agent_scope: [AGENT] })])
    const caller = await (await open(keys.path)).authenticate(`scoped.${SECRET}`)
    expect(caller?.fingerprint).toBe(digest(['runtime-api', `scoped.${SECRET}`, ['scoped', [AGENT]]]))
    expect(networkCaller('legacy', null).fingerprint).toBe(digest(['runtime-api', 'legacy', null]))
  })

  test('no token text produces the in-process caller, not even one that names it', () => {
    expect(SDK_FINGERPRINT).toBe(digest(['trusted-sdk', 'coordinator']))
    for (const token of ['trusted-coordinator-sdk', 'trusted-sdk', 'coordinator', '["trusted-sdk","coordinator"]']) {
      expect(networkCaller(token, null).fingerprint).not.toBe(SDK_FINGERPRINT)
    }
  })
})

test('hashes of another maker with the standard costs verify', async () => {
  const keyHash = await hash(SECRET, { memoryCost: 19_456, timeCost: 2, parallelism: 1 })
  await using keys = await keyFolder([await testKey('fixture', { key_hash: keyHash })])
  expect(await (await open(keys.path)).authenticate(`fixture.${SECRET}`)).not.toBeNull()
})
