/** How a file is read and judged, a step at a time: blocks, threads, turns for others, and the two looks at the file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../src/events/index.ts'
import { readEvidence, verify, verifyPrefixBytes, verifyRun, visitRunPrefix } from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { type FileFacts, nodeWorld, type SideThread, type World } from '../../src/world/index.ts'
import { faultyWorld, gate } from '../support/faulty-world.ts'
import { madeKey, makeLines, OUTPUT, sha256, signedLine } from '../support/journal-maker.ts'
import { scratch } from '../support/scratch.ts'
import { otherRunId, runId } from './entries.ts'

const world = nodeWorld()
const disk = scratch()
const key = madeKey(1)
const publicKey = parsePublicKey(key.publicHex)
const long = makeLines({ key, events: Array.from({ length: 400 }, (_, at) => OUTPUT(`${at} xxx`)) })
const bytes = Buffer.concat(long)
const here = { threads: 1 }

/** What it would have checked is checked here. */
const neverUp: SideThread = {
  ready: Promise.resolve(false),
  ask: () => Promise.resolve(null),
  stop: () => Promise.resolve(),
}

function file(content: Uint8Array): string {
  const path = disk.path('journal.jsonl')
  writeFileSync(path, content)
  return path
}

const refused = (found: string) => ({
  code: 'EVIDENCE_INVALID',
  message: expect.stringContaining(`Cannot verify the journal: ${found}`),
})

describe('a journal is read in blocks', () => {
  async function endsOf(content: Buffer): Promise<readonly (readonly number[])[]> {
    const told: number[][] = []
    const progress = (done: number, all: number): void => void told.push([done, all])
    await verifyPrefixBytes(world, content, publicKey, runId, { ...here, progress })
    return told
  }
  const bytesOf = (lines: readonly Buffer[]): number => Buffer.concat(lines).length

  test('of 128 records, and tells after each how far it is', async () => {
    const ends = [128, 256, 384, 400].map((count) => [bytesOf(long.slice(0, count)), bytes.length])
    expect(await endsOf(bytes)).toEqual(ends)
  })

  test('that are over once they hold 512 KiB', async () => {
    const perLine = 128 * 1024
    const empty = makeLines({ key, events: [OUTPUT('')] })[0] as Buffer
    const events = Array.from({ length: 9 }, () => OUTPUT('x'.repeat(perLine - empty.length)))
    const lines = makeLines({ key, events })
    expect(new Set(lines.map(({ length }) => length))).toEqual(new Set([perLine]))
    expect(await endsOf(Buffer.concat(lines))).toEqual([4, 8, 9].map((count) => [count * perLine, 9 * perLine]))
  })

  test('and what was proven of each is shown at once', async () => {
    const shown: number[] = []
    const visit = (entries: readonly Entry[]): void => void shown.push(entries.length)
    await visitRunPrefix(world, file(bytes), publicKey, runId, visit, here)
    expect(shown.filter((count) => count > 0)).toEqual([128, 128, 128, 16])
  })

  test('and others have their turn before each 32 checks, behind each block, and one for each MiB of the hash', async () => {
    const turns: string[] = []
    let isOver = false
    const yielding: World = {
      ...world,
      threads: { spare: 0 },
      clock: {
        ...world.clock,
        yield: async () => {
          turns.push('begun')
          await world.clock.yield()
          turns.push(isOver ? 'late' : 'over')
        },
      },
    }
    const mebibyte = Buffer.alloc(1024 * 1024, 'x')
    for (const [records, tail, count] of [
      [1, 0, 3],
      [32, 0, 3],
      [160, 0, 8],
      [1, 1024 * 1024, 4],
    ] as const) {
      turns.length = 0
      isOver = false
      const content = Buffer.concat([...long.slice(0, records), mebibyte.subarray(0, tail)])
      const proven = await verifyPrefixBytes(yielding, content, publicKey, runId, here)
      isOver = true
      expect(proven.snapshot_sha256).toBe(sha256(content))
      expect(turns, `${records} records`).toEqual(Array.from({ length: count }, () => ['begun', 'over']).flat())
    }
  })
})

test.each([0, 3, 127, 128, 203])('a line that is no record is told by its number: %i', async (at) => {
  const lines = [...long]
  lines[at] = Buffer.from('{}\n')
  await expect(verify(world, file(Buffer.concat(lines)), publicKey, here)).rejects.toMatchObject({
    message: expect.stringContaining(`record ${at} of the journal: it is not one payload`),
  })
})

