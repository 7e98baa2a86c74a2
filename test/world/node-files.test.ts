import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs, { constants } from 'node:fs'
import {
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import type { Fault } from '../../src/core/index.ts'
import { nodeWorld, type OpenFile } from '../../src/world/index.ts'
import { openFile } from '../../src/world/node-files.ts'
import { temporaryFolder } from '../support/folder.ts'

const { files } = nodeWorld()
const { O_DSYNC } = constants
const bytes = (text: string): Uint8Array => Buffer.from(text)
const textOf = (read: Uint8Array): string => Buffer.from(read).toString()

async function openOrFail(path: string, how: 'read' | 'append' | 'lock'): Promise<OpenFile> {
  const file = await files.open(path, how)
  if (file === null) throw new Error('the file is not there')
  return file
}

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  return await work.then(
    () => expect.unreachable('it did not fail'),
    (error: Fault) => error,
  )
}

describe('open()', () => {
  test('gives null for what is not there', async () => {
    await using folder = await temporaryFolder()
    for (const how of ['read', 'append', 'lock'] as const) expect(await files.open(folder.of('none'), how)).toBeNull()
  })

  test.each(['read', 'append', 'lock'] as const)('to %s follows no link, not even one to a good file', async (how) => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('real'), 'kept')
    await symlink(folder.of('real'), folder.of('link'))
    expect(await faultOf(files.open(folder.of('link'), how))).toMatchObject({ code: 'STORAGE_UNSAFE' })
    expect(await readFile(folder.of('real'), 'utf8')).toBe('kept')
  })

  test('does not wait for the other end of a pipe', async () => {
    await using folder = await temporaryFolder()
    expect(spawnSync('mkfifo', [folder.of('pipe')]).status).toBe(0)
    await using pipe = await openOrFail(folder.of('pipe'), 'read')
    expect(await pipe.facts()).toMatchObject({ kind: 'other' })
  })

  test('to append refuses a folder', async () => {
    await using folder = await temporaryFolder()
    expect(await faultOf(files.open(folder.path, 'append'))).toMatchObject({
      code: 'STORAGE_FAILED',
      facts: { errno: 'EISDIR' },
    })
  })
})

describe('create()', () => {
  test('makes a file with the mode that was asked for', async () => {
    await using folder = await temporaryFolder()
    await using file = await files.create(folder.of('new'), 0o600)
    expect(await file?.facts()).toMatchObject({ kind: 'file', mode: 0o600, size: 0, links: 1, ownerUid: files.uid })
  })

  test('gives null for a name that exists, and leaves it alone', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('old'), 'kept')
    expect(await files.create(folder.of('old'), 0o600)).toBeNull()
    expect(await readFile(folder.of('old'), 'utf8')).toBe('kept')
  })

  test('gives null for a link to nowhere, and creates nothing at its end', async () => {
    await using folder = await temporaryFolder()
    await symlink(folder.of('nowhere'), folder.of('link'))
    expect(await files.create(folder.of('link'), 0o600)).toBeNull()
    expect(await files.lstat(folder.of('nowhere'))).toBeNull()
  })

  test('of eight at once makes one file', async () => {
    await using folder = await temporaryFolder()
    const made = await Promise.all(Array.from({ length: 8 }, () => files.create(folder.of('one'), 0o600)))
    expect(made.filter((file) => file !== null)).toHaveLength(1)
    for (const file of made) await file?.close()
  })

  test('without its folder is a Fault', async () => {
    await using folder = await temporaryFolder()
    expect(await faultOf(files.create(folder.of('none', 'new'), 0o600))).toMatchObject({
      code: 'STORAGE_FAILED',
      facts: { errno: 'ENOENT' },
    })
  })
})

