import fs, {
  appendFileSync,
  chmodSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type AgentId, parseId, type RunId } from '../../src/core/index.ts'
import { Recorder } from '../../src/events/index.ts'
import {
  createJournal,
  type Journal,
  journalName,
  SIGNING_KEY_NAME,
  verify,
  verifyRun,
  verifyRunPrefix,
} from '../../src/journal/index.ts'
import { LINE_BYTES_MAX } from '../../src/journal/record.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { type DiskOperation, faultyWorld, gate } from '../support/faulty-world.ts'
import { scratch } from '../support/scratch.ts'
import { tinyDisk, whyNoTinyDisk } from '../support/tiny-disk.ts'
import {
  confirmed,
  effectStarts,
  entry,
  intent,
  otherPrincipal,
  output,
  principal,
  receipt,
  runId,
  started,
  terminated,
  unconfirmed,
} from './entries.ts'

const world = nodeWorld()
const disk = scratch()
const weak: World = { ...world, files: { ...world.files, durable: false } }
afterEach(() => void vi.restoreAllMocks())

const fresh = (using: World = world, directory = disk.folder()): Promise<Journal> =>
  createJournal(using, { directory, principal, runId })
const entriesOf = async (journal: Journal): Promise<readonly unknown[]> =>
  (await verifyRun(world, journal.audit.path, parsePublicKey(journal.audit.public_key), journal.audit.run_id)).map(
    ({ event }) => event,
  )
const bytesOf = (journal: Journal): number => statSync(journal.audit.path).size
const reasons = (settled: readonly PromiseSettledResult<void>[]): unknown[] =>
  settled.map((one) => (one.status === 'fulfilled' ? 'written' : (one.reason as { code?: string }).code))

