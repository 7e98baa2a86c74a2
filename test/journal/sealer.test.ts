import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import type { RunId } from '../../src/core/index.ts'
import { createJournal, type Journal, verifyRun } from '../../src/journal/index.ts'
import { openSealer } from '../../src/journal/sealer.ts'
import { parsePublicKey, signingKeyOf } from '../../src/keys/index.ts'
import { nodeWorld, type SideThread, type World } from '../../src/world/index.ts'
import { startSideThread } from '../../src/world/side-thread.ts'
import { scratch } from '../support/scratch.ts'
import { entry, output, principal, receipt, started } from './entries.ts'

const disk = scratch()
const real = nodeWorld()
const MANY = 24

/** Its threads are watched, and may be told to answer no more after so many questions. */
function watched(questionsMax = Number.POSITIVE_INFINITY, seedByte = 7) {
  const seen = { started: 0, asked: 0, stopped: 0, up: Promise.resolve(false) }
  const start = (work: string, data: object): SideThread => {
    seen.started += 1
    const thread = startSideThread(work, data)
    seen.up = thread.ready
    return {
      ready: thread.ready,
      ask: async <T>(question: object, moved?: readonly ArrayBuffer[]) => {
        seen.asked += 1
        const answer = await thread.ask<T>(question, moved)
        return seen.asked > questionsMax ? null : answer
      },
      stop: async () => {
        seen.stopped += 1
        await thread.stop()
      },
    }
  }
  const world: World = {
    ...real,
    random: { bytes: (count) => new Uint8Array(count).fill(seedByte) }, // the same key for both sides
    threads: { spare: 1, start },
  }
  return { world, seen }
}

const runIdOf = (index: number): RunId => `11111111-1111-4111-8111-${String(index).padStart(12, '0')}` as RunId
const opened: Journal[] = []
afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close()
})

async function many(world: World): Promise<readonly Journal[]> {
  const directory = disk.folder()
  for (let index = 0; index < MANY; index += 1)
    opened.push(await createJournal(world, { directory, principal, runId: runIdOf(index) }))
  return [...opened]
}

/** All journals at once, list after list; the first lists until the thread is up, where one was started. */
async function fill(journals: readonly Journal[], up: () => Promise<unknown>): Promise<void> {
  const lists = async (count: number): Promise<void> => {
    await Promise.all(
      journals.map(async (journal, index) => {
        for (let list = 0; list < count; list += 1)
          await journal.append([entry(started), entry(output(`ä ${index}`)), entry(receipt(false))])
      }),
    )
  }
  await lists(6)
  await up()
  await lists(6)
}

const textsOf = (journals: readonly Journal[]): readonly string[] =>
  journals.map(({ audit }) => readFileSync(audit.path, 'utf8'))

async function verified(journals: readonly Journal[]): Promise<readonly number[]> {
  const counts: number[] = []
  for (const { audit } of journals)
    counts.push((await verifyRun(real, audit.path, parsePublicKey(audit.public_key), audit.run_id)).length)
  return counts
}

test('many journals at once are signed in a thread, and hold the very bytes that they hold without one', async () => {
  const { world, seen } = watched()
  const journals = await many(world)
  await fill(journals, () => seen.up)
  expect(seen.started).toBe(1)
  expect(seen.asked).toBeGreaterThan(0)
  const texts = textsOf(journals)
  expect(await verified(journals)).toEqual(Array(MANY).fill(36))
  for (const journal of opened.splice(0)) await journal.close()
  expect(seen.stopped).toBe(1) // and with it goes its hold on the key

  const alone = await many({ ...world, threads: { spare: 0 } })
  await fill(alone, () => Promise.resolve())
  expect(textsOf(alone)).toEqual(texts)
})

test('what a thread that died did not answer is signed here, and no list is lost', async () => {
  const { world, seen } = watched(2)
  const journals = await many(world)
  await fill(journals, () => seen.up)
  expect(seen.asked).toBeGreaterThan(2)
  expect(await verified(journals)).toEqual(Array(MANY).fill(36))
})

test('where the system gives no thread, all is signed here', async () => {
  const { world } = watched()
  let tried = 0
  const start = (): never => {
    tried += 1
    throw new Error('no thread')
  }
  const journals = await many({ ...world, threads: { spare: 1, start } })
  await fill(journals, () => Promise.resolve())
  expect(tried).toBe(1)
  expect(await verified(journals)).toEqual(Array(MANY).fill(36))
})

test('one journal at a time starts no thread, and neither do many where none is to spare', async () => {
  const { world, seen } = watched()
  const directory = disk.folder()
  for (let index = 0; index < 3; index += 1) {
    await using journal = await createJournal(world, { directory, principal, runId: runIdOf(index) })
    for (let list = 0; list < 40; list += 1) await journal.append([entry(started)])
  }
  const journals = await many({ ...world, threads: { ...world.threads, spare: 0 } })
  await fill(journals, () => Promise.resolve())
  expect(seen.started).toBe(0)
})

test('of many that may go on, eight do so in one turn, in the order in which they came', async () => {
  const key = signingKeyOf(new Uint8Array(32).fill(9))
  const sealer = openSealer({ clock: real.clock, threads: { spare: 0 } }, key)
  const went: number[] = []
  for (let index = 0; index < 40; index += 1) sealer.begin()
  for (let index = 0; index < 30; index += 1) sealer.end(() => void went.push(index))
  expect(went).toHaveLength(8)
  await real.clock.yield()
  expect(went).toHaveLength(16)
  await real.clock.yield()
  await real.clock.yield()
  expect(went).toEqual(Array.from({ length: 30 }, (_, index) => index))
  await sealer.close()
})

test('a few never wait for a turn', async () => {
  const key = signingKeyOf(new Uint8Array(32).fill(9))
  const sealer = openSealer({ clock: real.clock, threads: { spare: 0 } }, key)
  let went = 0
  for (let round = 0; round < 40; round += 1) {
    for (let index = 0; index < 3; index += 1) sealer.begin()
    for (let index = 0; index < 3; index += 1)
      sealer.end(() => {
        went += 1
      })
  }
  expect(went).toBe(120)
  await sealer.close()
})