describe('an open file', () => {
  test('appends at the end, wherever it was read and whoever wrote meanwhile', async () => {
    await using folder = await temporaryFolder()
    await using file = await files.create(folder.of('log'), 0o600)
    await file!.append(bytes('one\n'))
    expect(textOf(await file!.read(0, 2))).toBe('on')
    await writeFile(folder.of('log'), 'other\n', { flag: 'a' })
    expect(file!.sizeNow()).toBe(10)
    await file!.append(bytes('two\n'))
    await file!.syncData()
    await file!.syncAll()
    expect(await readFile(folder.of('log'), 'utf8')).toBe('one\nother\ntwo\n')
    expect(file!.sizeNow()).toBe(14)
  })

  test('that was there before is appended to in the same way', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('log'), 'old\n')
    await using file = await openOrFail(folder.of('log'), 'append')
    await file.append(bytes('one\n'))
    await writeFile(folder.of('log'), 'other\n', { flag: 'a' })
    await file.append(bytes('two\n'))
    expect(await readFile(folder.of('log'), 'utf8')).toBe('old\none\nother\ntwo\n')
  })

  test('reads what is there and no more', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('short'), 'abcdef')
    await using file = await openOrFail(folder.of('short'), 'read')
    expect(textOf(await file.read(2, 3))).toBe('cde')
    expect(textOf(await file.read(4, 100))).toBe('ef')
    expect(textOf(await file.read(100, 5))).toBe('')
    expect(await file.read(0, 0)).toHaveLength(0)
  })

  test('readAll() reads as many bytes as are allowed, and refuses one more', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('file'), 'abcdef')
    await using file = await openOrFail(folder.of('file'), 'read')
    expect(textOf(await file.readAll(6))).toBe('abcdef')
    expect(await faultOf(file.readAll(5))).toMatchObject({ code: 'FILE_TOO_LARGE' })
  })

  test('for reading takes no bytes', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('file'), 'kept')
    await using file = await openOrFail(folder.of('file'), 'read')
    expect(await faultOf(file.append(bytes('x')))).toMatchObject({ code: 'STORAGE_FAILED' })
    expect(await readFile(folder.of('file'), 'utf8')).toBe('kept')
  })

  test('tells its facts from the handle, also when its name was given to another file', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('a'), 'first')
    await using file = await openOrFail(folder.of('a'), 'read')
    await writeFile(folder.of('b'), 'the second file')
    await files.rename(folder.of('b'), folder.of('a'))
    expect(await file.facts()).toMatchObject({ size: 5, links: 0 })
    expect(await files.lstat(folder.of('a'))).toMatchObject({ size: 15, links: 1 })
  })

  test('notices that it was cut', async () => {
    await using folder = await temporaryFolder()
    await using file = await files.create(folder.of('log'), 0o600)
    await file!.append(bytes('abcdef'))
    await truncate(folder.of('log'), 3)
    expect(file!.sizeNow()).toBe(3)
  })

  test('closes once, and every later use is a Fault', async () => {
    await using folder = await temporaryFolder()
    await using file = await files.create(folder.of('log'), 0o600)
    await Promise.all([file!.close(), file!.close()])
    await file!.close()
    const refused = { code: 'STORAGE_FAILED', facts: { errno: 'EBADF' } }
    expect(await faultOf(file!.append(bytes('x')))).toMatchObject(refused)
    expect(await faultOf(file!.syncData())).toMatchObject(refused)
  })

  test('closes only when what it was given to write is written', async () => {
    await using folder = await temporaryFolder()
    const file = await files.create(folder.of('log'), 0o600, 'synced')
    const long = bytes('x'.repeat(1024 * 1024))
    const written = Promise.all([file!.append(long), file!.append(long)])
    const closed = file!.close()
    expect(await faultOf(file!.append(bytes('x')))).toMatchObject({ facts: { errno: 'EBADF' } }) // a late one would keep it open
    await closed
    expect((await readFile(folder.of('log'))).length).toBe(2 * long.length)
    await written
  })

  test.runIf(process.platform === 'linux')('on a full disk says that the disk is full', async () => {
    await using file = await openOrFail('/dev/full', 'append')
    expect(await faultOf(file.append(bytes('x')))).toMatchObject({ code: 'STORAGE_FULL', facts: { errno: 'ENOSPC' } })
  })
})