describe('creating a journal', () => {
  test('makes a private empty file named after principal and run, synced with its folder', async () => {
    const faulty = faultyWorld(world)
    const directory = disk.folder()
    await using journal = await fresh(faulty, directory)
    expect(readdirSync(directory).sort()).toEqual([journalName(principal, runId), SIGNING_KEY_NAME].sort())
    const stats = statSync(journal.audit.path)
    expect([stats.size, stats.mode & 0o777, stats.nlink]).toEqual([0, 0o600, 1])
    expect(journal.nextSequence).toBe(0)
    const name = journalName(principal, runId)
    const after = faulty.done.slice(faulty.done.indexOf(`create ${name}`))
    expect(after).toEqual([`create ${name}`, `syncAll ${name}`, `syncDirectory ${directory.split('/').at(-1)}`])
  })

  test('eight at once share one key and have eight files; a repeated principal and run fails [J1]', async () => {
    const directory = disk.path('governed')
    const journals = await Promise.all(Array.from({ length: 8 }, () => createJournal(world, { directory, principal })))
    expect(new Set(journals.map(({ audit }) => audit.public_key)).size).toBe(1)
    expect(new Set(journals.map(({ audit }) => audit.path)).size).toBe(8)
    expect(readdirSync(directory)).toHaveLength(9)
    const first = journals[0] as Journal
    await first.append([entry(started)])
    await expect(createJournal(world, { directory, principal, runId: first.audit.run_id })).rejects.toMatchObject({
      code: 'JOURNAL_EXISTS',
    })
    expect(await entriesOf(first)).toHaveLength(1)
    await Promise.all(journals.map((journal) => journal.close()))
  })

  test('of two at once with the same principal and run, the second fails [J1]', async () => {
    const directory = disk.folder()
    const settled = await Promise.allSettled([fresh(world, directory), fresh(world, directory)])
    expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    for (const one of settled) if (one.status === 'fulfilled') await one.value.close()
  })

  test('refuses a symbolic link under its name, and leaves the target alone', async () => {
    const directory = disk.folder()
    const target = disk.path('target')
    writeFileSync(target, 'content')
    symlinkSync(target, join(directory, journalName(principal, runId)))
    await expect(fresh(world, directory)).rejects.toMatchObject({ code: 'JOURNAL_EXISTS' })
    expect(readFileSync(target, 'utf8')).toBe('content')
  })

  test.each([0o777, 0o750])('refuses a folder of mode %o and writes nothing, not even a key [J3]', async (mode) => {
    const directory = disk.folder()
    chmodSync(directory, mode)
    await expect(fresh(world, directory)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
    expect(readdirSync(directory)).toEqual([])
  })

  test('refuses a folder that is a symbolic link [J3]', async () => {
    const target = disk.folder()
    const directory = disk.path('link')
    symlinkSync(target, directory)
    await expect(fresh(world, directory)).rejects.toMatchObject({ code: 'STORAGE_UNSAFE' })
    expect(readdirSync(target)).toEqual([])
  })

  test('refuses a spoilt key, and makes no journal [J3]', async () => {
    const directory = disk.folder()
    writeFileSync(join(directory, SIGNING_KEY_NAME), 'short', { mode: 0o600 })
    await expect(fresh(world, directory)).rejects.toMatchObject({ code: 'KEY_INVALID' })
    expect(readdirSync(directory)).toEqual([SIGNING_KEY_NAME])
  })

  test.each(['../../escape', 'x', ''])('refuses %j as a principal or a run id', async (text) => {
    const directory = disk.folder()
    for (const place of [
      { directory, principal: text as AgentId },
      { directory, principal, runId: text as RunId },
    ]) {
      await expect(createJournal(world, place)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    }
    expect(readdirSync(directory)).toEqual([])
  })

  test('is refused on a platform without the file guarantees; verifying works there', async () => {
    const directory = disk.path('governed')
    await expect(fresh(weak, directory)).rejects.toMatchObject({ code: 'PLATFORM_UNSUPPORTED' })
    await using journal = await fresh(world, directory)
    await journal.append([entry(started)])
    expect(await verify(weak, journal.audit.path, parsePublicKey(journal.audit.public_key))).toHaveLength(1)
  })

  test.each([
    ['create', 'EROFS', 'STORAGE_FAILED', 0, 1],
    ['create', 'ENOSPC', 'STORAGE_FULL', 0, 1],
    ['create', 'EMFILE', 'STORAGE_FULL', 0, 1],
    ['syncAll', 'EIO', 'STORAGE_FAILED', 1, 1],
    ['syncDirectory', 'EIO', 'STORAGE_FAILED', 0, 1], // of the name of the folder
    ['syncDirectory', 'EIO', 'STORAGE_FAILED', 1, 3], // of the name of the file
  ] as const)(
    'fails when %s answers %s; a file that was made stays and burns its name',
    async (on, errno, code, files, nth) => {
      const directory = disk.folder()
      await (await createJournal(world, { directory, principal })).close() // the key is there
      const faulty = faultyWorld(world, [{ on, errno, nth }])
      await expect(fresh(faulty, directory)).rejects.toMatchObject({ code, facts: { errno } })
      expect(readdirSync(directory)).toHaveLength(2 + files)
      expect(faulty.count('close')).toBe(faulty.count('open') + files) // nothing stays open
      if (files === 1) await expect(fresh(world, directory)).rejects.toMatchObject({ code: 'JOURNAL_EXISTS' })
    },
  )
})

describe('appending', () => {
  test('writes entries in order, numbers them, and is read back equal', async () => {
    await using journal = await fresh()
    const events = [started, intent, receipt(false), output('ünïcödé 🎉 \u2028 "quoted" \\ \u0001'), terminated]
    await journal.append(events.slice(0, 2).map((event) => entry(event)))
    for (const event of events.slice(2)) await journal.append([entry(event)])
    expect(await entriesOf(journal)).toEqual(events)
    expect(journal.nextSequence).toBe(5)
    const read = await verifyRun(world, journal.audit.path, parsePublicKey(journal.audit.public_key), runId)
    expect(read.map(({ sequence, agent_id, iteration }) => [sequence, agent_id, iteration])).toEqual(
      events.map((_, index) => [index, principal, 1]),
    )
  })

  test('ignores the number that a caller gives', async () => {
    await using journal = await fresh()
    await journal.append([{ ...entry(started), sequence: 77 } as never])
    expect(await entriesOf(journal)).toHaveLength(1)
  })

  test('writes and syncs a list once, and acknowledges it after the sync', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    await using journal = await fresh(faulty)
    let acknowledged = false
    const appended = journal.append([entry(started), entry(intent)]).then(() => {
      acknowledged = true
    })
    await beforeSync.reached
    expect([acknowledged, journal.nextSequence, bytesOf(journal) > 0]).toEqual([false, 0, true])
    beforeSync.open()
    await appended
    expect([acknowledged, journal.nextSequence]).toEqual([true, 2])
    expect(count(faulty, journal, 'append')).toBe(1)
    expect(count(faulty, journal, 'syncData')).toBe(1)
  })

  test('joins the lists that wait behind a running sync: ten lists, one more sync', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    await using journal = await fresh(faulty)
    const order: number[] = []
    const first = journal.append([entry(started)])
    await beforeSync.reached
    const waiting = Array.from({ length: 10 }, (_, index) =>
      journal.append([entry(output(`${index}a`)), entry(output(`${index}b`))]).then(() => order.push(index)),
    )
    beforeSync.open()
    await Promise.all([first, ...waiting])
    expect(count(faulty, journal, 'syncData')).toBe(2)
    expect(count(faulty, journal, 'append')).toBe(2)
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    const written = (await entriesOf(journal)).slice(1).map((event) => (event as { output: string }).output)
    expect(written).toEqual(Array.from({ length: 10 }, (_, index) => [`${index}a`, `${index}b`]).flat())
  })

  test('joins a thousand waiting records in few writes, none of them lost', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    await using journal = await fresh(faulty)
    const all = Array.from({ length: 1000 }, (_, index) => journal.append([entry(output(String(index)))]))
    await beforeSync.reached
    beforeSync.open()
    await Promise.all(all)
    expect(count(faulty, journal, 'syncData')).toBeLessThanOrEqual(10)
    expect(await entriesOf(journal)).toHaveLength(1000)
  })

  test('joins up to 128 waiting records, and one list more is the next write', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    await using journal = await fresh(faulty)
    const first = journal.append([entry(started)])
    await beforeSync.reached
    const told: number[] = []
    const lists = [127, 50, 128, 1, 1].map((length, index) =>
      journal.append(Array.from({ length }, () => entry(output(`${index}`)))).then(() => {
        told.push(journal.nextSequence)
      }),
    )
    beforeSync.open()
    await Promise.all([first, ...lists])
    expect(told).toEqual([178, 178, 306, 308, 308])
    expect(count(faulty, journal, 'syncData')).toBe(4)
  })

  test('lets others go first after 127 records of a list, and after every 128 more', async () => {
    const turns: (() => void)[] = []
    const turn = (): Promise<void> => new Promise((resolve) => void turns.push(resolve))
    const faulty = faultyWorld({ ...world, clock: { ...world.clock, yield: turn } })
    await using journal = await fresh(faulty)
    const list = (length: number): readonly ReturnType<typeof entry>[] =>
      Array.from({ length }, () => entry(output('one of many')))
    await journal.append(list(127))
    expect(turns).toHaveLength(0)
    const appended = journal.append(list(300))
    for (const expected of [1, 2]) {
      await world.clock.yield()
      expect(turns).toHaveLength(expected)
      expect(count(faulty, journal, 'append')).toBe(1)
      turns.at(-1)?.()
    }
    await appended
    expect(turns).toHaveLength(2)
    expect(await entriesOf(journal)).toHaveLength(427)
  })

  test('a list that comes at any moment around the end of a write is written too', async () => {
    await using journal = await fresh()
    for (let hops = 0; hops < 40; hops += 1) {
      const first = journal.append([entry(output('first'))])
      const second = (async () => {
        await first
        for (let hop = 0; hop < hops; hop += 1) await undefined
        await journal.append([entry(output(`after ${hops}`))])
      })()
      await Promise.all([first, second])
    }
    expect(await entriesOf(journal)).toHaveLength(80)
  })

  test('a list refused by rule does no harm to those it was joined with', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', nth: 2, gate: beforeSync }])
    await using journal = await fresh(faulty)
    await journal.append([entry(started)])
    const first = journal.append([entry(output('running'))])
    await beforeSync.reached
    const lists = [[output('before')], [receipt(true)], [output('x'), intent], [receipt(false)], [terminated]]
    const settled = Promise.allSettled(lists.map((events) => journal.append(events.map((event) => entry(event)))))
    beforeSync.open()
    await first
    expect(reasons(await settled)).toEqual(['written', 'written', 'RECONCILIATION_REQUIRED', 'written', 'written'])
    expect(count(faulty, journal, 'syncData')).toBe(3)
    expect(await entriesOf(journal)).toEqual([
      started,
      output('running'),
      output('before'),
      receipt(true),
      receipt(false),
      terminated,
    ])
  })

  test('a list that fails lets those before it be written, and none after it', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    await using journal = await fresh(faulty)
    const first = journal.append([entry(started)])
    await beforeSync.reached
    const settled = Promise.allSettled([
      journal.append([entry(output('before'))]),
      journal.append([entry(output('half')), entry(output('foreign'), otherPrincipal)]),
      journal.append([entry(output('after'))]),
    ])
    beforeSync.open()
    await first
    expect(reasons(await settled)).toEqual(['written', 'JOURNAL_FAILED', 'JOURNAL_FAILED'])
    expect(await entriesOf(journal)).toEqual([started, output('before')])
  })

  test('an empty list is nothing: no write, no sync', async () => {
    const faulty = faultyWorld(world)
    await using journal = await fresh(faulty)
    await journal.append([])
    expect(count(faulty, journal, 'syncData')).toBe(0)
    expect(bytesOf(journal)).toBe(0)
  })

  test('what a caller changes in its list after handing it over is not written', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    await using journal = await fresh(faulty)
    const first = journal.append([entry(started)])
    await beforeSync.reached
    const list = [entry(output('judged'))]
    const appended = journal.append(list)
    list.push(entry(output('smuggled')))
    beforeSync.open()
    await Promise.all([first, appended])
    expect(await entriesOf(journal)).toEqual([started, output('judged')])
  })

  test('goes on when its caller gives up: a started write completes on its own', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    await using journal = await fresh(faulty)
    const cancel = new AbortController()
    const appended = journal.append([entry(started)])
    const givenUp = Promise.race([
      appended,
      new Promise((_, reject) => cancel.signal.addEventListener('abort', () => reject(cancel.signal.reason))),
    ])
    await beforeSync.reached
    cancel.abort(new Error('cancelled'))
    await expect(givenUp).rejects.toThrow('cancelled')
    beforeSync.open()
    await appended
    expect(await entriesOf(journal)).toEqual([started])
  })

  test('by sixty-four runs at once keeps every journal whole', async () => {
    const directory = disk.folder()
    const journals = await Promise.all(Array.from({ length: 64 }, () => createJournal(world, { directory, principal })))
    await Promise.all(
      journals.map(async (journal, index) => {
        for (let step = 0; step < 4; step += 1)
          await journal.append([entry(output(`${index}`)), entry(output(`${step}`))])
        await journal.close()
      }),
    )
    for (const [index, journal] of journals.entries()) {
      const events = await entriesOf(journal)
      expect(events).toHaveLength(8)
      expect(events[6]).toEqual(output(`${index}`))
    }
  })
})