test('where threads are still checking what was read, nothing of it is shown', async () => {
  const lines = makeLines({ key, events: Array.from({ length: 1500 }, (_, at) => OUTPUT(`${at} xxx`)) })
  const out = new Set<number>()
  let asked = 0
  const ask = async <T>(question: object): Promise<T> => {
    const { payloads, ends } = question as { payloads: Uint8Array; ends: readonly number[] }
    const first = Number(/"sequence":(\d+)/.exec(Buffer.from(payloads).toString())?.[1])
    out.add(first)
    asked += 1
    const turns = 10 * asked
    for (let turn = 0; turn < turns; turn += 1) await world.clock.yield()
    out.delete(first)
    return ends.map(() => true) as T
  }
  const slow: SideThread = { ready: Promise.resolve(true), ask, stop: async () => undefined }
  const on: World = { ...world, threads: { spare: 1, start: () => slow } }
  const shown: number[] = []
  let heldBack = 0
  const visit = (entries: readonly Entry[]): void => {
    shown.push(...entries.map(({ sequence }) => sequence))
    for (const first of out) {
      expect(shown.at(-1)).toBeLessThan(first)
      heldBack += 1
    }
  }
  await visitRunPrefix(on, file(Buffer.concat(lines)), publicKey, runId, visit)
  expect([asked > 1, heldBack > 0]).toEqual([true, true])
  expect(shown).toEqual(lines.map((_, at) => at))
})

describe('of a record that is bad in two ways', () => {
  test.each([
    ['its shape', (line: string) => line.replace('"version":2', '"version":3')],
    ['its place', (line: string) => line.replace('"sequence":200', '"sequence":201')],
  ])('its signature is told, and not %s', async (_what, change) => {
    const lines = long.map((line, at) => (at === 200 ? Buffer.from(change(String(line))) : line))
    await expect(verify(world, file(Buffer.concat(lines)), publicKey, here)).rejects.toMatchObject({
      message: expect.stringContaining('record 200 of the journal: its signature does not fit'),
    })
  })

  test('a signature that comes behind a bad shape is not told', async () => {
    const lines = [...long]
    lines[200] = signedLine('{"wrong":"shape"}', key)
    lines[201] = Buffer.from(String(lines[201]).replace('xxx', 'yyy'))
    const refusal = verify(world, file(Buffer.concat(lines)), publicKey, here)
    await expect(refusal).rejects.toMatchObject({ facts: { record: 200 } })
    await expect(refusal).rejects.not.toMatchObject({ message: expect.stringContaining('signature') })
  })
})

test('threads are started for the records that there seem to be, 400 for each and for this one', async () => {
  for (const [records, started] of [
    [780, 0],
    [820, 1],
    [1220, 2],
  ] as const) {
    let count = 0
    const start = (): SideThread => {
      count += 1
      return neverUp
    }
    const events = Array.from({ length: records }, () => OUTPUT('the same'))
    const on: World = { ...world, threads: { spare: 7, start } }
    await verify(on, file(Buffer.concat(makeLines({ key, events }))), publicKey)
    expect(count, `${records} records`).toBe(started)
  }
})

