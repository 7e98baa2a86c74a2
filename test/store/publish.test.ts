import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isTemporaryOf, publishPrivateFile, replacePrivateFile } from '../../src/store/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { scratch } from '../support/scratch.ts'

const world = nodeWorld()
const disk = scratch()
const NEW = Buffer.from('new content')

describe('publishing a private file', () => {
  test('makes it whole, synced, private, with one link, and leaves no temporary name', async () => {
    const faulty = faultyWorld(world)
    const folder = disk.folder()
    expect(await publishPrivateFile(faulty, folder, 'it', NEW)).toBe('published')
    expect(readdirSync(folder)).toEqual(['it'])
    expect(readFileSync(join(folder, 'it'))).toEqual(NEW)
    const { mode, nlink } = statSync(join(folder, 'it'))
    expect([mode & 0o777, nlink]).toEqual([0o600, 1])
    const order = faulty.done.map((line) => line.split(' ')[0])
    expect(order).toEqual(['create', 'append', 'syncAll', 'close', 'link', 'unlink', 'syncDirectory'])
  })

  test('never replaces a file, and what it calls existing is durable', async () => {
    const faulty = faultyWorld(world)
    const folder = disk.folder()
    writeFileSync(join(folder, 'it'), 'old')
    expect(await publishPrivateFile(faulty, folder, 'it', NEW)).toBe('exists')
    expect(readFileSync(join(folder, 'it'), 'utf8')).toBe('old')
    expect(readdirSync(folder)).toEqual(['it'])
    expect(faulty.count('syncDirectory')).toBe(1)
  })

  test('of sixteen at once, one is published and all leave the same content', async () => {
    const folder = disk.folder()
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        publishPrivateFile(world, folder, 'it', Buffer.from(`content ${index}`)),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'published')).toHaveLength(1)
    expect(readFileSync(join(folder, 'it'), 'utf8')).toBe(`content ${outcomes.indexOf('published')}`)
    expect(readdirSync(folder)).toEqual(['it'])
  })

  test.each([
    ['append', 'ENOSPC', 'STORAGE_FULL'],
    ['syncAll', 'EIO', 'STORAGE_FAILED'],
    ['close', 'EIO', 'STORAGE_FAILED'],
    ['link', 'EROFS', 'STORAGE_FAILED'],
  ] as const)('leaves nothing behind when %s fails with %s', async (on, errno, code) => {
    const folder = disk.folder()
    const faulty = faultyWorld(world, [{ on, errno, late: on === 'close' }])
    await expect(publishPrivateFile(faulty, folder, 'it', NEW)).rejects.toMatchObject({ code, facts: { errno } })
    expect(readdirSync(folder)).toEqual([])
  })

  test('leaves nothing under the final name when the content is cut short', async () => {
    const folder = disk.folder()
    const faulty = faultyWorld(world, [{ on: 'append', errno: 'ENOSPC', shortBytes: 3 }])
    await expect(publishPrivateFile(faulty, folder, 'it', NEW)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(readdirSync(folder)).toEqual([])
  })

  test('tells the first failure when cleaning up fails as well', async () => {
    const faulty = faultyWorld(world, [
      { on: 'append', errno: 'ENOSPC' },
      { on: 'unlink', errno: 'EROFS' },
    ])
    const folder = disk.folder()
    await expect(publishPrivateFile(faulty, folder, 'it', NEW)).rejects.toMatchObject({ facts: { errno: 'ENOSPC' } })
    expect(readdirSync(folder).every((name) => isTemporaryOf('it', name))).toBe(true)
  })
})

describe('replacing a file of settings', () => {
  test('puts the whole new content in place', async () => {
    const folder = disk.folder()
    writeFileSync(join(folder, 'it'), 'old')
    await replacePrivateFile(world, folder, 'it', NEW)
    expect(readFileSync(join(folder, 'it'))).toEqual(NEW)
    expect(readdirSync(folder)).toEqual(['it'])
  })

  test.each(['append', 'syncAll', 'rename'] as const)('keeps the old content when %s fails', async (on) => {
    const folder = disk.folder()
    writeFileSync(join(folder, 'it'), 'old')
    const faulty = faultyWorld(world, [{ on, errno: 'ENOSPC' }])
    await expect(replacePrivateFile(faulty, folder, 'it', NEW)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(readFileSync(join(folder, 'it'), 'utf8')).toBe('old')
    expect(readdirSync(folder)).toEqual(['it'])
  })
})

test('temporary names are told from others', () => {
  expect(isTemporaryOf('it', '.it.0123.tmp')).toBe(true)
  for (const other of ['it', '.it.0123', 'it.0123.tmp', '.item.0123.tmp', '.it2.0123.tmp']) {
    expect(isTemporaryOf('it', other)).toBe(false)
  }
})
