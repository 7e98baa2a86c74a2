import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { openPrivateFile, readPrivateFile } from '../../src/store/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { scratch } from '../support/scratch.ts'

const world = nodeWorld()
const disk = scratch()
const RULE = { what: 'signing key', bytesMax: 32 }
const isRoot = process.getuid?.() === 0
const server = createServer()
afterAll(() => void server.close())

function file(mode = 0o600, content = 'x'.repeat(32)): string {
  const path = disk.path('file')
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

const refused: readonly [string, () => string | Promise<string>, string][] = [
  ['readable by the group', () => file(0o640), 'mode 0640'],
  ['writable by all', () => file(0o602), 'mode 0602'],
  ['longer than its bound', () => file(0o600, 'x'.repeat(33)), '33 bytes'],
  [
    'named twice',
    () => {
      const path = file()
      linkSync(path, `${path}-again`)
      return path
    },
    '2 links',
  ],
  [
    'a symbolic link',
    () => {
      const path = disk.path('link')
      symlinkSync(file(), path)
      return path
    },
    'symbolic link',
  ],
  [
    'a folder',
    () => {
      const path = disk.path('folder')
      mkdirSync(path, { mode: 0o700 })
      return path
    },
    '', // the words differ between reading and writing
  ],
  [
    'a pipe that nobody writes',
    () => {
      const path = disk.path('pipe')
      execFileSync('mkfifo', ['-m', '600', path])
      return path
    },
    'it is a device, a pipe or a socket where a regular file is needed',
  ],
  [
    'a socket',
    async () => {
      const path = disk.path('socket')
      await new Promise<void>((resolve) => server.listen(path, resolve))
      return path
    },
    'no regular file',
  ],
]

describe('a private file', () => {
  test('of this user with mode 0600 and one link is read whole', async () => {
    expect(Buffer.from((await readPrivateFile(world, file(), RULE)) ?? []).toString()).toBe('x'.repeat(32))
  })

  test('that is absent is null', async () => {
    expect(await readPrivateFile(world, disk.path('absent'), RULE)).toBeNull()
  })

  test.each(refused)('that is %s is refused without waiting', async (_what, make, words) => {
    const path = await make()
    const error = await readPrivateFile(world, path, RULE).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ code: 'STORAGE_UNSAFE', message: expect.stringContaining(words) })
    expect(String(error)).not.toContain(path)
  })

  test('that is a folder is refused for writing too', async () => {
    await expect(openPrivateFile(world, disk.folder(), 'lock', RULE)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
  })

  test.skipIf(!isRoot)('of another owner is refused', async () => {
    const path = file()
    chownSync(path, 12345, 12345)
    await expect(readPrivateFile(world, path, RULE)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
  })

  test('is closed again when it is refused', async () => {
    const faulty = faultyWorld(world)
    await expect(readPrivateFile(faulty, file(0o644), RULE)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
    expect(faulty.count('close')).toBe(faulty.count('open'))
  })

  test('is judged through its open handle: swapping the name afterwards changes nothing', async () => {
    const path = file()
    await using open = await openPrivateFile(world, path, 'read', RULE)
    writeFileSync(`${path}-other`, 'y'.repeat(32))
    execFileSync('mv', [`${path}-other`, path])
    expect(Buffer.from((await open?.readAll(32)) ?? []).toString()).toBe('x'.repeat(32))
  })
})
