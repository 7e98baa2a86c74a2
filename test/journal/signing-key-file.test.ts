import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openSigningKey, readSigningKey, SIGNING_KEY_NAME } from '../../src/journal/signing-key-file.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { faultyWorld, gate } from '../support/faulty-world.ts'
import { scratch } from '../support/scratch.ts'

const world = nodeWorld()
const disk = scratch()
const isRoot = process.getuid?.() === 0

async function folderWithKey(): Promise<{ folder: string; path: string; hex: string }> {
  const folder = disk.folder()
  const { publicKey } = await openSigningKey(world, folder)
  return { folder, path: join(folder, SIGNING_KEY_NAME), hex: publicKey.hex }
}

/** Waiting costs no time here: each sleep moves the clock, and may do something. */
function hastyWorld(onSleep: (slept: number) => void = () => undefined): World {
  let now = 0
  let slept = 0
  const sleep = async (ms: number): Promise<void> => {
    now += ms
    slept += 1
    onSleep(slept)
  }
  return { ...world, clock: { ...world.clock, monotonicMs: () => now, sleep } }
}

describe('the signing key', () => {
  test('is 32 random bytes in a private file, made once and read ever after', async () => {
    const { folder, path, hex } = await folderWithKey()
    const stats = statSync(path)
    expect([stats.size, stats.mode & 0o777, stats.nlink]).toEqual([32, 0o600, 1])
    expect((await openSigningKey(world, folder)).publicKey.hex).toBe(hex)
    expect((await readSigningKey(world, folder))?.publicKey.hex).toBe(hex)
    expect(readdirSync(folder)).toEqual([SIGNING_KEY_NAME])
  })

  test('is not made by reading', async () => {
    const folder = disk.folder()
    expect(await readSigningKey(world, folder)).toBeNull()
    expect(readdirSync(folder)).toEqual([])
  })

  test('is the same for sixteen who open it at once, and is published once', async () => {
    const folder = disk.folder()
    const faulty = faultyWorld(world)
    const keys = await Promise.all(Array.from({ length: 16 }, () => openSigningKey(faulty, folder)))
    expect(new Set(keys.map(({ publicKey }) => publicKey.hex)).size).toBe(1)
    expect(faulty.count('link')).toBe(1)
    expect(readdirSync(folder)).toEqual([SIGNING_KEY_NAME])
  })

  test('is made by another process while one that began it hangs', async () => {
    const folder = disk.folder()
    const hung = gate()
    const first = openSigningKey(faultyWorld(world, [{ on: 'create', gate: hung }]), folder)
    await hung.reached
    const { publicKey } = await openSigningKey(nodeWorld(), folder)
    hung.open()
    expect((await first).publicKey.hex).toBe(publicKey.hex)
  })

  test("is the winner's for whoever loses the race", async () => {
    const folder = disk.folder()
    const winner = Buffer.alloc(32, 9)
    const publishFirst = (): void => writeFileSync(join(folder, SIGNING_KEY_NAME), winner, { mode: 0o600 })
    await openSigningKey(faultyWorld(world, [{ on: 'link', before: publishFirst }]), folder)
    expect(readFileSync(join(folder, SIGNING_KEY_NAME))).toEqual(winner)
    expect(readdirSync(folder)).toEqual([SIGNING_KEY_NAME])
  })

  test.each([0, 31, 33])('of %i bytes is refused with what it holds, and where a good one may be', async (length) => {
    const { folder, path } = await folderWithKey()
    writeFileSync(path, Buffer.alloc(length))
    await expect(readSigningKey(world, folder)).rejects.toMatchObject({
      message: `Cannot use the signing key: it holds ${length} bytes and a key has 32`,
      hint: expect.stringContaining('from its backup'),
    })
  })

  test('that is being published is looked at again only after a wait', async () => {
    const { folder, path, hex } = await folderWithKey()
    const temporary = join(folder, `.${SIGNING_KEY_NAME}.0123456789abcdef01234567.tmp`)
    linkSync(path, temporary)
    let waits = 0
    const sleep = async (): Promise<void> => {
      waits += 1
      for (let turn = 0; turn < 50; turn += 1) await world.clock.yield()
      rmSync(temporary, { force: true })
    }
    const patient = { ...world, clock: { ...world.clock, sleep } }
    expect((await readSigningKey(patient, folder))?.publicKey.hex).toBe(hex)
    expect(waits).toBe(1)
  })

  test('that vanishes while it is made is refused: nobody signs with a key that is not on the disk', async () => {
    const folder = disk.folder()
    const vanishing = { ...world, files: { ...world.files, open: async () => null } }
    await expect(openSigningKey(vanishing, folder)).rejects.toMatchObject({
      code: 'KEY_INVALID',
      message: expect.stringContaining('it vanished while it was made'),
    })
  })

  const spoilt: readonly (readonly [string, (path: string) => void, string])[] = [
    ['empty', (path) => truncateSync(path, 0), 'KEY_INVALID'],
    ['one byte short', (path) => truncateSync(path, 31), 'KEY_INVALID'],
    ['one byte long', (path) => truncateSync(path, 33), 'KEY_INVALID'],
    ['five thousand bytes', (path) => truncateSync(path, 5000), 'STORAGE_UNSAFE'],
    ['readable by the group', (path) => chmodSync(path, 0o640), 'STORAGE_UNSAFE'],
    ['readable by all', (path) => chmodSync(path, 0o604), 'STORAGE_UNSAFE'],
    ['named twice', (path) => linkSync(path, `${path}.backup`), 'STORAGE_UNSAFE'],
    [
      'a symbolic link',
      (path) => {
        linkSync(path, `${path}.real`)
        rmSync(path)
        symlinkSync(`${path}.real`, path)
      },
      'STORAGE_UNSAFE',
    ],
    ...(isRoot
      ? [['of another owner', (path: string) => chownSync(path, 12345, 12345), 'STORAGE_UNSAFE'] as const]
      : []),
  ]

  test.each(spoilt)('that is %s is refused with a hint, and nothing is written [J3]', async (_what, spoil, code) => {
    const { folder, path } = await folderWithKey()
    spoil(path)
    const before = readdirSync(folder)
    const content = readFileSync(path, 'hex')
    const error = await openSigningKey(world, folder).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ code, message: expect.stringContaining('Cannot'), hint: expect.stringMatching(/./) })
    expect(String(error)).not.toContain(folder)
    expect(readdirSync(folder)).toEqual(before)
    expect(readFileSync(path, 'hex')).toBe(content)
  })

  test.each([0o777, 0o755])('is neither made nor read in a folder of mode %o [J3]', async (mode) => {
    const folder = disk.folder()
    chmodSync(folder, mode)
    await expect(openSigningKey(world, folder)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
    expect(readdirSync(folder)).toEqual([])
  })

  test.each([
    ['create', 'EROFS', 'STORAGE_FAILED'],
    ['append', 'ENOSPC', 'STORAGE_FULL'],
    ['syncAll', 'EIO', 'STORAGE_FAILED'],
    ['link', 'ENOSPC', 'STORAGE_FULL'],
  ] as const)('is not made when %s fails with %s, and is made the next time', async (on, errno, code) => {
    const folder = disk.folder()
    await expect(openSigningKey(faultyWorld(world, [{ on, errno }]), folder)).rejects.toMatchObject({ code })
    expect(readdirSync(folder)).toEqual([])
    await openSigningKey(world, folder)
    expect(existsSync(join(folder, SIGNING_KEY_NAME))).toBe(true)
  })
})

