/** The simulated disk: it answers like the real one, and after a crash it has what a real one promises, and little more. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isFault } from '../../../src/core/index.ts'
import { type Chance, chanceOf } from '../../../src/testing/simulation/chance.ts'
import { SimDisk } from '../../../src/testing/simulation/machine/disk.ts'
import type { DiskTrouble } from '../../../src/testing/simulation/machine/trouble.ts'
import { type Owner, Turns } from '../../../src/testing/simulation/machine/turns.ts'
import { type FileFacts, type Files, nodeWorld, type OpenFile, type Place } from '../../../src/world/index.ts'

interface Machine {
  readonly turns: Turns
  readonly disk: SimDisk
  boot(): Owner & { readonly files: Files }
  /** Takes steps until the answer is there. */
  answer<T>(promise: Promise<T>): Promise<T>
  /** Takes all steps. */
  quiet(): Promise<void>
  crash(how: 'kill' | 'power', owner: Owner): void
}

function machine(seed: number, troubles: readonly DiskTrouble[] = []): Machine {
  const turns = new Turns(chanceOf(seed, 'turns'))
  const disk = new SimDisk(turns, chanceOf(seed, 'disk'), troubles)
  let life = 0
  const quiet = async (): Promise<void> => {
    while ((await turns.next()) !== null);
  }
  return {
    turns,
    disk,
    boot: () => {
      life += 1
      const owner: Owner = { life, alive: true }
      return Object.assign(owner, { files: disk.filesOf(owner) })
    },
    answer: async (promise) => {
      let settled = false
      const end = (): void => {
        settled = true
      }
      promise.then(end, end)
      for (let idle = 0; !settled && idle < 2; ) {
        const idles = (await turns.next()) === null
        idle = idles ? idle + 1 : 0
        if (idles) await nodeWorld().clock.yield() // what needed no step goes on
      }
      return settled ? await promise : Promise.reject(new Error('the machine never answered'))
    },
    quiet,
    crash: (how, owner) => {
      turns.bury(owner)
      disk.crash(how, owner)
    },
  }
}

const text = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString())
const bytes = (content: string): Uint8Array => Buffer.from(content)

/** A file with these bytes, as a process would make it durable: itself, then its name. */
async function kept(files: Files, path: string, content: string): Promise<OpenFile> {
  const file = await made(files, path, content)
  await file.syncData()
  await files.syncDirectory(path.slice(0, path.lastIndexOf('/')) || '/')
  return file
}

async function made(files: Files, path: string, content: string): Promise<OpenFile> {
  const file = await files.create(path, 0o600)
  if (file === null) throw new Error('the name was taken')
  await file.append(bytes(content))
  return file
}

/** So many that what happens to one file in a hundred is among them. */
const LIVES = 1000

/** What is found at a path after each of many power failures, with how often. */
async function afterPower(
  path: string,
  lead: (files: Files) => Promise<unknown>,
  troubles: readonly DiskTrouble[] = [],
): Promise<Map<string | null, number>> {
  const found = new Map<string | null, number>()
  for (let seed = 0; seed < LIVES; seed += 1) {
    const sim = machine(seed, troubles)
    sim.disk.put('/d/old', 'old')
    const owner = sim.boot()
    await sim.answer(lead(owner.files))
    sim.crash('power', owner)
    const left = text(sim.disk.visible(path))
    expect(left, `seed ${seed}`).toBe(text(sim.disk.durable(path)))
    found.set(left, (found.get(left) ?? 0) + 1)
  }
  return found
}

