import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isFault } from '../../src/core/index.ts'
import type { Entry } from '../../src/events/index.ts'
import {
  createJournal,
  readEvidence,
  type VerifyOptions,
  verify,
  verifyPrefixBytes,
  verifyRun,
  verifyRunPrefix,
  visitRunPrefix,
} from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { nodeWorld, type SideThread, type World } from '../../src/world/index.ts'
import { startSideThread } from '../../src/world/side-thread.ts'
import { faultyWorld, gate } from '../support/faulty-world.ts'
import { AGENT, madeKey, makeLines, OUTPUT, sha256, signedLine, TERMINATED } from '../support/journal-maker.ts'
import { scratch } from '../support/scratch.ts'
import { entry, otherRunId, output, principal, runId, started, terminated } from './entries.ts'

const world = nodeWorld()
const disk = scratch()
const key = madeKey(1)
const publicKey = parsePublicKey(key.publicHex)
const lines = makeLines({ key, events: [OUTPUT('first'), OUTPUT('second'), TERMINATED] })
const whole = Buffer.concat(lines)
const invalid = { code: 'EVIDENCE_INVALID' }
const changing = { code: 'EVIDENCE_CHANGING', hint: expect.stringContaining('try again') }

function file(bytes: Buffer = whole): string {
  const path = disk.path('journal.jsonl')
  writeFileSync(path, bytes)
  return path
}