describe('a key that another process is publishing', () => {
  const LEFTOVER = `.${SIGNING_KEY_NAME}.0123456789abcdef01234567.tmp`

  async function halfPublished(): Promise<{ folder: string; path: string; hex: string }> {
    const made = await folderWithKey()
    linkSync(made.path, join(made.folder, LEFTOVER))
    return made
  }

  test('is waited for while its temporary name still lies there', async () => {
    const { folder, hex } = await halfPublished()
    const hasty = hastyWorld((slept) => {
      if (slept === 3) rmSync(join(folder, LEFTOVER))
    })
    expect((await readSigningKey(hasty, folder))?.publicKey.hex).toBe(hex)
  })

  test('is looked at again when the publication ended between the refusal and the question', async () => {
    const { folder, hex } = await halfPublished()
    const faulty = faultyWorld(world, [{ on: 'lstat', before: () => rmSync(join(folder, LEFTOVER)) }])
    expect((await readSigningKey(faulty, folder))?.publicKey.hex).toBe(hex)
  })

  test('is looked at again when the publication ended while the names were read', async () => {
    const { folder, hex } = await halfPublished()
    const faulty = faultyWorld(world, [{ on: 'list', before: () => rmSync(join(folder, LEFTOVER)) }])
    expect((await readSigningKey(faulty, folder))?.publicKey.hex).toBe(hex)
  })

  test('is refused after two seconds, and the hint names what to remove', async () => {
    const { folder, hex } = await halfPublished()
    let sleeps = 0
    const hasty = hastyWorld(() => {
      sleeps += 1
    })
    await expect(openSigningKey(hasty, folder)).rejects.toMatchObject({
      code: 'STORAGE_UNSAFE',
      hint: expect.stringContaining(`remove "${LEFTOVER}"`),
      facts: { leftover: LEFTOVER },
    })
    expect(sleeps).toBe(200)
    expect(readdirSync(folder).sort()).toEqual([LEFTOVER, SIGNING_KEY_NAME]) // evidence of a crash is not tidied away
    rmSync(join(folder, LEFTOVER)) // as the hint says
    expect((await openSigningKey(world, folder)).publicKey.hex).toBe(hex)
  })

  test('is not waited for when the second link is no temporary name, or another file', async () => {
    const { folder, path } = await folderWithKey()
    linkSync(path, join(folder, 'copy-of-key'))
    writeFileSync(join(folder, LEFTOVER), 'another file')
    const hasty = hastyWorld(() => {
      throw new Error('waited')
    })
    await expect(readSigningKey(hasty, folder)).rejects.toMatchObject({
      code: 'STORAGE_UNSAFE',
      message: expect.stringContaining('2 links'),
    })
  })

  test('never shows a key that is not whole: a reader in the middle sees none, then all of it', async () => {
    const folder = disk.folder()
    const beforeLink = gate()
    const making = openSigningKey(faultyWorld(world, [{ on: 'link', gate: beforeLink }]), folder)
    await beforeLink.reached
    expect(await readSigningKey(world, folder)).toBeNull()
    beforeLink.open()
    const made = await making
    expect((await readSigningKey(world, folder))?.publicKey.hex).toBe(made.publicKey.hex)
  })
})
