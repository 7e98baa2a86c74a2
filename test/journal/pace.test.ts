import { describe, expect, test } from 'vitest'
import type { RunId } from '../../src/core/index.ts'
import { createJournal, type Journal, verifyRun } from '../../src/journal/index.ts'
import { Pace, paceOf } from '../../src/journal/pace.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { scratch } from '../support/scratch.ts'
import { entry, output, principal, receipt, started } from './entries.ts'

const disk = scratch()
const world = nodeWorld()

/** A pace, and how many turns of the event loop it asked for. */
function paced() {
  const seen = { yields: 0 }
  const clock = {
    yield: () => {
      seen.yields += 1
      return world.clock.yield()
    },
  }
  return { seen, pace: new Pace(clock) }
}

/** So many journals were at work, and so many of them come to their end at once. */
function comeToEnd(pace: Pace, all: number, ending = all): number[] {
  const went: number[] = []
  for (let index = 0; index < all; index += 1) pace.begin()
  for (let index = 0; index < ending; index += 1) pace.end(() => void went.push(index))
  return went
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index)

describe('of journals that are at work at once', () => {
  test('eight go on in one turn, in the order in which they came', async () => {
    const { pace } = paced()
    const went = comeToEnd(pace, 40, 30)
    expect(went).toEqual(upTo(8))
    await world.clock.yield()
    expect(went).toEqual(upTo(16))
    await world.clock.yield()
    await world.clock.yield()
    expect(went).toEqual(upTo(30))
  })

  test('turns begin anew with every crowd, and end when nobody waits', async () => {
    const { seen, pace } = paced()
    for (let round = 0; round < 3; round += 1) {
      const went = comeToEnd(pace, 16, 9)
      expect(went).toEqual(upTo(8))
      await world.clock.yield()
      expect(went).toEqual(upTo(9))
      for (let left = 0; left < 7; left += 1) pace.end(() => undefined)
      for (let turn = 0; turn < 5; turn += 1) await world.clock.yield()
    }
    const { yields } = seen
    expect(yields).toBeGreaterThan(0)
    for (let turn = 0; turn < 5; turn += 1) await world.clock.yield()
    expect(seen.yields).toBe(yields)
  })

  test.each([
    [13, 13],
    [14, 8],
  ])('fewer than five never wait, those who wait counted: of %d journals %d go on at once', async (all, atOnce) => {
    const went = comeToEnd(paced().pace, all)
    expect(went).toHaveLength(atOnce)
    await world.clock.yield()
    expect(went).toEqual(upTo(all))
  })

  test('a few ask for no turn, however often', () => {
    const { seen, pace } = paced()
    for (let round = 0; round < 40; round += 1) expect(comeToEnd(pace, 3)).toEqual(upTo(3))
    expect(seen.yields).toBe(0)
  })

  test('all that share a clock share a pace', () => {
    expect(paceOf(world.clock)).toBe(paceOf(world.clock))
    expect(paceOf({ ...world.clock })).not.toBe(paceOf(world.clock))
  })
})

test('many journals that are written at once each hold their own lists, in order, and verify', async () => {
  const directory = disk.folder()
  const journals: Journal[] = []
  for (let index = 0; index < 24; index += 1) {
    const runId = `11111111-1111-4111-8111-${String(index).padStart(12, '0')}` as RunId
    journals.push(await createJournal(world, { directory, principal, runId }))
  }
  await Promise.all(
    journals.map(async (journal, index) => {
      for (let list = 0; list < 6; list += 1)
        await journal.append([entry(started), entry(output(`ä ${index} ${list}`)), entry(receipt(false))])
    }),
  )
  for (const [index, { audit }] of journals.entries()) {
    const entries = await verifyRun(world, audit.path, parsePublicKey(audit.public_key), audit.run_id)
    const said = entries.flatMap(({ event }) => (event.kind === 'ImprovementOutput' ? [JSON.stringify(event)] : []))
    expect(entries).toHaveLength(18)
    expect(said.map((text) => /ä \d+ \d+/.exec(text)?.[0])).toEqual(upTo(6).map((list) => `ä ${index} ${list}`))
  }
  for (const journal of journals) await journal.close()
})
