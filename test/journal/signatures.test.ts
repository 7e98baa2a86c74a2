/** How the signature checks of one verification are spread and told, each step by itself. Whole files are in verify.test.ts. */
import { describe, expect, test } from 'vitest'
import { type SignedPayload, splitRecord } from '../../src/journal/record.ts'
import { Signatures } from '../../src/journal/signatures.ts'
import { type PublicKey, parsePublicKey } from '../../src/keys/index.ts'
import { nodeWorld, type SideThread, type World } from '../../src/world/index.ts'
import { madeKey, makeLines, OUTPUT } from '../support/journal-maker.ts'

const real = nodeWorld()
const key = madeKey(1)
const publicKey = parsePublicKey(key.publicHex)
const fit = makeLines({ key, events: Array.from({ length: 80 }, (_, at) => OUTPUT(`${at}`)) }).map((line, at) =>
  splitRecord(line, at),
)
/** The same records, of which some carry the signature of another. */
const spoilt = (...places: number[]): readonly SignedPayload[] =>
  fit.map((record, at) =>
    places.includes(at) ? { ...record, signature: fit[at === 0 ? 1 : 0]?.signature } : record,
  ) as readonly SignedPayload[]

interface Question {
  readonly ends: readonly number[]
}

/** Its threads say that every signature fits but those of these places in a run, once they are let. */
function helped(spare: number, ...unfit: number[]) {
  const seen = { started: 0, stopped: 0, asked: 0 }
  let answer = (): void => undefined
  const letGo = new Promise<void>((resolve) => {
    answer = resolve
  })
  const start = (): SideThread => {
    seen.started += 1
    return {
      ready: Promise.resolve(true),
      ask: async <T>(question: object) => {
        seen.asked += 1
        await letGo
        return (question as Question).ends.map((_, at) => !unfit.includes(at)) as T
      },
      stop: async () => {
        seen.stopped += 1
      },
    }
  }
  const world: World = {
    ...real,
    threads: { spare, start },
  }
  return { world, seen, answer: () => answer() }
}

/** A key that every signature fits, and how often it was asked. */
function counted(): { readonly publicKey: PublicKey; looked(): number } {
  let looked = 0
  const verifies = (): boolean => {
    looked += 1
    return true
  }
  return { publicKey: { hex: publicKey.hex, verifies }, looked: () => looked }
}

const bad = (record: number) => ({ code: 'EVIDENCE_INVALID', facts: { record } })

describe('signature checks on this thread', () => {
  const here = () => new Signatures(helped(0).world, publicKey)

  test('are made when they are asked to be settled, and name the first record that does not fit', async () => {
    using signatures = here()
    signatures.ask(spoilt(7, 9), 100)
    await expect(signatures.settle(180)).rejects.toMatchObject(bad(107))
  })

  test('look at no record behind the end, and not at all at a run that begins there', async () => {
    using signatures = here()
    signatures.ask(spoilt(40).slice(0, 50), 0)
    signatures.ask(spoilt(0), 50)
    await signatures.settle(40)
    await signatures.settle(50)
    await expect(signatures.settle(51)).rejects.toMatchObject(bad(50))
    signatures.ask(spoilt(20), 50)
    await signatures.settle(70)
  })

  test('find the last record before the end', async () => {
    using signatures = here()
    signatures.ask(spoilt(40), 0)
    await expect(signatures.settle(41)).rejects.toMatchObject(bad(40))
  })

  test('of several runs are told in their order', async () => {
    using signatures = here()
    signatures.ask(fit, 0)
    signatures.ask(spoilt(3), 80)
    signatures.ask(spoilt(1), 160)
    await expect(signatures.settle(240)).rejects.toMatchObject(bad(83))
  })

  test('let others go first before every 32, and wait for them', async () => {
    const { publicKey: counting, looked } = counted()
    let goOn = (): void => undefined
    const turn = (): Promise<void> =>
      new Promise((resolve) => {
        goOn = resolve
      })
    using signatures = new Signatures({ ...helped(0).world, clock: { ...real.clock, yield: turn } }, counting)
    signatures.ask(fit, 0)
    const settled = signatures.settle(65)
    for (const expected of [0, 32, 64]) {
      await real.clock.yield()
      expect(looked()).toBe(expected)
      goOn()
    }
    await settled
    expect(looked()).toBe(65)
  })

  test('are made when it goes on behind a run, and not again when that is settled', async () => {
    const { publicKey: counting, looked } = counted()
    using signatures = new Signatures(helped(0).world, counting)
    await signatures.advance()
    expect(signatures.settled).toBe(0)
    signatures.ask(fit, 0)
    await signatures.advance()
    await signatures.settle(80)
    expect([looked(), signatures.settled]).toEqual([80, 80])
  })

  test('say how far they came when one does not fit', async () => {
    using signatures = here()
    signatures.ask(spoilt(5), 80)
    await expect(signatures.advance()).rejects.toMatchObject(bad(85))
    expect(signatures.settled).toBe(85)
  })

  test('of no records at all are none', async () => {
    using signatures = here()
    signatures.ask([], 0)
    await signatures.advance()
    await signatures.settle(1)
    expect(signatures.settled).toBe(0)
  })
})