describe('after the power failed', () => {
  test('what was synced, with its name, is there, in every life', async () => {
    expect(await afterPower('/d/a', (files) => kept(files, '/d/a', 'synced'))).toEqual(new Map([['synced', LIVES]]))
  })

  test('a file whose name was not synced is mostly gone and sometimes there', async () => {
    const found = await afterPower('/d/a', async (files) => {
      const file = await made(files, '/d/a', 'synced')
      await file.syncAll()
    })
    expect([...found.keys()].sort()).toEqual([null, 'synced'])
  })

  test('a file whose name was synced may be empty, torn at any byte, whole, or a hole', async () => {
    const found = await afterPower('/d/a', async (files) => {
      await made(files, '/d/a', 'abcd')
      await files.syncDirectory('/d')
    })
    const HOLES = [1, 2, 3, 4].map((size) => '\0'.repeat(size))
    expect([...found.keys()].sort()).toEqual(['', ...HOLES, 'a', 'ab', 'abc', 'abcd'])
  })

  test('a tail that was not synced tears, and what lies before it stays', async () => {
    const found = await afterPower('/d/a', async (files) => {
      const file = await kept(files, '/d/a', '1')
      await file.append(bytes('23'))
    })
    expect([...found.keys()].sort()).toEqual(['1', '1\0', '1\0\0', '12', '123'])
  })

  test('any sectors of a write that was not synced may be there, and the others are holes', async () => {
    const found = new Set<string>()
    for (let seed = 0; seed < 200; seed += 1) {
      const sim = machine(seed)
      const owner = sim.boot()
      sim.disk.put('/d/old', '')
      const file = await sim.answer(kept(owner.files, '/d/a', '1'.repeat(100)))
      await sim.answer(file.append(bytes('2'.repeat(1400))))
      sim.crash('power', owner)
      const left = text(sim.disk.visible('/d/a')) ?? ''
      expect(left.slice(0, 100)).toBe('1'.repeat(100))
      if (!left.includes('\0')) continue
      const sectors = [left.slice(100, 512), left.slice(512, 1024), left.slice(1024)]
      for (const sector of sectors) expect(new Set(sector).size).toBeLessThan(2)
      if (left.length < 1500) continue // it is torn as well
      found.add(sectors.map((sector) => (sector[0] === '\0' ? '-' : sector[0])).join(''))
      expect(sim.disk.holed).toBe(1)
    }
    expect([...found].sort()).toEqual(['---', '--2', '-2-', '-22', '2--', '2-2', '22-'])
  })

  test('a write that syncs itself may have holes when the power fails before its answer', async () => {
    let holed = 0
    for (let seed = 0; seed < 400; seed += 1) {
      const sim = machine(seed)
      const owner = sim.boot()
      sim.disk.put('/d/old', '')
      const file = await sim.answer(owner.files.create('/d/a', 0o600, 'synced'))
      await sim.answer(owner.files.syncDirectory('/d'))
      void file?.append(bytes('1'.repeat(1500)))
      while (sim.disk.visible('/d/a')?.length === 0) await sim.turns.next()
      sim.crash('power', owner)
      if (/\0+1/.test(text(sim.disk.visible('/d/a')) ?? '')) holed += 1
    }
    expect(holed).toBeGreaterThan(5)
  })

  test('a later write to one file may be there, and an earlier one to another not', async () => {
    const found = new Set<string>()
    for (let seed = 0; seed < 300; seed += 1) {
      const sim = machine(seed)
      const owner = sim.boot()
      sim.disk.put('/d/old', '')
      const first = await sim.answer(kept(owner.files, '/d/a', ''))
      const second = await sim.answer(kept(owner.files, '/d/b', ''))
      await sim.answer(first.append(bytes('1')).then(() => second.append(bytes('2'))))
      sim.crash('power', owner)
      found.add(`${text(sim.disk.visible('/d/a'))}-${text(sim.disk.visible('/d/b'))}`.replaceAll('\0', '?'))
    }
    expect([...found].sort()).toEqual(['-', '-2', '-?', '1-', '1-2', '1-?', '?-', '?-2', '?-?'])
  })

  test('an unsynced rename happened or did not, and its two names never miss the file both', async () => {
    const lead = async (files: Files): Promise<void> => {
      await kept(files, '/d/new', 'new')
      await files.rename('/d/new', '/d/old')
    }
    expect([...(await afterPower('/d/old', lead)).keys()].sort()).toEqual(['new', 'old'])
  })

  test('an unsynced removal may not have happened', async () => {
    expect([...(await afterPower('/d/old', (files) => files.unlink('/d/old'))).keys()].sort()).toEqual([null, 'old'])
  })

  test('a folder that was not synced may be gone with all that was synced inside it', async () => {
    const found = await afterPower('/d/e/f/a', async (files) => {
      await files.mkdir('/d/e/f', 0o700)
      await kept(files, '/d/e/f/a', 'synced')
    })
    expect([...found.keys()].sort()).toEqual([null, 'synced'])
  })

  test('what is written while a sync is under way is not covered by it', async () => {
    const found = await afterPower('/d/a', async (files) => {
      const file = await kept(files, '/d/a', '')
      await file.append(bytes('1'))
      await Promise.all([file.syncData(), file.append(bytes('2'))])
    })
    expect([...found.keys()].sort()).toEqual(['1', '1\0', '12'])
  })

  test('a file that syncs its appends may have done so, and need not have', async () => {
    const found = await afterPower('/d/a', async (files) => {
      const file = await files.create('/d/a', 0o600, 'synced')
      await files.syncDirectory('/d')
      await file?.append(bytes('1'))
    })
    expect([...found.keys()].sort()).toEqual(['', '\0', '1'])
  })

  test('links are counted anew from the names that are left', async () => {
    const sim = machine(1)
    const owner = sim.boot()
    sim.disk.put('/d/old', 'old')
    await sim.answer(owner.files.link('/d/old', '/d/second').then(() => owner.files.syncDirectory('/d')))
    await sim.answer(owner.files.link('/d/old', '/d/third').then(() => owner.files.syncDirectory('/d')))
    await sim.answer(owner.files.unlink('/d/second').then(() => owner.files.syncDirectory('/d')))
    sim.crash('power', owner)
    expect(sim.disk.visibleNames('/d')).toEqual(['old', 'third'])
    expect(sim.boot().files.factsNow('/d/old')?.links).toBe(2)
  })

  test('what was called durable is there, and of the rest nothing that was never written', async () => {
    let torn = 0
    for (let seed = 0; seed < 200; seed += 1) {
      const sim = machine(seed, [{ on: 'syncData', nth: 2, how: 'fails' }])
      const owner = sim.boot()
      sim.disk.put('/d/old', 'old')
      await sim.answer(randomUse(owner.files, '/d', chanceOf(seed, 'use'), 60))
      const paths = filesBelow(sim.disk, owner.files, '/d')
      for (const path of paths) {
        for (let end = path.lastIndexOf('/'); end >= 0; end = path.lastIndexOf('/', end - 1)) {
          await sim.answer(owner.files.syncDirectory(path.slice(0, end) || '/')) // chance has no say about names here
          if (end === 0) break
        }
      }
      const before = paths.map((path) => [path, sim.disk.durable(path), sim.disk.visible(path)] as const)
      sim.crash('power', owner)
      for (const [path, durable, visible] of before) {
        const after = sim.disk.visible(path)
        if (durable === null || visible === null || after === null) expect.fail(`${path} is gone, seed ${seed}`)
        const left = Buffer.from(after)
        expect(left.subarray(0, durable.length), `${path}, seed ${seed}`).toEqual(Buffer.from(durable))
        expect(left.length, `${path}, seed ${seed}`).toBeLessThanOrEqual(visible.length)
        const rest = Buffer.from(visible).subarray(durable.length, left.length)
        expect(left.subarray(durable.length).every((byte, at) => byte === 0 || byte === rest[at])).toBe(true)
        if (left.length > durable.length) torn += 1
      }
    }
    expect(torn).toBeGreaterThan(20)
  })
})

