/** Where lines are signed, a step at a time: when a thread is started, what it is asked, and what happens without it. */
import { describe, expect, test } from 'vitest'
import { type HexHash, hexHash } from '../../src/core/index.ts'
import { type Batch, BLANK, type CompletedBatch, complete } from '../../src/journal/blank-lines.ts'
import { recordLine } from '../../src/journal/record.ts'
import { openSealer, Sealer } from '../../src/journal/sealer.ts'
import { type SigningKey, signingKeyOf } from '../../src/keys/index.ts'
import { nodeWorld, type SideThread } from '../../src/world/index.ts'
import { entry, output, runId } from './entries.ts'

const { clock } = nodeWorld()
const key = signingKeyOf(new Uint8Array(32).fill(9))

/** A thread that is up, stopped, or gone when the test says so; what it was asked is kept. */
function threadOnCall() {
  const seen = { started: 0, stopped: 0, over: 0, yields: 0, asked: [] as number[][] }
  const told = { up: (_isUp: boolean): void => undefined, stopped: (): void => undefined }
  let answers: 'all' | 'none' | 'breaks' = 'all'
  const ready = new Promise<boolean>((resolve) => {
    told.up = resolve
  })
  const whenStopped = new Promise<void>((resolve) => {
    told.stopped = resolve
  })
  const start = (): SideThread => {
    seen.started += 1
    return {
      ready,
      ask: async <T>(question: object) => {
        seen.asked.push((question as Batch).groups.map(({ lengths }) => lengths.length))
        if (answers === 'breaks') throw new Error('the message cannot be sent')
        return answers === 'none' ? null : (completed(question as Batch) as T)
      },
      stop: async () => {
        seen.stopped += 1
        await whenStopped
      },
    }
  }
  const world = {
    clock: {
      ...clock,
      yield: async () => {
        seen.yields += 1
        await clock.yield()
      },
    },
    threads: { spare: 1, start },
  }
  const sealer = (using: SigningKey = key) =>
    new Sealer(world, using, () => {
      seen.over += 1
    })
  return {
    seen,
    told,
    world,
    sealer,
    answer: (how: typeof answers) => {
      answers = how
    },
  }
}

function completed({ bytes, groups }: Batch): CompletedBatch {
  let at = 0
  const hashes = groups.map(({ lengths, previousHash }) => {
    const lines = lengths.map((length) => {
      at += length
      return Buffer.from(bytes.buffer, at - length, length)
    })
    return complete(lines, previousHash as HexHash, key)
  })
  return { bytes, hashes }
}

/** Lines of one journal, blank and as they have to become. */
function linesOf(name: string, count: number) {
  const previousHash = hexHash(Buffer.from(name))
  const events = Array.from({ length: count }, (_, at) => entry(output(`${name} ${'z'.repeat(at)}`)))
  const blank = events.map((event, sequence) =>
    recordLine(event, runId, { sequence, previousHash: hexHash(Buffer.from('any')) }, BLANK),
  )
  let hash = previousHash
  const whole = events.map((event, sequence) => {
    const line = recordLine(event, runId, { sequence, previousHash: hash }, key)
    hash = hexHash(line)
    return line
  })
  return { blank, previousHash, sealed: { text: String(Buffer.concat(whole)), hash } }
}

const nothing = (): void => undefined
async function sealedBy(sealer: Sealer, lines: readonly ReturnType<typeof linesOf>[]) {
  const all = await Promise.all(lines.map(({ blank, previousHash }) => sealer.seal(blank, previousHash)))
  return all.map(({ lines: done, hash }) => ({ text: String(Buffer.concat(done)), hash }))
}

/** As if so many journals were at work, one of them this often. */
function crowd(sealer: Sealer, journals: number, times: number): boolean[] {
  for (let journal = 1; journal < journals; journal += 1) sealer.begin()
  const elsewhere = Array.from({ length: times }, () => {
    const is = sealer.begin()
    sealer.end(nothing)
    return is
  })
  for (let journal = 1; journal < journals; journal += 1) sealer.end(nothing)
  return elsewhere
}