describe('verification', () => {
  test('gives the entries as they were written', async () => {
    const entries = await verifyRun(world, file(), publicKey, runId)
    expect(entries.map(({ event }) => event.kind)).toEqual(['ImprovementOutput', 'ImprovementOutput', 'Terminated'])
    expect(entries[1]).toMatchObject({ sequence: 1, agent_id: AGENT, iteration: 1, event: output('second') })
  })

  test('of a prefix gives exact counts and the hash of every byte that was read [J6]', async () => {
    const fragment = Buffer.from('{"payload":{"entry"')
    const bytes = Buffer.concat([whole, fragment])
    const path = file(bytes)
    const proven = await verifyRunPrefix(world, path, publicKey, runId)
    expect(proven).toMatchObject({
      run_id: runId,
      agent_id: AGENT,
      snapshot_sha256: sha256(bytes),
      verified_bytes: whole.length,
      unverified_tail_bytes: fragment.length,
    })
    expect(proven.entries).toHaveLength(3)
    await expect(verifyRun(world, path, publicKey, runId)).rejects.toMatchObject(invalid)
    appendFileSync(path, '\n')
    await expect(verifyRun(world, path, publicKey, runId)).rejects.toMatchObject(invalid)
    await expect(verifyRunPrefix(world, path, publicKey, runId)).rejects.toMatchObject(invalid)
  })

  test('of a file cut at any byte trusts whole records and nothing more [J6]', async () => {
    const ends = lines.map((_, index) => Buffer.concat(lines.slice(0, index + 1)).length)
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const complete = ends.filter((end) => end <= cut)
      const proven = await verifyPrefixBytes(world, whole.subarray(0, cut), publicKey, runId).catch((error) => error)
      if (complete.length === 0) expect(proven).toMatchObject(invalid)
      else {
        expect(proven.entries.length).toBe(complete.length)
        expect(proven.unverified_tail_bytes).toBe(cut - (complete.at(-1) ?? 0))
      }
    }
  })

  test('of a prefix leaves out a write that has sectors which never reached the disk, and all behind it', async () => {
    const long = makeLines({ key, events: [OUTPUT('first'), OUTPUT('x'.repeat(2000)), OUTPUT('third'), TERMINATED] })
    const bytes = Buffer.concat(long)
    const first = (long[0] as Buffer).length
    for (const [from, to] of [
      [1024, 1536],
      [1024, 2048],
      [first, 512 * Math.ceil(first / 512)],
      [first, bytes.length],
    ] as const) {
      const path = file(Buffer.from(bytes).fill(0, from, to))
      const prefix = await verifyRunPrefix(world, path, publicKey, runId)
      expect(prefix).toMatchObject({ verified_bytes: first, unverified_tail_bytes: bytes.length - first })
      expect(prefix.entries).toHaveLength(1)
      await expect(verifyRun(world, path, publicKey, runId)).rejects.toMatchObject(invalid)
    }
  })

  test('of a prefix takes zeros for a hole only where a disk makes one', async () => {
    const long = makeLines({ key, events: [OUTPUT('first'), OUTPUT('x'.repeat(2000)), TERMINATED] })
    const bytes = Buffer.concat(long)
    const first = (long[0] as Buffer).length
    for (const [from, to] of [
      [1025, 1536],
      [1024, 1535],
      [1024, 1025],
      [first + 1, 1024],
    ] as const) {
      const path = file(Buffer.from(bytes).fill(0, from, to))
      await expect(verifyRunPrefix(world, path, publicKey, runId)).rejects.toMatchObject(invalid)
    }
    const also = Buffer.from(bytes).fill(0, 1024, 1536).fill(0, 1600, 1601)
    await expect(verifyRunPrefix(world, file(also), publicKey, runId)).rejects.toMatchObject(invalid)
    const without = file(Buffer.from(bytes).fill(0, 0, 512)) // the first record is not there
    await expect(verifyRunPrefix(world, without, publicKey, runId)).rejects.toMatchObject(invalid)
  })

  test('of a prefix refuses an altered line, whatever holes somebody puts behind it', async () => {
    const [first, , last] = lines as [Buffer, Buffer, Buffer]
    for (const altered of ['anything at all\n', '\n', `x${lines[1]}`, String(lines[1]).replace('second', 'sec\nond')]) {
      for (const behind of [Buffer.alloc(1), Buffer.alloc(5000), Buffer.concat([Buffer.alloc(1), last])]) {
        const path = file(Buffer.concat([first, Buffer.from(altered), last, behind]))
        await expect(verifyRunPrefix(world, path, publicKey, runId), altered).rejects.toMatchObject(invalid)
      }
    }
  })

  test('of a prefix leaves out a write of any length of which nothing reached the disk', async () => {
    const path = file(Buffer.concat([lines[0] as Buffer, Buffer.alloc(1024 * 1024 + 1)]))
    const prefix = await verifyRunPrefix(world, path, publicKey, runId)
    expect(prefix).toMatchObject({ entries: [{ sequence: 0 }], unverified_tail_bytes: 1024 * 1024 + 1 })
  })

  test('of a file with any one bit changed is refused; only a lost last newline leaves a prefix', async () => {
    const believed: number[] = []
    for (let at = 0; at < whole.length; at += 1) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] as number) ^ (1 << (at % 8))
      const proven = await verifyPrefixBytes(world, changed, publicKey, runId).catch((error) => error)
      if (isFault(proven, 'EVIDENCE_INVALID')) continue
      believed.push(at)
      expect(proven.entries).toHaveLength(2)
    }
    expect(believed).toEqual([whole.length - 1])
  })

  test('refuses the wrong run id on the file and on a renamed copy; an unchanged copy keeps its own [J2]', async () => {
    const path = file()
    const copy = disk.path(`${AGENT}.${otherRunId}.jsonl`)
    copyFileSync(path, copy)
    await expect(verifyRun(world, path, publicKey, otherRunId)).rejects.toMatchObject(invalid)
    await expect(verifyRun(world, copy, publicKey, otherRunId)).rejects.toMatchObject(invalid)
    await expect(verifyRunPrefix(world, copy, publicKey, otherRunId)).rejects.toMatchObject(invalid)
    expect(await verifyRun(world, copy, publicKey, runId)).toHaveLength(3)
  })

  test('needs the right public key', async () => {
    await expect(verify(world, file(), parsePublicKey(madeKey(2).publicHex))).rejects.toMatchObject(invalid)
  })

  test('names the first record that is wrong, as a person counts files: from 0', async () => {
    const bad = [lines[0], Buffer.from(String(lines[1]).replace('second', 'sec0nd')), lines[2]] as Buffer[]
    await expect(verify(world, file(Buffer.concat(bad)), publicKey)).rejects.toMatchObject({
      message: expect.stringContaining('record 1'),
      facts: { record: 1 },
    })
  })

  test('reads evidence in a folder that everybody may enter, of any mode and with other links', async () => {
    const folder = disk.path('open')
    mkdirSync(folder)
    const path = join(folder, 'journal')
    writeFileSync(path, whole)
    linkSync(path, join(folder, 'second-name'))
    chmodSync(path, 0o666)
    chmodSync(folder, 0o777)
    expect(await verifyRun(world, path, publicKey, runId)).toHaveLength(3)
  })

  const noFiles: readonly [string, () => string][] = [
    ['is absent', () => disk.path('absent')],
    ['is a folder', () => disk.folder()],
    [
      'is a symbolic link to a good journal',
      () => {
        const path = disk.path('link')
        symlinkSync(file(), path)
        return path
      },
    ],
    [
      'is a pipe that nobody writes',
      () => {
        const path = disk.path('pipe')
        execFileSync('mkfifo', [path])
        return path
      },
    ],
    [
      'holds more than 64 MiB',
      () => {
        const path = file()
        truncateSync(path, 64 * 1024 * 1024 + 1)
        return path
      },
    ],
  ]
  test.each(noFiles)('refuses a path that %s, without waiting', async (_what, make) => {
    const path = make()
    for (const form of [
      () => verify(world, path, publicKey),
      () => verifyRun(world, path, publicKey, runId),
      () => verifyRunPrefix(world, path, publicKey, runId),
    ]) {
      await expect(form()).rejects.toMatchObject(invalid)
    }
  })

  test('refuses bytes beyond 64 MiB also when they come without a file', async () => {
    const bytes = Buffer.alloc(64 * 1024 * 1024 + 1)
    await expect(verifyPrefixBytes(world, bytes, publicKey, runId)).rejects.toMatchObject(invalid)
  })

  test('changes nothing: neither content nor times', async () => {
    const path = file(Buffer.concat([whole, Buffer.from('tail')]))
    const before = statSync(path, { bigint: true })
    await verifyRunPrefix(world, path, publicKey, runId)
    await verify(world, path, publicKey).catch(() => undefined)
    const after = statSync(path, { bigint: true })
    expect([after.size, after.mtimeNs, after.ctimeNs]).toEqual([before.size, before.mtimeNs, before.ctimeNs])
  })

  test('closes the file, whatever it finds', async () => {
    const faulty = faultyWorld(world)
    await verify(faulty, file(), publicKey)
    await verify(faulty, file(Buffer.from('x\n')), publicKey).catch(() => undefined)
    expect(faulty.count('close')).toBe(2)
  })

  test('tells a disk that cannot be read from evidence that is wrong', async () => {
    const faulty = faultyWorld(world, [{ on: 'read', errno: 'EIO' }])
    await expect(verify(faulty, file(), publicKey)).rejects.toMatchObject({ code: 'STORAGE_FAILED' })
  })
})