describe('a sync that failed', () => {
  const fails: DiskTrouble = { on: 'syncData', nth: 1, how: 'fails' }
  const lead = async (files: Files): Promise<OpenFile> => {
    const file = await made(files, '/d/a', 'lost')
    await expect(file.syncData()).rejects.toMatchObject({ code: 'STORAGE_FAILED', facts: { errno: 'EIO' } })
    await file.syncData() // the page cache calls the bytes clean: this succeeds, and writes nothing
    await files.syncDirectory('/d')
    return file
  }

  test('leaves bytes that everybody sees and that no later sync makes durable', async () => {
    const sim = machine(1, [fails])
    sim.disk.put('/d/old', 'old')
    await sim.answer(lead(sim.boot().files))
    expect(text(sim.disk.visible('/d/a'))).toBe('lost')
    expect(text(sim.disk.durable('/d/a'))).toBe('')
    expect(await afterPower('/d/a', lead, [fails])).toEqual(new Map([['', LIVES]]))
  })

  test('leaves a hole where something behind it was synced', async () => {
    const found = await afterPower(
      '/d/a',
      async (files) => {
        const file = await lead(files)
        await file.append(bytes('kept'))
        await file.syncData()
      },
      [fails],
    )
    expect(found).toEqual(new Map([['\0\0\0\0kept', LIVES]]))
  })

  test('too late has made everything durable', async () => {
    const found = await afterPower(
      '/d/a',
      async (files) => {
        const file = await made(files, '/d/a', 'kept')
        await expect(file.syncData()).rejects.toMatchObject({ facts: { errno: 'EIO' } })
        await files.syncDirectory('/d')
      },
      [{ ...fails, how: 'late' }],
    )
    expect(found).toEqual(new Map([['kept', LIVES]]))
  })
})