/** A sealer of two journals whose thread is up. */
async function crowded() {
  const all = threadOnCall()
  const sealer = all.sealer()
  sealer.open()
  sealer.open()
  crowd(sealer, 5, 64)
  all.told.up(true)
  await clock.yield()
  return { ...all, sealer }
}

describe('a thread for the signatures', () => {
  test('is started once five journals were at work at once for the 64th time, and never a second one', () => {
    const { seen, sealer } = threadOnCall()
    const using = sealer()
    using.open()
    crowd(using, 5, 63)
    expect(seen.started).toBe(0)
    crowd(using, 5, 1)
    expect(seen.started).toBe(1)
    crowd(using, 6, 200)
    expect(seen.started).toBe(1)
  })

  test('is not started for four, however often', () => {
    const { seen, sealer } = threadOnCall()
    const using = sealer()
    using.open()
    crowd(using, 4, 500)
    expect(seen.started).toBe(0)
  })

  test('is asked only once it is up, and only while there is a crowd', async () => {
    const { told, sealer } = threadOnCall()
    const using = sealer()
    using.open()
    expect(crowd(using, 5, 66)).not.toContain(true)
    told.up(true)
    await clock.yield()
    expect(crowd(using, 5, 1)).toEqual([true])
    expect(crowd(using, 4, 1)).toEqual([false])
  })

  test('is asked for a journal alone while many others wait for their turn', async () => {
    const { sealer } = await crowded()
    for (let index = 0; index < 30; index += 1) sealer.begin()
    for (let index = 0; index < 30; index += 1) sealer.end(nothing)
    expect(crowd(sealer, 1, 1)).toEqual([true])
    for (let turn = 0; turn < 6; turn += 1) await clock.yield()
    expect(crowd(sealer, 1, 1)).toEqual([false])
  })

  test('is never asked when it did not come up', async () => {
    const { told, sealer } = threadOnCall()
    const using = sealer()
    using.open()
    crowd(using, 5, 64)
    told.up(false)
    await clock.yield()
    expect(crowd(using, 5, 1)).toEqual([false])
  })

  test('is stopped when the last journal is closed, which waits for that', async () => {
    const { seen, told, sealer } = await crowded()
    await sealer.close()
    expect(seen).toMatchObject({ stopped: 0, over: 0 })
    expect(crowd(sealer, 5, 1)).toEqual([true])
    let isClosed = false
    const closed = sealer.close().then(() => {
      isClosed = true
    })
    await clock.yield()
    expect(seen).toMatchObject({ stopped: 1, over: 1 })
    expect(isClosed).toBe(false)
    expect(crowd(sealer, 5, 1)).toEqual([false])
    told.stopped()
    await closed
  })

  test('that comes up when all is closed is not asked', async () => {
    const { told, sealer } = threadOnCall()
    const using = sealer()
    using.open()
    crowd(using, 5, 64)
    told.stopped()
    await using.close()
    told.up(true)
    await clock.yield()
    expect(crowd(using, 5, 1)).toEqual([false])
  })
})