describe('what is refused is told', () => {
  test.each<[string, Buffer, string]>([
    ['an empty file', Buffer.alloc(0), 'it holds no complete record'],
    ['one byte behind the last line', Buffer.concat([bytes, Buffer.from('x')]), 'its last line is not finished'],
    [
      'a last line that is not finished',
      Buffer.concat([bytes, Buffer.from('12345')]),
      'its last line is not finished (5 bytes)',
    ],
  ])('for %s', async (_what, content, found) => {
    await expect(verify(world, file(content), publicKey, here)).rejects.toMatchObject(refused(found))
  })

  test('for a whole journal of another run', async () => {
    await expect(verifyRun(world, file(bytes), publicKey, otherRunId, here)).rejects.toMatchObject(
      refused('record 0 belongs to another run'),
    )
  })

  test('for a folder and a socket', async () => {
    await expect(verify(world, disk.folder(), publicKey)).rejects.toMatchObject(refused('it is a folder'))
    const folder = mkdtempSync(join(tmpdir(), 's-')) // a socket's name has to be short
    const server = createServer()
    try {
      const path = join(folder, 's')
      await new Promise<void>((resolve) => server.listen(path, resolve))
      await expect(verify(world, path, publicKey)).rejects.toMatchObject({
        ...refused('its name leads to no regular file'),
        cause: expect.objectContaining({ facts: expect.objectContaining({ errno: 'ENXIO' }) }),
      })
    } finally {
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true })
    }
  })

  test('for more than 64 MiB, and a file of that length is read', async () => {
    const most = 64 * 1024 * 1024
    const sized = (size: number): World => withFacts((facts) => ({ ...facts, size }))
    await expect(readEvidence(sized(most + 1), file(bytes))).rejects.toMatchObject(
      refused(`it holds ${most + 1} bytes and ${most} are allowed`),
    )
    await expect(readEvidence(sized(most), file(bytes))).rejects.toMatchObject({ code: 'EVIDENCE_CHANGING' })
    const full = new Uint8Array(most + 1).fill(0x20)
    await expect(verifyPrefixBytes(world, full, publicKey, runId)).rejects.toMatchObject(
      refused(`it holds ${most + 1}`),
    )
    await expect(verifyPrefixBytes(world, full.subarray(1), publicKey, runId)).rejects.toMatchObject(
      refused('its last line is longer'),
    )
  })

  test('only for what the file is: a disk that does not let us open it is no evidence', async () => {
    for (const errno of ['EACCES', 'EIO', 'EMFILE']) {
      const faulty = faultyWorld(world, [{ on: 'open', errno }])
      await expect(verify(faulty, file(bytes), publicKey)).rejects.toMatchObject({ facts: { errno } })
    }
  })
})

/** Each look at a file is changed, and what is read of it; `look` counts from 1. */
function withFacts(change: (facts: FileFacts, look: number) => FileFacts, unread = 0): World {
  return {
    ...world,
    files: {
      ...world.files,
      open: async (...args: Parameters<World['files']['open']>) => {
        const opened = await world.files.open(...args)
        let look = 0
        return (
          opened && {
            facts: async () => {
              look += 1
              return change(await opened.facts(), look)
            },
            read: (position: number, length: number) => opened.read(position, length - unread),
            [Symbol.asyncDispose]: () => opened.close(),
          }
        )
      },
    } as World['files'],
  }
}

describe('a file has changed', () => {
  const changes: readonly (readonly [string, (facts: FileFacts) => Partial<FileFacts>])[] = [
    ['its length', ({ size }) => ({ size: size + 1 })],
    ['the time of its content', ({ modifiedNs }) => ({ modifiedNs: modifiedNs + 1n })],
    ['the time of its description', ({ changedNs }) => ({ changedNs: changedNs + 1n })],
  ]
  const changing = { code: 'EVIDENCE_CHANGING' }

  test.each(changes)('when nothing but %s is another one at the second look', async (_what, change) => {
    const on = withFacts((facts, look) => (look === 2 ? { ...facts, ...change(facts) } : facts))
    await expect(verifyRun(on, file(bytes), publicKey, runId)).rejects.toMatchObject(changing)
  })

  test.each(changes)('when it is refused and nothing but %s is another one at the third', async (_what, change) => {
    const on = withFacts((facts, look) => (look === 3 ? { ...facts, ...change(facts) } : facts))
    await expect(verifyRun(on, file(Buffer.from('x\n')), publicKey, runId)).rejects.toMatchObject(changing)
    expect(await verifyRun(on, file(bytes), publicKey, runId)).toHaveLength(400)
  })

  test('when less of it can be read than it holds, whatever the looks say', async () => {
    const lines = Buffer.concat(long.slice(0, 2))
    const on = withFacts((facts) => facts, long[1]?.length)
    await expect(verifyRun(on, file(lines), publicKey, runId)).rejects.toMatchObject(changing)
  })

  test('and a fault that is no refusal stays what it is', async () => {
    const on = withFacts((facts, look) => (look === 3 ? { ...facts, size: 0 } : facts))
    const visit = (): never => {
      throw new Error('the visitor has enough')
    }
    await expect(visitRunPrefix(on, file(bytes), publicKey, runId, visit)).rejects.toThrow('the visitor has enough')
  })

  test('and it is closed before anybody is told', async () => {
    const closing = gate()
    const faulty = faultyWorld(world, [{ on: 'close', gate: closing }])
    let isTold = false
    const told = verifyRun(faulty, file(bytes), publicKey, runId).then(() => {
      isTold = true
    })
    await closing.reached
    await world.clock.yield()
    expect(isTold).toBe(false)
    closing.open()
    await told
  })
})