describe('closing', () => {
  test('waits for a started write, adds nothing, and refuses what comes later', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    const journal = await fresh(faulty)
    const appended = journal.append([entry(started)])
    await beforeSync.reached
    let closed = false
    const closing = journal.close().then(() => {
      closed = true
    })
    await expect(journal.append([entry(terminated)])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect(closed).toBe(false)
    expect(count(faulty, journal, 'close')).toBe(0)
    beforeSync.open()
    await Promise.all([appended, closing])
    await journal.close()
    expect(await entriesOf(journal)).toEqual([started])
  })

  test('waits for the lists that were handed over before', async () => {
    const journal = await fresh()
    const appended = [started, output('a'), terminated].map((event) => journal.append([entry(event)]))
    await journal.close()
    await Promise.all(appended)
    expect(await entriesOf(journal)).toHaveLength(3)
  })
})

describe('after a failure', () => {
  const failures: readonly [string, DiskOperation, string, string, number][] = [
    ['a full disk', 'append', 'ENOSPC', 'STORAGE_FULL', 0],
    ['a full quota', 'append', 'EDQUOT', 'STORAGE_FULL', 0],
    ['a disk that became read-only', 'append', 'EROFS', 'STORAGE_FAILED', 0],
    ['a broken disk', 'append', 'EIO', 'STORAGE_FAILED', 0],
    ['a write cut short', 'append', 'ENOSPC', 'STORAGE_FULL', 100],
    ['a write that lacks its newline', 'append', 'ENOSPC', 'STORAGE_FULL', -1],
    ['a failed sync', 'syncData', 'EIO', 'STORAGE_FAILED', 0],
    ['a length that cannot be read', 'sizeNow', 'EIO', 'STORAGE_FAILED', 0],
  ]

  test.each(failures)(
    '%s poisons the writer for ever, the terminal record included [trap:failed-sync, trap:torn-line]',
    async (_what, on, errno, code, short) => {
      const plain = await fresh()
      await plain.append([entry(started)])
      const faulty = faultyWorld(world)
      await using journal = await fresh(faulty)
      await journal.append([entry(started)])
      const whole = bytesOf(journal)
      const shortBytes = short === -1 ? whole + 3 : short
      faulty.add({ on, errno, shortBytes })
      await expect(journal.append([entry(output('lost, and long enough to be cut'))])).rejects.toMatchObject({
        code,
        facts: { errno },
      })
      const left = readFileSync(journal.audit.path)
      for (const event of [output('next'), receipt(false), terminated]) {
        await expect(journal.append([entry(event)])).rejects.toMatchObject({
          code: 'JOURNAL_FAILED',
          message: expect.stringContaining('earlier write failed'),
          cause: { code },
        })
      }
      expect(readFileSync(journal.audit.path).equals(left)).toBe(true) // a half line is never glued to another
      expect(journal.nextSequence).toBe(1)
      const proven = await verifyRunPrefix(world, journal.audit.path, parsePublicKey(journal.audit.public_key), runId)
      expect(proven.entries[0]?.event).toEqual(started)
      await plain.close()
    },
  )

  test('of the sync, the record lies in the file unacknowledged, and its intent was never confirmed', async () => {
    const faulty = faultyWorld(world, [{ on: 'syncData', errno: 'EIO' }])
    await using journal = await fresh(faulty)
    await expect(journal.append([entry(intent)])).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(await entriesOf(journal)).toEqual([intent])
    expect(journal.nextSequence).toBe(0)
  })

  test('everybody who waited behind it is refused, and nothing of theirs is written', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync, errno: 'EIO' }])
    await using journal = await fresh(faulty)
    const first = journal.append([entry(started)])
    first.catch(() => undefined)
    await beforeSync.reached
    const settled = Promise.allSettled([1, 2, 3].map((number) => journal.append([entry(output(`${number}`))])))
    beforeSync.open()
    await expect(first).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
    expect(reasons(await settled)).toEqual(['JOURNAL_FAILED', 'JOURNAL_FAILED', 'JOURNAL_FAILED'])
    expect(count(faulty, journal, 'append')).toBe(1)
  })

  test('of a joined write, every list in it is refused', async () => {
    const beforeSync = gate()
    const faulty = faultyWorld(world, [{ on: 'syncData', gate: beforeSync }])
    await using journal = await fresh(faulty)
    const first = journal.append([entry(started)])
    await beforeSync.reached
    faulty.add({ on: 'append', errno: 'ENOSPC', shortBytes: 10 })
    const settled = Promise.allSettled([1, 2, 3].map((number) => journal.append([entry(output(`${number}`))])))
    beforeSync.open()
    await first
    expect(reasons(await settled)).toEqual(['STORAGE_FULL', 'STORAGE_FULL', 'STORAGE_FULL'])
  })

  test('through a recorder, the run is lost and its terminal record is refused', async () => {
    const faulty = faultyWorld(world, [{ on: 'append', path: '.jsonl', errno: 'ENOSPC' }])
    await using journal = await fresh(faulty)
    const recorder = new Recorder(journal, principal, () => world.clock.wall())
    await expect(recorder.commit(started)).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(recorder.lost).toBe(true)
    await expect(recorder.commit(terminated)).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
  })

  test('an entry of another principal poisons', async () => {
    await using journal = await fresh()
    await expect(journal.append([entry(started, otherPrincipal)])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    await expect(journal.append([entry(terminated)])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect(bytesOf(journal)).toBe(0)
  })

  const broken: readonly [string, unknown][] = [
    ['an unknown event', { kind: 'Nonsense' }],
    ['no event', null],
    ['a missing member', { kind: 'ImprovementOutput' }],
    ['a lone surrogate', output('\ud800')],
    ['an integer beyond 2^53-1', { ...intentWith(2 ** 53) }],
    ['a number of 301 digits', { ...intentWith(1e300) }],
    ['a member named __proto__', { ...intentWith(JSON.parse('{"__proto__":1}')) }],
    ['a member that is undefined', { ...intentWith({ absent: undefined }) }],
    ['a value nested 600 deep', { ...intentWith(JSON.parse(`${'['.repeat(600)}${']'.repeat(600)}`)) }],
  ]
  test.each(broken)(
    'an entry with %s is our own bug: refused before the disk, and it poisons',
    async (_what, event) => {
      await using journal = await fresh()
      await expect(journal.append([entry(event as never)])).rejects.toThrow()
      await expect(journal.append([entry(terminated)])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
      expect(bytesOf(journal)).toBe(0)
    },
  )

  test.each([2 ** 53 - 1, 1e15, -(2 ** 53 - 1), 0.1, 1e-300, 123456789.123456])(
    'the number %d is written and read back',
    async (number) => {
      await using journal = await fresh()
      await journal.append([entry(intentWith(number) as never)])
      expect(await entriesOf(journal)).toEqual([intentWith(number)])
    },
  )
})

describe('a file that another process changed', () => {
  test('longer between two appends: that one fails, and all later ones [J4]', async () => {
    await using journal = await fresh()
    await journal.append([entry(started)])
    appendFileSync(journal.audit.path, 'x')
    const left = readFileSync(journal.audit.path, 'utf8')
    await expect(journal.append([entry(output('a'))])).rejects.toMatchObject({
      code: 'JOURNAL_CHANGED',
      hint: expect.stringContaining('symbi audit inspect'),
    })
    truncateSync(journal.audit.path, left.length - 1) // putting it back does not help
    await expect(journal.append([entry(output('b'))])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    await expect(journal.append([entry(terminated)])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect(readFileSync(journal.audit.path, 'utf8')).toBe(left.slice(0, -1))
  })

  test('shorter between two appends: refused the same [J4]', async () => {
    await using journal = await fresh()
    await journal.append([entry(started)])
    truncateSync(journal.audit.path, 10)
    await expect(journal.append([entry(output('a'))])).rejects.toMatchObject({ code: 'JOURNAL_CHANGED' })
    await expect(journal.append([entry(terminated)])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect(bytesOf(journal)).toBe(10)
  })
})

describe('after an unconfirmed outcome', () => {
  test.each(unconfirmed.map((event, index) => [event.kind, index] as const))(
    '%s (%i): no effect starts; receipts and the terminal record are written [J5]',
    async (_kind, index) => {
      await using journal = await fresh()
      await journal.append([entry(started), entry(unconfirmed[index] as never)])
      const before = readFileSync(journal.audit.path)
      for (const start of effectStarts) {
        await expect(journal.append([entry(start)])).rejects.toMatchObject({
          code: 'RECONCILIATION_REQUIRED',
          message: expect.stringContaining('reconciliation'),
        })
      }
      expect(readFileSync(journal.audit.path).equals(before)).toBe(true)
      for (const event of [receipt(false), output('cleanup')]) await journal.append([entry(event)])
      await expect(journal.append([entry(intent)])).rejects.toMatchObject({ code: 'RECONCILIATION_REQUIRED' }) // for ever
      await journal.append([entry(terminated)])
      expect(await entriesOf(journal)).toHaveLength(5)
    },
  )

  test.each(confirmed.map((event, index) => [event.kind, index] as const))(
    '%s (%i) hinders nothing',
    async (_kind, index) => {
      await using journal = await fresh()
      await journal.append([entry(started), entry(confirmed[index] as never), entry(intent)])
      for (const start of effectStarts) await journal.append([entry(start)])
      expect(await entriesOf(journal)).toHaveLength(3 + effectStarts.length)
    },
  )

  test('inside a list, an intent behind the unconfirmed receipt refuses the whole list [J5]', async () => {
    await using journal = await fresh()
    await journal.append([entry(started)])
    const before = bytesOf(journal)
    await expect(journal.append([entry(receipt(true)), entry(intent)])).rejects.toMatchObject({
      code: 'RECONCILIATION_REQUIRED',
    })
    expect(bytesOf(journal)).toBe(before)
    await journal.append([entry(intent)]) // the refused receipt was not written, so it latches nothing
    await journal.append([entry(output('x')), entry(receipt(true))])
    await expect(journal.append([entry(intent)])).rejects.toMatchObject({ code: 'RECONCILIATION_REQUIRED' })
  })

  test('an intent in front of the unconfirmed receipt in one list is written', async () => {
    await using journal = await fresh()
    await journal.append([entry(started), entry(intent), entry(receipt(true)), entry(terminated)])
    expect(await entriesOf(journal)).toHaveLength(4)
  })
})

describe('the limits', () => {
  /** The length of the output text whose line has exactly this many bytes. */
  async function textFor(lineBytes: number): Promise<string> {
    await using probe = await fresh()
    await probe.append([entry(output(''))])
    return 'x'.repeat(lineBytes - bytesOf(probe))
  }

  test('a line of 1 MiB is written, one byte more poisons', async () => {
    const text = await textFor(LINE_BYTES_MAX)
    await using journal = await fresh()
    await journal.append([entry(output(text))])
    expect(bytesOf(journal)).toBe(LINE_BYTES_MAX)
    expect(await entriesOf(journal)).toHaveLength(1)
    await expect(journal.append([entry(output(`${text}x`))])).rejects.toMatchObject({ code: 'JOURNAL_LIMIT' })
    await expect(journal.append([entry(terminated)])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect(bytesOf(journal)).toBe(LINE_BYTES_MAX)
  })

  test('a line is counted in bytes, not in characters', async () => {
    const text = await textFor(LINE_BYTES_MAX)
    await using journal = await fresh()
    const wide = 'é'.repeat(Math.floor(text.length / 2))
    await journal.append([entry(output(wide))])
    expect(bytesOf(journal)).toBeGreaterThan(LINE_BYTES_MAX - 2)
    await using second = await fresh()
    await expect(second.append([entry(output(`${wide}é`))])).rejects.toMatchObject({ code: 'JOURNAL_LIMIT' })
  })

  test('a journal grows to 64 MiB and not one byte further; what it holds verifies', async () => {
    const bytesMax = 64 * 1024 * 1024
    await using journal = await fresh()
    const long = LINE_BYTES_MAX - 1024
    const lines = Array.from({ length: 15 }, () => entry(output('y'.repeat(long))))
    for (let count = 0; count < 4; count += 1) await journal.append(lines)
    const before = bytesOf(journal)
    await journal.append(lines.slice(0, 1))
    const lineBytes = bytesOf(journal) - before
    for (let left = bytesMax - bytesOf(journal); left > 0; left = bytesMax - bytesOf(journal)) {
      await journal.append([entry(output('y'.repeat(long - Math.max(0, lineBytes - left))))])
    }
    expect(bytesOf(journal)).toBe(bytesMax)
    await expect(journal.append([entry(output(''))])).rejects.toMatchObject({
      code: 'JOURNAL_LIMIT',
      hint: expect.stringContaining('new run'),
    })
    expect(bytesOf(journal)).toBe(bytesMax)
    await expect(journal.append([entry(terminated)])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
    expect((await entriesOf(journal)).length).toBe(journal.nextSequence)
  })
})

describe('a short write', () => {
  type Write = (
    ...args: [number, Uint8Array, number, number, null, (error: Error | null, taken?: number) => void]
  ) => void

  /** Lets the system's own call be replaced, for every module that has it; vitest takes it back after the test. */
  function whereWriting(replacement: (write: Write) => Write) {
    const original = fs.write as Write
    const spy = vi.spyOn(fs, 'write').mockImplementation(replacement(original) as never)
    syncBuiltinESMExports()
    return spy
  }
  afterEach(() => {
    vi.restoreAllMocks()
    syncBuiltinESMExports()
  })

  test('is continued until the line is whole [trap:short-write]', async () => {
    await using journal = await fresh()
    const spy = whereWriting(
      (write) =>
        (fd, bytes, at, length, ...rest) =>
          write(fd, bytes, at, Math.min(length, 7), ...rest),
    )
    await journal.append([entry(started), entry(output('after seven and seven and seven'))])
    expect(spy.mock.calls.length).toBeGreaterThan(50)
    expect(await entriesOf(journal)).toHaveLength(2)
  })

  test('that takes no byte at all is a failure, not an endless loop', async () => {
    await using journal = await fresh()
    whereWriting(
      () =>
        (...args) =>
          args[5](null, 0),
    )
    await expect(journal.append([entry(started)])).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  })
})

const noTinyDisk = whyNoTinyDisk()

describe(`a real disk of 64 KiB${noTinyDisk === null ? '' : ` (skipped: ${noTinyDisk})`}`, () => {
  test.skipIf(noTinyDisk !== null)(
    'that fills up: what was acknowledged verifies, nothing else is claimed',
    async () => {
      using full = tinyDisk(64)
      const journal = await createJournal(world, { directory: join(full.path, 'governed'), principal, runId })
      let acknowledged = 0
      let failure: unknown = null
      while (failure === null) {
        await journal.append([entry(output('z'.repeat(3000)))]).then(
          () => {
            acknowledged += 1
          },
          (error: unknown) => {
            failure = error
          },
        )
      }
      expect(failure).toMatchObject({ code: 'STORAGE_FULL', facts: { errno: 'ENOSPC' } })
      await expect(journal.append([entry(terminated)])).rejects.toMatchObject({ code: 'JOURNAL_FAILED' })
      await journal.close()
      const key = parsePublicKey(journal.audit.public_key)
      const proven = await verifyRunPrefix(world, journal.audit.path, key, runId)
      expect(proven.entries).toHaveLength(acknowledged)
      expect(proven.unverified_tail_bytes).toBe(statSync(journal.audit.path).size - proven.verified_bytes)
      await using later = await createJournal(world, { directory: join(full.path, 'governed'), principal })
      const big = entry(output('z'.repeat(8000)))
      await expect(later.append([big])).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    },
  )

  test.skipIf(noTinyDisk !== null)('that is read-only: nothing is created, and what is there verifies', async () => {
    using readOnly = tinyDisk(64)
    const directory = join(readOnly.path, 'governed')
    const journal = await createJournal(world, { directory, principal, runId })
    await journal.append([entry(started)])
    await journal.close()
    readOnly.remountReadOnly()
    await expect(createJournal(world, { directory, principal })).rejects.toMatchObject({
      code: 'STORAGE_FAILED',
      facts: { errno: 'EROFS' },
      hint: expect.stringContaining('read-write'),
    })
    expect(await entriesOf(journal)).toEqual([started])
  })
})

function count(faulty: { readonly done: readonly string[] }, journal: Journal, on: DiskOperation): number {
  const name = journalName(journal.principal, journal.audit.run_id)
  return faulty.done.filter((line) => line === `${on} ${name}`).length
}

/** An event with a free place for any JSON value. */
function intentWith(value: unknown): Record<string, unknown> {
  return {
    kind: 'ResponseDeliveryFinished',
    fingerprint: `sha256:${'0'.repeat(64)}`,
    receipt: value,
    confirmed: true,
    error: null,
  }
}

test('ids are parsed, so an upper-case one means the same file', async () => {
  const directory = disk.folder()
  await using _journal = await fresh(world, directory)
  const upper = runId.toUpperCase() as RunId
  await expect(createJournal(world, { directory, principal, runId: upper })).rejects.toMatchObject({
    code: 'JOURNAL_EXISTS',
  })
  expect(parseId('run', upper)).toBe(runId)
})
