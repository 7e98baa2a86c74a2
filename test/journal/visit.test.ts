import { appendFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/events/index.ts'
import { firstEntry, verifyRun, visitRunPrefix } from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { AGENT, madeKey, makeLines, OUTPUT, signedLine, TERMINATED } from '../support/journal-maker.ts'
import { scratch } from '../support/scratch.ts'
import { otherRunId, runId } from './entries.ts'

const world = nodeWorld()
const disk = scratch()
const key = madeKey(1)
const publicKey = parsePublicKey(key.publicHex)
const invalid = { code: 'EVIDENCE_INVALID' }
/** Several blocks of records, and large enough that other threads check signatures. */
const LONG = [...Array.from({ length: 200 }, (_, at) => OUTPUT(`${at} ${'x'.repeat(500)}`)), TERMINATED]

function file(lines: readonly Buffer[]): string {
  const path = disk.path('journal.jsonl')
  writeFileSync(path, Buffer.concat(lines))
  return path
}

describe('visiting a journal', () => {
  test.each([1, 3])('shows every entry once and in order, with %d threads', async (threads) => {
    const path = file(makeLines({ key, events: LONG }))
    const seen: Entry[] = []
    const visited = await visitRunPrefix(world, path, publicKey, runId, (entries) => void seen.push(...entries), {
      threads,
    })
    expect(seen).toEqual(await verifyRun(world, path, publicKey, runId))
    expect(visited).toEqual({ agent_id: AGENT, unverified_tail_bytes: 0 })
  })

  test('waits for the visitor, and ends with what it throws', async () => {
    const path = file(makeLines({ key, events: LONG }))
    let seen = 0
    const visit = async (entries: readonly Entry[]): Promise<void> => {
      await world.clock.yield()
      seen += entries.length
      if (seen > 40) throw new Error('enough')
    }
    await expect(visitRunPrefix(world, path, publicKey, runId, visit)).rejects.toThrow('enough')
    expect(seen).toBeLessThan(LONG.length)
  })

  test.each([1, 2, 3, 8])('shows what is proven before it says what is not, with %d threads', async (threads) => {
    const events = Array.from({ length: 2000 }, (_, at) => OUTPUT(`${at}`))
    const lines = makeLines({ key, events })
    lines[900] = makeLines({ key: madeKey(2), events })[900] as Buffer
    const path = file(lines)
    const seen: number[] = []
    const visit = (entries: readonly Entry[]): void => void seen.push(...entries.map(({ sequence }) => sequence))
    await expect(visitRunPrefix(world, path, publicKey, runId, visit, { threads })).rejects.toMatchObject({
      facts: { record: 900 },
    })
    expect(seen).toEqual(Array.from({ length: 900 }, (_, at) => at))
    const leave = (entries: readonly Entry[]): void => {
      if (entries.some(({ sequence }) => sequence === 600)) throw new Error('enough')
    }
    await expect(visitRunPrefix(world, path, publicKey, runId, leave, { threads })).rejects.toThrow('enough')
  })

  test.each([1, 3])('shows no record whose signature does not fit, with %d threads', async (threads) => {
    const lines = makeLines({ key, events: LONG })
    const other = makeLines({ key: madeKey(2), events: LONG })
    lines[100] = other[100] as Buffer
    let last = -1
    const visit = (entries: readonly Entry[]): void => {
      last = entries.at(-1)?.sequence ?? last
    }
    await expect(visitRunPrefix(world, file(lines), publicKey, runId, visit, { threads })).rejects.toMatchObject(
      invalid,
    )
    expect(last).toBeLessThan(100)
  })

  test('counts an unfinished line, and takes a whole journal of the first version', async () => {
    const path = file(makeLines({ key, events: [OUTPUT('a')] }))
    appendFileSync(path, '{"pay')
    const seen: string[] = []
    const visit = (entries: readonly Entry[]): void => void seen.push(...entries.map(({ event }) => event.kind))
    expect(await visitRunPrefix(world, path, publicKey, runId, visit)).toMatchObject({ unverified_tail_bytes: 5 })
    const old = file(makeLines({ key, version: 1, events: [OUTPUT('b'), TERMINATED] }))
    await visitRunPrefix(world, old, publicKey, null, visit)
    expect(seen).toEqual(['ImprovementOutput', 'ImprovementOutput', 'Terminated'])
    await expect(visitRunPrefix(world, path, publicKey, null, visit)).rejects.toMatchObject(invalid)
  })
})

describe('the first entry of a journal', () => {
  const lines = makeLines({ key, events: [OUTPUT('first'), TERMINATED] })

  test('is proven by its own line, whatever stands behind it', async () => {
    const path = file([lines[0] as Buffer, Buffer.from('nonsense\n')])
    expect(await firstEntry(world, path, publicKey, runId)).toMatchObject({ sequence: 0, agent_id: AGENT })
    expect(await firstEntry(world, file([Buffer.from('{"pay')]), publicKey, runId)).toBeNull()
  })

  test.each([
    ['is not the first of its chain', lines[1] as Buffer],
    ['was signed by another key', makeLines({ key: madeKey(2), events: [OUTPUT('first')] })[0] as Buffer],
    ['is no record', signedLine('{"entry":1}', key)],
  ])('is refused when it %s', async (_what, line) => {
    await expect(firstEntry(world, file([line]), publicKey, runId)).rejects.toMatchObject(invalid)
  })

  test('is refused when it is of another run, no file, or not there', async () => {
    await expect(firstEntry(world, file(lines), publicKey, otherRunId)).rejects.toMatchObject(invalid)
    await expect(firstEntry(world, disk.folder(), publicKey, runId)).rejects.toMatchObject(invalid)
    await expect(firstEntry(world, disk.path('none'), publicKey, runId)).rejects.toMatchObject(invalid)
  })
})