describe('a file whose appends are synced', () => {
  test('holds what was appended, and is synced as any other', async () => {
    await using folder = await temporaryFolder()
    await using file = await files.create(folder.of('a'), 0o600, 'synced')
    await file?.append(bytes('one '))
    await file?.syncData()
    await file?.append(bytes('two'))
    await file?.syncData()
    expect(await readFile(folder.of('a'), 'utf8')).toBe('one two')
    expect(file?.sizeNow()).toBe(7)
  })

  test.runIf(process.platform === 'linux')(
    'is one for which the system syncs every write; another is not',
    async () => {
      await using folder = await temporaryFolder()
      await using _synced = await files.create(folder.of('synced'), 0o600, 'synced')
      await using _plain = await files.create(folder.of('plain'), 0o600)
      expect((await flagsOf(folder.of('synced'))) & O_DSYNC).toBe(O_DSYNC)
      expect((await flagsOf(folder.of('plain'))) & O_DSYNC).toBe(0)
    },
  )

  test('asks the system again once a write has failed, whatever was written behind it', async () => {
    await using folder = await temporaryFolder()
    await using handle = await open(folder.of('a'), 'ax')
    const file = openFile(handle, true)
    const sync = vi.spyOn(handle, 'datasync')
    await file.append(bytes('one'))
    await file.syncData()
    expect(sync).not.toHaveBeenCalled()
    vi.spyOn(fs, 'write').mockImplementationOnce(((...args: unknown[]) => {
      const answer = args.at(-1) as (error: Error) => void
      answer(Object.assign(new Error('injected'), { code: 'EIO' }))
    }) as never)
    syncBuiltinESMExports()
    expect(await faultOf(file.append(bytes('lost')))).toMatchObject({ code: 'STORAGE_FAILED' })
    vi.restoreAllMocks()
    syncBuiltinESMExports()
    const again = vi.spyOn(handle, 'datasync')
    await file.append(bytes(' two'))
    await file.syncData()
    expect(again).toHaveBeenCalledOnce()
  })

  test('says nothing is durable once it is closed', async () => {
    await using folder = await temporaryFolder()
    const file = await files.create(folder.of('a'), 0o600, 'synced')
    await file?.append(bytes('one'))
    await file?.close()
    expect(await faultOf(file?.syncData() ?? Promise.resolve())).toMatchObject({ code: 'STORAGE_FAILED' })
  })

  /** The flags under which this process holds a file open, as the system tells them. */
  async function flagsOf(path: string): Promise<number> {
    for (const fd of await readdir('/proc/self/fd')) {
      const target = await readlink(`/proc/self/fd/${fd}`).catch(() => '')
      if (target !== path) continue
      const info = await readFile(`/proc/self/fdinfo/${fd}`, 'utf8')
      return Number.parseInt(/^flags:\s+(\d+)$/m.exec(info)?.[1] ?? '', 8)
    }
    throw new Error('nobody holds the file open')
  }
})