describe('threads beside this one', () => {
  test('are started where 400 records are left for each and for this one', () => {
    for (const [records, started] of [
      [0, 0],
      [400, 0],
      [799, 0],
      [800, 1],
      [1199, 1],
      [1200, 2],
      [100_000, 3],
    ] as const) {
      const { world, seen } = helped(3)
      using signatures = new Signatures(world, publicKey)
      signatures.startThreadsFor(records)
      expect(seen.started, `${records} records`).toBe(started)
    }
  })

  test('are as many as the machine can spare, or one less than are asked for, and seven at most', () => {
    for (const [spare, asked, started] of [
      [0, undefined, 0],
      [1, undefined, 1],
      [20, undefined, 7],
      [3, 1, 0],
      [0, 3, 2],
      [20, 20, 7],
    ] as const) {
      const { world, seen } = helped(spare)
      using signatures = new Signatures(world, publicKey, asked)
      signatures.startThreadsFor(100_000)
      expect(seen.started, `spare ${spare}, asked for ${asked}`).toBe(started)
    }
  })

  test('are started once, however much seems to be left later, and stopped with the verification', () => {
    const { world, seen } = helped(1)
    {
      using signatures = new Signatures(world, publicKey)
      signatures.startThreadsFor(1000)
      signatures.startThreadsFor(100_000)
      expect(seen).toMatchObject({ started: 1, stopped: 0 })
    }
    expect(seen.stopped).toBe(1)
  })

  test('are given runs while they have room, and this one checks the others and waits for nobody', async () => {
    const { world, seen, answer } = helped(1)
    const { publicKey: counting, looked } = counted()
    using signatures = new Signatures(world, counting)
    signatures.startThreadsFor(1000)
    await real.clock.yield() // now they are up
    for (let run = 0; run < 5; run += 1) {
      signatures.ask(fit, run * 80)
      await signatures.advance()
      expect(signatures.settled).toBe(0)
    }
    expect([seen.asked, looked()]).toEqual([2, 3 * 80])
    answer()
    await signatures.settle(400)
    await signatures.advance()
    expect([seen.asked, looked(), signatures.settled]).toEqual([2, 3 * 80, 400])
  })

  test.each([
    [1, 8],
    [2, 16],
  ])('are waited for where there are more runs than kept: %d beside this one, %d runs', async (spare, kept) => {
    const { world, answer } = helped(spare)
    using signatures = new Signatures(world, publicKey)
    signatures.startThreadsFor(100_000)
    await real.clock.yield()
    for (let run = 0; run < kept; run += 1) {
      signatures.ask(fit, run * 80)
      await signatures.advance()
      expect(signatures.settled).toBe(0)
    }
    signatures.ask(fit, kept * 80)
    let isOver = false
    const advanced = signatures.advance().then(() => {
      isOver = true
    })
    for (let turn = 0; turn < 10; turn += 1) await real.clock.yield()
    expect(isOver).toBe(false)
    answer()
    await advanced
    expect(signatures.settled).toBe((kept + 1) * 80)
  })

  test('and this one are told in the order of the records: what is bad here waits for what they say', async () => {
    const { world, answer } = helped(1, 70)
    using signatures = new Signatures(world, publicKey)
    signatures.startThreadsFor(1000)
    await real.clock.yield()
    signatures.ask(fit, 0)
    signatures.ask(fit, 80)
    signatures.ask(spoilt(5), 160)
    await signatures.advance()
    expect(signatures.settled).toBe(0)
    answer()
    await expect(signatures.settle(240)).rejects.toMatchObject(bad(70))
  })

  test('are believed about the records before the end, in the order of the records', async () => {
    const { world, answer } = helped(1, 30, 31)
    using signatures = new Signatures(world, publicKey)
    signatures.startThreadsFor(1000)
    await real.clock.yield()
    answer()
    signatures.ask(fit, 0)
    await signatures.settle(30) // what comes behind is told by nobody yet
    signatures.ask(fit, 80)
    await expect(signatures.settle(111)).rejects.toMatchObject(bad(110))
    signatures.ask(fit, 160)
    await expect(signatures.settle(240)).rejects.toMatchObject(bad(190))
  })

  test('that answer nobody are told by who settles, and by nobody else', async () => {
    const lost = new Error('lost')
    const start = (): SideThread => ({
      ready: Promise.resolve(true),
      ask: () => Promise.reject(lost),
      stop: () => Promise.resolve(),
    })
    using signatures = new Signatures({ ...real, threads: { spare: 1, start } }, publicKey)
    signatures.startThreadsFor(1000)
    await real.clock.yield()
    signatures.ask(fit, 0)
    for (let turn = 0; turn < 10; turn += 1) await real.clock.yield() // an unhandled rejection would end the process
    await expect(signatures.settle(80)).rejects.toBe(lost)
  })

  test('take no part before they are up', async () => {
    const { world, seen } = helped(1)
    using signatures = new Signatures(world, publicKey)
    signatures.startThreadsFor(1000)
    signatures.ask(spoilt(5), 0)
    await expect(signatures.settle(80)).rejects.toMatchObject(bad(5))
    expect(seen.asked).toBe(0)
  })
})