describe('lines that are sealed', () => {
  test('of journals that come within one turn go over in one message, and come back as if signed here', async () => {
    const { seen, sealer } = await crowded()
    const lines = [linesOf('a', 1), linesOf('b', 3), linesOf('c', 2)]
    expect(await sealedBy(sealer, lines)).toEqual(lines.map(({ sealed }) => sealed))
    expect(seen.asked).toEqual([[1, 3, 2]])
    expect(await sealedBy(sealer, lines.slice(0, 1))).toEqual([lines[0]?.sealed])
    expect(seen.asked).toEqual([[1, 3, 2], [1]])
  })

  test('go over up to 64 at once; the list of one journal is never parted', async () => {
    const { seen, sealer } = await crowded()
    const lines = [70, 40, 24, 1, 64, 63, 1, 1].map((count, at) => linesOf(`${at}`, count))
    expect(await sealedBy(sealer, lines)).toEqual(lines.map(({ sealed }) => sealed))
    expect(seen.asked).toEqual([[70], [40, 24], [1], [64], [63, 1], [1]])
  })

  test.each(['none', 'breaks'] as const)(
    'are signed here when the thread answers %s, and it is asked no more',
    async (how) => {
      const { answer, sealer } = await crowded()
      expect(crowd(sealer, 5, 1)).toEqual([true])
      answer(how)
      const lines = [linesOf('a', 2), linesOf('b', 1)]
      expect(await sealedBy(sealer, lines)).toEqual(lines.map(({ sealed }) => sealed))
      expect(crowd(sealer, 5, 1)).toEqual([false])
    },
  )

  test('are signed here without a thread, and the journal whose lines cannot be signed is told', async () => {
    let signed = 0
    const tired: SigningKey = {
      ...key,
      sign: (message) => {
        signed += 1
        if (signed === 3) throw new Error('the key is tired')
        return key.sign(message)
      },
    }
    const { sealer } = threadOnCall()
    const using = sealer(tired)
    const lines = [linesOf('a', 2), linesOf('b', 1), linesOf('c', 1)]
    const settled = await Promise.allSettled(lines.map((line) => sealedBy(using, [line])))
    expect(settled).toEqual([
      { status: 'fulfilled', value: [lines[0]?.sealed] },
      { status: 'rejected', reason: new Error('the key is tired') },
      { status: 'fulfilled', value: [lines[2]?.sealed] },
    ])
  })
})

describe('turns', () => {
  test('begin anew with every crowd, and end when nobody waits', async () => {
    const { seen, sealer } = threadOnCall()
    const using = sealer()
    for (let round = 0; round < 3; round += 1) {
      const went: number[] = []
      for (let index = 0; index < 16; index += 1) using.begin()
      for (let index = 0; index < 9; index += 1) using.end(() => void went.push(index))
      expect(went).toHaveLength(8)
      await clock.yield()
      expect(went).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
      for (let index = 0; index < 7; index += 1) using.end(nothing)
      for (let turn = 0; turn < 5; turn += 1) await clock.yield()
    }
    const yields = seen.yields
    for (let turn = 0; turn < 5; turn += 1) await clock.yield()
    expect(seen.yields).toBe(yields)
  })

  test.each([
    [13, 13],
    [14, 8],
  ])('are not needed below five, those who wait counted: of %d journals %d go on at once', async (all, atOnce) => {
    const { sealer } = threadOnCall()
    const using = sealer()
    const went: number[] = []
    for (let index = 0; index < all; index += 1) using.begin()
    for (let index = 0; index < all; index += 1) using.end(() => void went.push(index))
    expect(went).toHaveLength(atOnce)
    await clock.yield()
    expect(went).toEqual(Array.from({ length: all }, (_, index) => index))
  })
})

describe('the sealer of a key', () => {
  const threads = { spare: 0 }
  test('is one for all of its journals that are open, and another one afterwards', async () => {
    const world = { clock, threads }
    const first = openSealer(world, key)
    expect(openSealer({ clock, threads }, key)).toBe(first)
    await first.close()
    expect(openSealer(world, key)).toBe(first)
    await first.close()
    await first.close()
    const second = openSealer(world, key)
    expect(second).not.toBe(first)
    await second.close()
  })

  test('is not shared with another key, nor with the threads of another World', async () => {
    const one = openSealer({ clock, threads }, key)
    const others = [
      openSealer({ clock, threads }, signingKeyOf(new Uint8Array(32).fill(8))),
      openSealer({ clock, threads: { spare: 0 } }, key),
    ]
    expect(others).not.toContain(one)
    for (const sealer of [one, ...others]) await sealer.close()
  })
})