describe('a file that changes while it is verified', () => {
  const changes: readonly [string, (path: string) => void][] = [
    ['grows', (path) => appendFileSync(path, lines[0] as Buffer)],
    ['shrinks', (path) => truncateSync(path, 10)],
    ['is edited in place', (path) => writeFileSync(path, Buffer.alloc(whole.length), { flag: 'r+' })],
    ['is touched', (path) => utimesSync(path, new Date(0), new Date(0))],
    ['gets another name', (path) => renameSync(path, `${path}-moved`)],
  ]

  test.each(changes)('%s between the two looks: EVIDENCE_CHANGING', async (_what, change) => {
    for (const nth of [1, 2]) {
      const path = file()
      const on = nth === 1 ? 'read' : 'facts'
      const faulty = faultyWorld(world, [{ on, nth, before: () => change(path) }])
      await expect(verifyRun(faulty, path, publicKey, runId)).rejects.toMatchObject(changing)
    }
  })

  test('is not refused as invalid while its writer is in the middle of a line', async () => {
    const path = file(whole.subarray(0, -20))
    const faulty = faultyWorld(world, [
      { on: 'facts', nth: 3, before: () => appendFileSync(path, whole.subarray(-20)) },
    ])
    await expect(verifyRun(faulty, path, publicKey, runId)).rejects.toMatchObject(changing)
    expect(await verifyRun(world, path, publicKey, runId)).toHaveLength(3)
  })

  test('after it was read verifies as what was read', async () => {
    const path = file()
    const afterRead = gate()
    const faulty = faultyWorld(world, [{ on: 'close', gate: afterRead }])
    const verifying = verifyRun(faulty, path, publicKey, runId)
    await afterRead.reached
    appendFileSync(path, 'x')
    afterRead.open()
    expect(await verifying).toHaveLength(3)
  })

  test('a live journal gives success or EVIDENCE_CHANGING, never EVIDENCE_INVALID', async () => {
    await using journal = await createJournal(world, { directory: disk.folder(), principal, runId })
    const liveKey = parsePublicKey(journal.audit.public_key)
    await journal.append([entry(started)])
    let writing = true
    const writer = (async () => {
      for (let count = 0; count < 150; count += 1) {
        await journal.append([entry(output('z'.repeat(count * 97))), entry(output(String(count)))])
      }
      await journal.append([entry(terminated)])
      writing = false
    })()
    const seen = { success: 0, changing: 0 }
    let longest = 0
    while (writing) {
      try {
        const entries = await verifyRun(world, journal.audit.path, liveKey, runId)
        expect(entries.length).toBeGreaterThanOrEqual(longest)
        longest = entries.length
        seen.success += 1
      } catch (error) {
        expect(error).toMatchObject(changing)
        seen.changing += 1
      }
    }
    await writer
    expect(seen.success + seen.changing).toBeGreaterThan(0)
    expect(await verifyRun(world, journal.audit.path, liveKey, runId)).toHaveLength(302)
  })

  test('evidence can be read without being judged', async () => {
    expect(Buffer.from(await readEvidence(world, file())).equals(whole)).toBe(true)
    await expect(readEvidence(world, disk.path('absent'))).rejects.toMatchObject(invalid)
  })
})

