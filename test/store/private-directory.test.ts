import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ensurePrivateDirectory, hasPrivateDirectory } from '../../src/store/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { scratch } from '../support/scratch.ts'

const world = nodeWorld()
const disk = scratch()
const isRoot = process.getuid?.() === 0

describe('a private directory', () => {
  test('is made with mode 0700, its missing parents too, and the name of each is synced', async () => {
    const faulty = faultyWorld(world)
    const top = disk.folder()
    const path = join(top, '.symbiont', 'governed')
    await ensurePrivateDirectory(faulty, path, 'governed folder')
    expect(statSync(path).mode & 0o777).toBe(0o700)
    const synced = faulty.done.filter((line) => line.startsWith('syncDirectory'))
    expect(synced).toEqual(['syncDirectory .symbiont', `syncDirectory ${top.slice(top.lastIndexOf('/') + 1)}`])
  })

  test('that exists is taken as it is; who made it may have died before its name was durable, so each process syncs that once', async () => {
    const path = disk.folder()
    const faulty = faultyWorld(world)
    for (let times = 0; times < 3; times += 1) await ensurePrivateDirectory(faulty, path, 'governed folder')
    expect(faulty.count('mkdir')).toBe(0)
    expect(faulty.count('syncDirectory')).toBe(2) // of the folder that holds it, and of the one above
  })

  test.each(['mkdir', 'syncDirectory'] as const)(
    'whose %s fails late has its name synced at the next try',
    async (on) => {
      const path = join(disk.folder(), '.symbiont', 'governed')
      const faulty = faultyWorld(world, [{ on, errno: 'EIO', late: true }])
      await expect(ensurePrivateDirectory(faulty, path, 'governed folder')).rejects.toMatchObject({
        code: 'STORAGE_FAILED',
      })
      const before = faulty.done.length
      await ensurePrivateDirectory(faulty, path, 'governed folder')
      const synced = faulty.done.slice(before).filter((line) => line.startsWith('syncDirectory'))
      expect(synced).toContain('syncDirectory .symbiont')
      expect(synced).toHaveLength(2)
    },
  )

  test.each([0o777, 0o750, 0o705, 0o710])('of mode %o is refused and not repaired [J3]', async (mode) => {
    const path = disk.folder()
    chmodSync(path, mode)
    const refused = { code: 'STORAGE_UNSAFE', hint: expect.stringContaining('0700') }
    await expect(ensurePrivateDirectory(world, path, 'governed folder')).rejects.toMatchObject(refused)
    await expect(hasPrivateDirectory(world, path, 'governed folder')).rejects.toMatchObject(refused)
    expect(statSync(path).mode & 0o777).toBe(mode)
    expect(readdirSync(path)).toEqual([])
  })

  test('that is a link to a private folder is refused, and nothing is written behind it [J3]', async () => {
    const target = disk.folder()
    const path = disk.path('link')
    symlinkSync(target, path)
    await expect(ensurePrivateDirectory(world, path, 'governed folder')).rejects.toMatchObject({
      code: 'STORAGE_UNSAFE',
      message: expect.stringContaining('a link'),
    })
    expect(readdirSync(target)).toEqual([])
  })

  test('whose link leads nowhere is refused, and the target is not made', async () => {
    const target = disk.path('absent')
    const path = disk.path('link')
    symlinkSync(target, path)
    await expect(ensurePrivateDirectory(world, path, 'governed folder')).rejects.toMatchObject({
      code: 'STORAGE_UNSAFE',
    })
    expect(existsSync(target)).toBe(false)
  })

  test('that is a file is refused', async () => {
    const path = disk.path('file')
    writeFileSync(path, '')
    await expect(ensurePrivateDirectory(world, path, 'governed folder')).rejects.toMatchObject({
      code: 'STORAGE_UNSAFE',
    })
  })

  test.skipIf(!isRoot)('of another owner is refused', async () => {
    const path = disk.folder()
    chownSync(path, 12345, 12345)
    await expect(ensurePrivateDirectory(world, path, 'governed folder')).rejects.toMatchObject({
      code: 'STORAGE_UNSAFE',
      message: expect.stringContaining('another user'),
    })
  })

  test('may have a parent that everybody enters: parents are not inspected', async () => {
    const parent = disk.path('parent')
    mkdirSync(parent)
    chmodSync(parent, 0o777)
    await ensurePrivateDirectory(world, join(parent, 'governed'), 'governed folder')
    expect(await hasPrivateDirectory(world, join(parent, 'governed'), 'governed folder')).toBe(true)
  })

  test('that is absent is reported as absent, and stays so', async () => {
    const path = disk.path('absent')
    expect(await hasPrivateDirectory(world, path, 'governed folder')).toBe(false)
    expect(existsSync(path)).toBe(false)
  })

  test('is refused on a platform without the file guarantees, and nothing is made', async () => {
    const weak = { ...world, files: { ...world.files, durable: false } }
    const path = disk.path('weak')
    await expect(ensurePrivateDirectory(weak, path, 'governed folder')).rejects.toMatchObject({
      code: 'PLATFORM_UNSUPPORTED',
      hint: expect.stringContaining('Linux or macOS'),
    })
    expect(existsSync(path)).toBe(false)
  })

  test('no message tells a path', async () => {
    const path = disk.folder()
    chmodSync(path, 0o755)
    const error = await ensurePrivateDirectory(world, path, 'governed folder').catch((thrown: Error) => thrown)
    expect(JSON.stringify([error?.message, error])).not.toContain(path)
  })
})