describe('a lock', () => {
  test('excludes a second open file of the same process, and is free when its file is closed', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('lock'), '')
    await using first = await openOrFail(folder.of('lock'), 'lock')
    await using second = await openOrFail(folder.of('lock'), 'lock')
    expect(await first.tryLock()).toBe(true)
    expect(await second.tryLock()).toBe(false)
    await first.close()
    expect(await second.tryLock()).toBe(true)
  })

  test('stays when another open file of the same process is closed', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('lock'), '')
    await using holder = await openOrFail(folder.of('lock'), 'lock')
    expect(await holder.tryLock()).toBe(true)
    const bystander = await openOrFail(folder.of('lock'), 'lock')
    await bystander.close()
    await using third = await openOrFail(folder.of('lock'), 'lock')
    expect(await third.tryLock()).toBe(false)
  })

  test('can be asked for again by its holder', async () => {
    await using folder = await temporaryFolder()
    await using file = await files.create(folder.of('lock'), 0o600)
    expect([await file!.tryLock(), await file!.tryLock()]).toEqual([true, true])
  })

  test('excludes another process, and another process excludes us', async () => {
    await using folder = await temporaryFolder()
    await using file = await files.create(folder.of('lock'), 0o600)
    expect(await file!.tryLock()).toBe(true)
    await using refused = await holderOf(folder.of('lock'))
    expect(refused.says).toBe('refused')
    await file!.close()
    await using held = await holderOf(folder.of('lock'))
    expect(held.says).toBe('held')
    await using again = await openOrFail(folder.of('lock'), 'lock')
    expect(await again.tryLock()).toBe(false)
  })

  test('ends with a process that is killed', async () => {
    await using folder = await temporaryFolder()
    await using file = await files.create(folder.of('lock'), 0o600)
    const holder = await holderOf(folder.of('lock'))
    expect([holder.says, await file!.tryLock()]).toEqual(['held', false])
    await holder[Symbol.asyncDispose]()
    expect(await file!.tryLock()).toBe(true)
  })
})

describe('names', () => {
  test('link() publishes without replacing', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('fresh'), 'fresh')
    expect(await files.link(folder.of('fresh'), folder.of('name'))).toBe(true)
    await writeFile(folder.of('other'), 'other')
    expect(await files.link(folder.of('other'), folder.of('name'))).toBe(false)
    expect(await readFile(folder.of('name'), 'utf8')).toBe('fresh')
    await files.unlink(folder.of('fresh'))
    expect(await files.lstat(folder.of('name'))).toMatchObject({ links: 1 })
  })

  test('lstat() tells what a name is, and follows nothing', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('file'), 'abc')
    await chmod(folder.of('file'), 0o640)
    await symlink('file', folder.of('link'))
    await link(folder.of('file'), folder.of('second'))
    expect(await files.lstat(folder.of('file'))).toMatchObject({ kind: 'file', size: 3, mode: 0o640, links: 2 })
    expect(await files.lstat(folder.of('link'))).toMatchObject({ kind: 'link' })
    expect(await files.lstat(folder.path)).toMatchObject({ kind: 'directory' })
    expect(await files.lstat(folder.of('none'))).toBeNull()
    const { ino, mtimeNs, ctimeNs } = await lstat(folder.of('file'), { bigint: true })
    expect(await files.lstat(folder.of('file'))).toMatchObject({ inode: ino, modifiedNs: mtimeNs, changedNs: ctimeNs })
  })

  test('mkdir() makes what is missing with the mode, and leaves what exists', async () => {
    await using folder = await temporaryFolder()
    await files.mkdir(folder.of('a', 'b'), 0o700)
    expect(await files.lstat(folder.of('a', 'b'))).toMatchObject({ kind: 'directory', mode: 0o700 })
    await files.chmod(folder.of('a'), 0o750)
    await files.mkdir(folder.of('a'), 0o700)
    expect(await files.lstat(folder.of('a'))).toMatchObject({ mode: 0o750 })
  })

  test('mkdir() takes a folder behind a link for a folder, and a file or a link to nowhere for none', async () => {
    await using folder = await temporaryFolder()
    await mkdir(folder.of('real'))
    await symlink('real', folder.of('link'))
    await symlink('nowhere', folder.of('dangling'))
    await writeFile(folder.of('file'), 'kept')
    await files.mkdir(folder.of('link'), 0o700)
    await files.mkdir(folder.of('link', 'a', 'b'), 0o700)
    expect(await files.lstat(folder.of('real', 'a', 'b'))).toMatchObject({ kind: 'directory' })
    for (const [name, errno] of [
      ['file', 'EEXIST'],
      ['file/below', 'ENOTDIR'],
      ['file/below/it', 'ENOTDIR'],
      ['dangling', 'EEXIST'],
    ] as const) {
      const fault = await faultOf(files.mkdir(folder.of(name), 0o700))
      expect(fault, name).toMatchObject({ code: 'STORAGE_FAILED', facts: { errno } })
    }
    expect(await readFile(folder.of('file'), 'utf8')).toBe('kept')
    expect((await readdir(folder.path)).sort()).toEqual(['dangling', 'file', 'link', 'real'])
  })

  test('eight at once make the same folders', async () => {
    await using folder = await temporaryFolder()
    const path = folder.of('a', 'b', 'c', 'd')
    await Promise.all(Array.from({ length: 8 }, () => files.mkdir(path, 0o700)))
    expect(await files.lstat(path)).toMatchObject({ kind: 'directory', mode: 0o700 })
  })

  test.runIf(process.platform === 'linux')(
    'mkdir() comes to an end where a name is "not there" although its parent is',
    async () => {
      for (const path of ['/proc/none', '/proc/none/below', '/proc/self/fd/none/below']) {
        const fault = await faultOf(files.mkdir(path, 0o700))
        expect(fault, path).toMatchObject({ code: 'STORAGE_FAILED', facts: { errno: 'ENOENT' } })
      }
    },
  )

  test('list() names what is in a folder, and is null without one', async () => {
    await using folder = await temporaryFolder()
    expect(await files.list(folder.path)).toEqual([])
    await writeFile(folder.of('b'), '')
    await mkdir(folder.of('a'))
    expect([...(await files.list(folder.path))!].sort()).toEqual(['a', 'b'])
    expect(await files.list(folder.of('none'))).toBeNull()
  })

  test('realpath() resolves links, and is null for what is not there', async () => {
    await using folder = await temporaryFolder()
    await symlink(folder.path, folder.of('link'))
    expect(await files.realpath(folder.of('link'))).toBe(folder.path)
    expect(await files.realpath(folder.of('none'))).toBeNull()
  })

  test('syncDirectory() accepts a folder and nothing else', async () => {
    await using folder = await temporaryFolder()
    await writeFile(folder.of('file'), '')
    await expect(files.syncDirectory(folder.path)).resolves.toBeUndefined()
    expect(await faultOf(files.syncDirectory(folder.of('file')))).toMatchObject({ code: 'STORAGE_FAILED' })
    expect(await faultOf(files.syncDirectory(folder.of('none')))).toMatchObject({ code: 'STORAGE_FAILED' })
  })
})