describe('a long journal', () => {
  const long = makeLines({
    key,
    events: Array.from({ length: 400 }, (_, index) => OUTPUT(`${index} ${'x'.repeat(200)}`)),
  })
  const bytes = Buffer.concat(long)
  const ways: readonly [string, VerifyOptions, World][] = [
    ['one thread', { threads: 1 }, world],
    ['two threads', { threads: 2 }, world],
    ['eight threads', { threads: 8 }, world],
    ['what the machine has', {}, world],
    ['a machine with nothing to spare', {}, { ...world, threads: { spare: 0 } }],
  ]
  const edited = (...indices: number[]): Buffer =>
    Buffer.concat(long.map((line, index) => (indices.includes(index) ? spoil(line) : line)))
  const spoil = (line: Buffer): Buffer => Buffer.from(String(line).replace('xxx', 'yyy'))

  test.each(ways)('gives the same entries on %s', async (_what, options, on) => {
    const proven = await verifyPrefixBytes(on, bytes, publicKey, runId, options)
    expect(proven.entries.map(({ event }) => event)).toEqual(
      Array.from({ length: 400 }, (_, index) => output(`${index} ${'x'.repeat(200)}`)),
    )
    expect(proven.snapshot_sha256).toBe(sha256(bytes))
  })

  test.each(ways)('with a bad signature is refused at the first bad record on %s', async (_what, options, on) => {
    for (const spoilt of [[0], [37], [399], [37, 38, 200], [3, 350]]) {
      await expect(verify(on, file(edited(...spoilt)), publicKey, options)).rejects.toMatchObject({
        code: 'EVIDENCE_INVALID',
        facts: { record: spoilt[0] },
      })
    }
  })

  test.each(ways)(
    'with a bad signature in front of a broken line names the signature on %s',
    async (_what, options, on) => {
      const lines = [...long]
      lines[300] = spoil(lines[300] as Buffer)
      lines[303] = Buffer.from('{}\n')
      await expect(verify(on, file(Buffer.concat(lines)), publicKey, options)).rejects.toMatchObject({
        facts: { record: 300 },
      })
      lines[299] = signedLine('{"wrong":"shape"}', key)
      await expect(verify(on, file(Buffer.concat(lines)), publicKey, options)).rejects.toMatchObject({
        facts: { record: 299 },
      })
    },
  )

  test.each(ways)('lets other work run, and tells how far it is, on %s', async (_what, options, on) => {
    let others = 0
    let verifying = true
    const turn = (): void => {
      others += 1
      if (verifying) setImmediate(turn)
    }
    setImmediate(turn)
    const told: number[] = []
    const progress = (done: number, all: number): void => {
      told.push(done)
      expect(all).toBe(bytes.length)
    }
    await verifyPrefixBytes(on, bytes, publicKey, runId, { ...options, progress })
    verifying = false
    expect(others).toBeGreaterThan(1)
    expect(told.at(-1)).toBe(bytes.length)
    expect(told).toEqual([...told].sort((left, right) => left - right))
  })

  /** Threads of this machine that are up before the next run of records, and how often they were asked. */
  function helped(): { readonly on: World; readonly asked: () => number } {
    let asked = 0
    const started: SideThread[] = []
    const start = (work: string, data: object): SideThread => {
      const thread = startSideThread(work, data)
      const ask: SideThread['ask'] = (question, moved) => {
        asked += 1
        return thread.ask(question, moved)
      }
      started.push(thread)
      return { ...thread, ask }
    }
    const turn = async (): Promise<void> => {
      await Promise.all(started.map(({ ready }) => ready))
      await world.clock.yield()
    }
    return {
      on: { ...world, threads: { spare: 1, start }, clock: { ...world.clock, yield: turn } },
      asked: () => asked,
    }
  }

  test('that is very long is checked by threads beside this one, with the same answer', async () => {
    const lines = makeLines({ key, events: Array.from({ length: 1500 }, (_, index) => OUTPUT(`${index}`)) })
    const all = Buffer.concat(lines)
    const { on, asked } = helped()
    const proven = await verifyPrefixBytes(on, all, publicKey, runId)
    expect(proven.entries.map(({ sequence }) => sequence)).toEqual(lines.map((_, index) => index))
    expect(proven.snapshot_sha256).toBe(sha256(all))
    expect(asked()).toBeGreaterThan(1) // this one checks what it has no room for
    const inOrder: number[] = []
    const visit = (entries: readonly Entry[]): void => void inOrder.push(...entries.map(({ sequence }) => sequence))
    await visitRunPrefix(on, file(all), publicKey, runId, visit)
    expect(inOrder).toEqual(lines.map((_, index) => index))
  })

  test('that is very long is refused at its first bad record, whichever thread saw it', async () => {
    const lines = makeLines({ key, events: Array.from({ length: 1500 }, (_, index) => OUTPUT(`${index} xxx`)) })
    for (const spoilt of [[5], [700], [1499], [1300, 700, 701], [640, 900]]) {
      const bad = Buffer.concat(lines.map((line, index) => (spoilt.includes(index) ? spoil(line) : line)))
      const { on } = helped()
      await expect(verify(on, file(bad), publicKey)).rejects.toMatchObject({
        code: 'EVIDENCE_INVALID',
        facts: { record: Math.min(...spoilt) },
      })
    }
  })

  test('yields also where the clock stands still', async () => {
    let yields = 0
    const still: World = {
      ...world,
      threads: { spare: 0 },
      clock: {
        ...world.clock,
        monotonicMs: () => 0,
        yield: async () => {
          yields += 1
        },
      },
    }
    await verifyPrefixBytes(still, bytes, publicKey, runId)
    expect(yields).toBeGreaterThan(0)
  })
})

test('what the writer writes is what the second maker makes, byte for byte', async () => {
  await using journal = await createJournal(world, { directory: disk.folder(), principal, runId })
  await journal.append([entry(output('first')), entry(output('sécond "quoted" \u0007'))])
  const written = readFileSync(journal.audit.path, 'utf8').trimEnd().split('\n')
  let previous = '0'.repeat(64)
  for (const [sequence, line] of written.entries()) {
    const { payload, signature } = JSON.parse(line)
    expect(line).toBe(`{"payload":${JSON.stringify(payload)},"signature":"${signature}"}`)
    expect(Object.keys(payload)).toEqual(['entry', 'previous_hash', 'run_id', 'version'])
    expect(Object.keys(payload.entry)).toEqual(['agent_id', 'event', 'iteration', 'sequence', 'timestamp'])
    expect([payload.entry.sequence, payload.previous_hash, payload.version]).toEqual([sequence, previous, 2])
    previous = sha256(`${line}\n`)
  }
})