describe('trouble', () => {
  test('a full disk takes none of an append, or a part of it, and says so', async () => {
    const lengths = new Set<number>()
    for (let seed = 0; seed < 60; seed += 1) {
      const sim = machine(seed, [
        { on: 'append', nth: 1, how: 'fails', errno: 'ENOSPC' },
        { on: 'append', nth: 2, how: 'short', errno: 'ENOSPC' },
      ])
      const { files } = sim.boot()
      await expect(sim.answer(made(files, '/a', 'abc'))).rejects.toMatchObject({ code: 'STORAGE_FULL' })
      expect(sim.disk.visible('/a')).toHaveLength(0)
      await expect(sim.answer(made(files, '/b', 'abc'))).rejects.toMatchObject({ facts: { errno: 'ENOSPC' } })
      lengths.add(sim.disk.visible('/b')?.length ?? -1)
    }
    expect([...lengths].sort()).toEqual([0, 1, 2])
  })

  test('counts over all processes, happens once, and what is late happened', async () => {
    const sim = machine(1, [
      { on: 'create', nth: 2, how: 'late', errno: 'EMFILE' },
      { on: 'create', nth: 3, how: 'fails', errno: 'EROFS' },
    ])
    const [one, two] = [sim.boot(), sim.boot()]
    const file = await sim.answer(one.files.create('/a', 0o600))
    await expect(sim.answer(two.files.create('/b', 0o600))).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    await expect(sim.answer(one.files.create('/c', 0o600))).rejects.toMatchObject({ facts: { errno: 'EROFS' } })
    expect(await sim.answer(two.files.create('/b', 0o600))).toBeNull()
    expect(sim.disk.visibleNames('/')).toEqual(['a', 'b'])
    expect(sim.disk.counts).toMatchObject({ create: 4, append: 0 })
    await sim.answer(file?.close() ?? Promise.resolve())
    expect([sim.disk.heldBy(one).files, sim.disk.heldBy(two).files]).toEqual([[], []])
  })

  test('what is slow takes its time and is done', async () => {
    const sim = machine(1, [{ on: 'mkdir', nth: 1, how: 'slow', ms: 5000 }])
    await sim.answer(sim.boot().files.mkdir('/d', 0o700))
    expect(sim.turns.nowMs).toBeGreaterThanOrEqual(5000)
    expect(sim.disk.visibleNames('/')).toEqual(['d'])
  })
})

