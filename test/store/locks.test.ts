import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, linkSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { takeLock, tryLockFile } from '../../src/store/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { faultyWorld } from '../support/faulty-world.ts'
import { scratch } from '../support/scratch.ts'

const world = nodeWorld()
const disk = scratch()
const never = new AbortController().signal
const HOLDER = fileURLToPath(new URL('../support/lock-holder.mjs', import.meta.url))

async function otherProcessHolds(path: string): Promise<ChildProcess> {
  writeFileSync(path, '', { mode: 0o600 })
  const child = spawn(process.execPath, [HOLDER, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  return child
}

/** Waiting costs no time here: each sleep moves the clock. */
function hastyWorld(onSleep: () => void | Promise<void> = () => undefined): World {
  let now = 0
  const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted()
    now += ms
    await onSleep()
  }
  return { ...world, clock: { ...world.clock, monotonicMs: () => now, sleep } }
}

describe('a lock', () => {
  test('makes its file with mode 0600 and keeps it', async () => {
    const path = disk.path('lock')
    const lock = await takeLock(world, path, 'store lock', 0, never)
    await lock.release()
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('excludes a second holder in the same process, and is free after release', async () => {
    const path = disk.path('lock')
    const lock = await takeLock(world, path, 'store lock', 0, never)
    expect(await tryLockFile(world, path, 'store lock')).toBeNull()
    await lock.release()
    await lock.release() // releasing twice is releasing
    await using second = await tryLockFile(world, path, 'store lock')
    expect(second).not.toBeNull()
  })

  test('excludes another process, and is free at once when that one is killed', async () => {
    const path = disk.path('lock')
    const child = await otherProcessHolds(path)
    expect(await tryLockFile(world, path, 'store lock')).toBeNull()
    child.kill('SIGKILL')
    await once(child, 'exit')
    await using lock = await tryLockFile(world, path, 'store lock')
    expect(lock).not.toBeNull()
  })

  test('is given to one of eight who ask at once', async () => {
    const path = disk.path('lock')
    const asked = await Promise.all(Array.from({ length: 8 }, () => tryLockFile(world, path, 'store lock')))
    const held = asked.filter((lock) => lock !== null)
    expect(held).toHaveLength(1)
    await held[0]?.release()
  })

  test('that stays held is STORAGE_BUSY when the wait is over, and the file is closed', async () => {
    const path = disk.path('lock')
    await using _held = await takeLock(world, path, 'store lock', 0, never)
    const faulty = faultyWorld(hastyWorld())
    await expect(takeLock(faulty, path, 'store lock', 2000, never)).rejects.toMatchObject({
      code: 'STORAGE_BUSY',
      message: expect.stringContaining('2000 ms'),
      hint: expect.stringContaining('again'),
    })
    expect(faulty.count('close')).toBe(1)
    expect(faulty.count('tryLock')).toBe(201) // every 10 ms, and at the deadline itself
  })

  test('that is released while somebody waits goes to the one who waits', async () => {
    const path = disk.path('lock')
    const first = await takeLock(world, path, 'store lock', 0, never)
    await using second = await takeLock(
      hastyWorld(() => first.release()),
      path,
      'store lock',
      2000,
      never,
    )
    expect(second).toBeDefined()
    expect(await tryLockFile(world, path, 'store lock')).toBeNull()
  })

  test('is not waited for after a cancel, and the file is closed', async () => {
    const path = disk.path('lock')
    await using _held = await takeLock(world, path, 'store lock', 0, never)
    const faulty = faultyWorld(world)
    await expect(takeLock(faulty, path, 'store lock', 2000, AbortSignal.abort(new Error('gone')))).rejects.toThrow(
      'gone',
    )
    expect(faulty.count('close')).toBe(1)
  })

  test.each([
    ['readable by others', (path: string) => chmodSync(path, 0o644)],
    ['named twice', (path: string) => linkSync(path, `${path}-again`)],
  ])('on a file that is %s is refused', async (_what, spoil) => {
    const path = disk.path('lock')
    writeFileSync(path, 'content', { mode: 0o600 })
    spoil(path)
    await expect(tryLockFile(world, path, 'store lock')).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
    expect(readFileSync(path, 'utf8')).toBe('content')
  })

  test('on a symbolic link is refused, and its target is untouched', async () => {
    const target = disk.path('target')
    writeFileSync(target, 'content', { mode: 0o600 })
    const path = disk.path('link')
    symlinkSync(target, path)
    await expect(tryLockFile(world, path, 'store lock')).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
    expect(readFileSync(target, 'utf8')).toBe('content')
  })

  test('whose file cannot be made says that the disk is read-only', async () => {
    const faulty = faultyWorld(world, [{ on: 'create', errno: 'EROFS' }])
    await expect(tryLockFile(faulty, disk.path('lock'), 'store lock')).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      hint: expect.stringContaining('read-write'),
    })
  })

  test('whose asking fails closes its file', async () => {
    const faulty = faultyWorld(world, [{ on: 'tryLock', errno: 'EIO' }])
    await expect(takeLock(faulty, disk.path('lock'), 'store lock', 0, never)).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
    })
    expect(faulty.count('close')).toBe(1)
  })
})
