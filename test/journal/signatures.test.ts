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

  test('let others go first after every 32, and wait for them', async () => {
    let looked = 0
    const counting: PublicKey = {
      hex: publicKey.hex,
      verifies: () => {
        looked += 1
        return true
      },
    }
    let goOn = (): void => undefined
    const turn = (): Promise<void> =>
      new Promise((resolve) => {
        goOn = resolve
      })
    using signatures = new Signatures({ ...helped(0).world, clock: { ...real.clock, yield: turn } }, counting)
    signatures.ask(fit, 0)
    const settled = signatures.settle(65)
    for (const expected of [32, 64, 65]) {
      await real.clock.yield()
      expect(looked).toBe(expected)
      goOn()
    }
    await settled
    signatures.ask(fit.slice(0, 32), 65)
    await signatures.settle(97)
    expect(looked).toBe(97)
  })

  test('are all due at once', () => {
    using signatures = here()
    expect(signatures.due).toBe(Number.POSITIVE_INFINITY)
    signatures.ask(fit, 0)
    expect(signatures.due).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('threads beside this one', () => {
  test('are started where 400 records are left for each of at least two', () => {
    for (const [records, started] of [
      [0, 0],
      [400, 0],
      [799, 0],
      [800, 2],
      [1199, 2],
      [1200, 3],
      [100_000, 4],
    ] as const) {
      const { world, seen } = helped(3)
      using signatures = new Signatures(world, publicKey)
      signatures.expect(records)
      expect(seen.started, `${records} records`).toBe(started)
    }
  })

  test('are as many as the machine can spare and one, as many as are asked for, and eight at most', () => {
    for (const [spare, asked, started] of [
      [0, undefined, 0],
      [1, undefined, 2],
      [20, undefined, 8],
      [3, 1, 0],
      [0, 3, 3],
      [20, 20, 8],
    ] as const) {
      const { world, seen } = helped(spare)
      using signatures = new Signatures(world, publicKey, asked)
      signatures.expect(100_000)
      expect(seen.started, `spare ${spare}, asked for ${asked}`).toBe(started)
    }
  })

  test('are started once, however much seems to be left later, and stopped with the verification', () => {
    const { world, seen } = helped(1)
    {
      using signatures = new Signatures(world, publicKey)
      signatures.expect(1000)
      signatures.expect(100_000)
      expect(seen).toMatchObject({ started: 2, stopped: 0 })
    }
    expect(seen.stopped).toBe(2)
  })

  test('are given runs while they have room, and records are due only once they could not take one run more', async () => {
    const { world, seen, answer } = helped(1)
    using signatures = new Signatures(world, publicKey)
    signatures.expect(1000)
    await real.clock.yield() // now they are up
    const due: number[] = []
    for (let run = 0; run < 5; run += 1) {
      signatures.ask(fit, run * 80)
      due.push(signatures.due)
    }
    expect(seen.asked).toBe(4)
    expect(due).toEqual([0, 0, 0, 80, 160])
    answer()
    await signatures.settle(400)
    expect(signatures.due).toBe(Number.POSITIVE_INFINITY)
  })

  test('are believed about the records before the end, in the order of the records', async () => {
    const { world, answer } = helped(1, 30, 31)
    using signatures = new Signatures(world, publicKey)
    signatures.expect(1000)
    await real.clock.yield()
    answer()
    signatures.ask(fit, 0)
    await signatures.settle(30) // what comes behind is told by nobody yet
    signatures.ask(fit, 80)
    await expect(signatures.settle(111)).rejects.toMatchObject(bad(110))
    signatures.ask(fit, 160)
    await expect(signatures.settle(240)).rejects.toMatchObject(bad(190))
  })

  test('take no part before they are up', async () => {
    const { world, seen } = helped(1)
    using signatures = new Signatures(world, publicKey)
    signatures.expect(1000)
    signatures.ask(spoilt(5), 0)
    await expect(signatures.settle(80)).rejects.toMatchObject(bad(5))
    expect(seen.asked).toBe(0)
  })
})