describe('a process that was killed', () => {
  test('leaves all that was written, synced or not', async () => {
    const sim = machine(1)
    const owner = sim.boot()
    await sim.answer(made(owner.files, '/a', 'written'))
    sim.crash('kill', owner)
    expect([text(sim.disk.visible('/a')), sim.disk.durable('/a')]).toEqual(['written', null])
  })

  test('lets go of its locks and open files, and others keep theirs', async () => {
    const sim = machine(1)
    const [one, two, three] = [sim.boot(), sim.boot(), sim.boot()]
    const first = await sim.answer(made(one.files, '/a', ''))
    const second = await sim.answer(two.files.open('/a', 'lock'))
    await sim.answer(made(three.files, '/b', ''))
    expect(await sim.answer(first.tryLock())).toBe(true)
    expect(await sim.answer(second?.tryLock() ?? Promise.resolve(null))).toBe(false)
    expect(sim.disk.heldBy(one)).toEqual({ files: ['/a'], locks: ['/a'] })
    sim.crash('kill', one)
    expect(sim.disk.heldBy(one)).toEqual({ files: [], locks: [] })
    expect(await sim.answer(second?.tryLock() ?? Promise.resolve(null))).toBe(true)
    expect(sim.disk.heldBy(two)).toEqual({ files: ['/a'], locks: ['/a'] })
    expect(sim.disk.heldBy(three)).toEqual({ files: ['/b'], locks: [] })
  })

  test('never gets an answer, neither to what it asked before nor to what it asks after', async () => {
    const sim = machine(1)
    const owner = sim.boot()
    const file = await sim.answer(made(owner.files, '/a', ''))
    let answers = 0
    const asked = (): readonly Promise<unknown>[] => [
      file.append(bytes('late')),
      file.syncData(),
      file.facts(),
      file.close(),
      owner.files.create('/b', 0o600),
      owner.files.list('/'),
      owner.files.mkdir('/c', 0o700),
      owner.files.place('/'),
    ]
    const listen = (promises: readonly Promise<unknown>[]): void => {
      for (const promise of promises) {
        promise.then(
          () => (answers += 1),
          () => (answers += 1),
        )
      }
    }
    listen(asked())
    sim.crash('kill', owner)
    const before = { ...sim.disk.counts }
    listen([owner.files.create('/d', 0o600), owner.files.unlink('/a')])
    await sim.quiet()
    expect(answers).toBe(0)
    expect(sim.disk.counts).toEqual(before)
    expect(sim.disk.visibleNames('/')).toEqual(['a'])
  })

  test('may leave a part of what it was appending', async () => {
    const lengths = new Set<number>()
    for (let seed = 0; seed < 200; seed += 1) {
      const sim = machine(seed)
      const owner = sim.boot()
      const file = await sim.answer(made(owner.files, '/a', ''))
      void file.append(bytes('abc'))
      await sim.turns.next()
      sim.crash('kill', owner)
      lengths.add(sim.disk.visible('/a')?.length ?? -1)
    }
    expect([...lengths].sort()).toEqual([1, 2, 3])
  })
})

test('a file that is closed waits for what was asked of it, and answers nothing after', async () => {
  const sim = machine(3)
  const owner = sim.boot()
  const file = await sim.answer(made(owner.files, '/a', ''))
  const order: string[] = []
  void file.append(bytes('1')).then(() => order.push('append'))
  void file.close().then(() => order.push('close'))
  await expect(file.append(bytes('2'))).rejects.toMatchObject({ facts: { errno: 'EBADF' } })
  await sim.quiet()
  expect(order).toEqual(['append', 'close'])
  expect(text(sim.disk.visible('/a'))).toBe('1')
  expect(sim.disk.heldBy(owner).files).toEqual([])
})

test('what the disk shows of a file is one object until it changes, and no change reaches what was shown', async () => {
  const sim = machine(1)
  const owner = sim.boot()
  sim.disk.put('/old', '')
  const file = await sim.answer(kept(owner.files, '/a', 'one'))
  const [visible, durable] = [sim.disk.visible('/a'), sim.disk.durable('/a')]
  expect([sim.disk.visible('/a') === visible, sim.disk.durable('/a') === durable]).toEqual([true, true])
  await sim.answer(file.append(bytes(' and two')))
  expect([sim.disk.visible('/a') === visible, sim.disk.durable('/a') === durable]).toEqual([false, true])
  await sim.answer(file.syncData())
  expect(text(sim.disk.durable('/a'))).toBe('one and two')
  sim.crash('power', owner)
  const again = await sim.answer(sim.boot().files.open('/a', 'append'))
  await sim.answer(again?.append(bytes('!!!')) ?? Promise.resolve())
  expect([text(visible), text(durable), text(sim.disk.visible('/a'))]).toEqual(['one', 'one', 'one and two!!!'])
})

test('what was put there to begin with is durable, and so are its folders', () => {
  const sim = machine(1)
  sim.disk.put('/p/q/a', 'one', 0o600)
  sim.disk.put('/p/q/a', 'two', 0o600)
  const owner = sim.boot()
  sim.crash('power', owner)
  expect(text(sim.disk.visible('/p/q/a'))).toBe('two')
  expect(sim.boot().files.factsNow('/p/q/a')).toMatchObject({ mode: 0o600, links: 1, size: 3 })
})

test('the clock of the files follows that of the machine, and every change moves it', async () => {
  const sim = machine(1)
  const { files } = sim.boot()
  const file = await sim.answer(made(files, '/a', '1'))
  const first = await sim.answer(file.facts())
  await sim.answer(files.chmod('/a', 0o640))
  const second = await sim.answer(file.facts())
  expect(second.changedNs).toBeGreaterThan(first.changedNs)
  expect(second.modifiedNs).toBe(first.modifiedNs)
  sim.turns.leap(60_000)
  await sim.answer(file.append(bytes('2')))
  const third = await sim.answer(file.facts())
  expect(third.modifiedNs - first.modifiedNs).toBeGreaterThanOrEqual(60_000_000_000n)
  expect(third.modifiedNs / 1_000_000n).toBeGreaterThan(BigInt(Date.UTC(2026, 0, 1)))
})