test('no message of a Fault holds a path', async () => {
  await using folder = await temporaryFolder()
  await symlink(folder.of('x'), folder.of('link'))
  await writeFile(folder.of('file'), '')
  const faults = await Promise.all([
    faultOf(files.open(folder.of('link'), 'read')),
    faultOf(files.open(folder.of('file', 'below'), 'read')),
    faultOf(files.create(folder.of('none', 'a'), 0o600)),
    faultOf(files.unlink(folder.of('none'))),
    faultOf(files.rename(folder.of('none'), folder.of('a'))),
    faultOf(files.link(folder.of('none'), folder.of('a'))),
    faultOf(files.chmod(folder.of('none'), 0o600)),
    faultOf(files.list(folder.of('file'))),
  ])
  for (const { message, hint, facts } of faults)
    expect(`${message} ${hint} ${JSON.stringify(facts)}`).not.toContain('/')
})

test('the owner of our files is the effective user, and this platform is durable', async () => {
  await using folder = await temporaryFolder()
  expect((await stat(folder.path)).uid).toBe(files.uid)
  expect(files.durable).toBe(process.platform === 'linux' || process.platform === 'darwin')
})

interface Holder extends AsyncDisposable {
  readonly says: string
}

/** Another process that asked for the lock. Disposing of it is `kill -9`. */
async function holderOf(path: string): Promise<Holder> {
  const script = fileURLToPath(new URL('hold-lock.mjs', import.meta.url))
  const child: ChildProcess = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  const [chunk] = await once(child.stdout!, 'data')
  return {
    says: String(chunk).trim(),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await gone
    },
  }
}