test('the same seed gives the same bytes, the same times and the same losses', async () => {
  const life = async (seed: number): Promise<string> => {
    const sim = machine(seed, [{ on: 'syncData', nth: 2, how: 'fails' }])
    sim.disk.put('/d/old', 'old')
    const owner = sim.boot()
    const lines = await sim.answer(randomUse(owner.files, '/d', chanceOf(seed, 'use'), 60))
    sim.crash('power', owner)
    const left = sim.disk.visibleNames('/d').map((name) => `${name}=${text(sim.disk.visible(`/d/${name}`))}`)
    return JSON.stringify([lines, left, sim.turns.nowMs, sim.turns.taken, sim.disk.counts])
  }
  const lives = new Set<string>()
  for (let seed = 0; seed < 20; seed += 1) {
    const once = await life(seed)
    expect(await life(seed)).toBe(once)
    lives.add(once)
  }
  expect(lives.size).toBe(20)
})

const linux = process.platform === 'linux'

test.runIf(linux)(
  'a random use is answered as by real files, call for call',
  async () => {
    const real = nodeWorld().files
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'symbi-disk-')))
    const mask = process.umask(0o022)
    try {
      for (let seed = 0; seed < 300; seed += 1) {
        const folder = `${root}/${seed}`
        await real.mkdir(folder, 0o755)
        const sim = machine(seed)
        const { files } = sim.boot()
        await sim.answer(files.mkdir(folder, 0o755))
        const use = (of: Files): Promise<readonly string[]> => randomUse(of, folder, chanceOf(seed, 'use'), 60)
        const simulated = await sim.answer(use(files))
        expect(simulated, `seed ${seed}`).toEqual(await use(real))
      }
    } finally {
      process.umask(mask)
      rmSync(root, { recursive: true, force: true })
    }
  },
  120_000,
)

/** All files below a folder, as a program sees them. */
function filesBelow(disk: SimDisk, files: Files, folder: string): readonly string[] {
  return disk.visibleNames(folder).flatMap((name) => {
    const path = `${folder}/${name}`
    return files.factsNow(path)?.kind === 'directory' ? filesBelow(disk, files, path) : [path]
  })
}

/** A random use of files below a folder, one call after the other, and the answers as text. */
async function randomUse(files: Files, root: string, chance: Chance, count: number): Promise<readonly string[]> {
  const open: OpenFile[] = []
  const places: Place[] = []
  const lines: string[] = []
  const path = (): string => {
    const depth = chance.between(1, 3)
    return `${root}/${Array.from({ length: depth }, () => chance.pick(['a', 'b', 'c'])).join('/')}`
  }
  const mode = (): number => chance.pick([0o700, 0o750, 0o755, 0o777]) // the owner may do all: a system forbids nothing
  const told = async (what: string, call: () => Promise<unknown>): Promise<void> => {
    try {
      lines.push(`${what}: ${shown(await call())}`)
    } catch (error) {
      if (!isFault(error)) throw error
      lines.push(`${what}: ${error.code} ${error.facts.errno ?? ''}`)
    }
  }
  const kept = async <T extends OpenFile | Place>(into: T[], opening: Promise<T | null>): Promise<boolean> => {
    const got = await opening
    if (got !== null) into.push(got)
    return got !== null
  }
  const calls: readonly (readonly [number, () => Promise<void>])[] = [
    [8, () => at((p) => told(`create ${p}`, () => kept(open, files.create(p, mode()))))],
    [5, () => at((p) => told(`mkdir ${p}`, () => files.mkdir(p, mode())))],
    [5, () => at((p) => told(`open ${p}`, () => kept(open, files.open(p, 'read'))))],
    [5, () => at((p) => told(`open for appending ${p}`, () => kept(open, files.open(p, 'append'))))],
    [3, () => at((p) => told(`open for a lock ${p}`, () => kept(open, files.open(p, 'lock'))))],
    [4, () => at((p) => at((q) => told(`link ${p} ${q}`, () => files.link(p, q))))],
    [5, () => at((p) => at((q) => told(`rename ${p} ${q}`, () => files.rename(p, q))))],
    [4, () => at((p) => told(`unlink ${p}`, () => files.unlink(p)))],
    [2, () => at((p) => told(`chmod ${p}`, () => files.chmod(p, mode())))],
    [4, () => at((p) => told(`list ${p}`, async () => (await files.list(p))?.toSorted() ?? null))],
    [4, () => at((p) => told(`lstat ${p}`, () => files.lstat(p)))],
    [3, () => at((p) => told(`facts ${p}`, async () => files.factsNow(p)))],
    [
      2,
      () =>
        at((p) =>
          told(`realpath ${p}`, () => files.realpath(chance.pick([p, `${p}/..`, `${root}/./${p.slice(root.length)}`]))),
        ),
    ],
    [2, () => at((p) => told(`sync ${p}`, () => files.syncDirectory(p)))],
    [2, () => at((p) => told(`place ${p}`, () => kept(places, files.place(p))))],
    [3, () => held((place) => told('list a place', async () => listed(await place.list(10))), 'directory')],
    [3, () => held((place) => told('step', () => kept(places, place.step(chance.pick(['a', 'b', 'c'])))), 'directory')],
    [2, () => held((place) => told('open a place', () => kept(open, place.open())), 'file')],
    [2, () => held((place) => told('facts of a place', async () => place.facts), null)],
    [8, () => opened((file) => told('append', () => appended(file)))],
    [5, () => opened((file) => told('read', () => file.read(chance.index(20), chance.index(20))))],
    [5, () => opened((file) => told('read all', () => file.readAll(chance.pick([10, 1000]))))],
    [4, () => opened((file) => told('facts', () => file.facts()))],
    [3, () => opened((file) => told('size', () => sizeOf(file)))],
    [3, () => opened((file) => told('sync data', () => file.syncData()))],
    [2, () => opened((file) => told('sync all', () => file.syncAll()))],
    [5, () => opened((file) => told('lock', () => file.tryLock()))],
    [3, () => opened((file) => told('close', () => file.close()))],
  ]
  const at = (call: (path: string) => Promise<void>): Promise<void> => call(path())
  const opened = (call: (file: OpenFile) => Promise<void>): Promise<void> =>
    open.length === 0 ? Promise.resolve() : call(chance.pick(open))
  const held = (call: (place: Place) => Promise<void>, kind: string | null): Promise<void> => {
    const fitting = places.filter(({ facts }) => kind === null || facts.kind === kind)
    return fitting.length === 0 ? Promise.resolve() : call(chance.pick(fitting))
  }
  const appended = async (file: OpenFile): Promise<void> => {
    const content = chance.bytes(chance.index(12))
    // nobody writes through what was opened for a lock or for reading, and a real file would take the first
    if (appendable.has(file)) await file.append(content)
  }
  const appendable = new WeakSet<OpenFile>()
  const bag = calls.flatMap(([weight, call]) => Array.from({ length: weight }, () => call))
  for (let done = 0; done < count; done += 1) {
    const before = open.length
    await chance.pick(bag)()
    const fresh = open[before]
    if (fresh !== undefined && /^(create|open for appending)/.test(lines.at(-1) ?? '')) appendable.add(fresh)
  }
  for (const closable of [...open, ...places]) await closable.close()
  return lines
}

async function sizeOf(file: OpenFile): Promise<number | string> {
  const facts = await file.facts()
  return facts.kind === 'directory' ? 'a folder' : file.sizeNow()
}

function listed({ names, more }: { readonly names: readonly string[]; readonly more: boolean }): string {
  return `${names.toSorted().join()} ${more}`
}

function shown(answer: unknown): string {
  if (answer instanceof Uint8Array) return Buffer.from(answer).toString('hex')
  if (isFacts(answer)) {
    const { kind, mode, size, links } = answer
    // how large a folder is, and how many links it has, each file system says in its own way
    return `${kind} ${mode.toString(8)}${kind === 'file' ? ` ${size} ${links}` : ''}`
  }
  return JSON.stringify(answer) ?? 'done'
}

function isFacts(answer: unknown): answer is FileFacts {
  return typeof answer === 'object' && answer !== null && 'inode' in answer
}
