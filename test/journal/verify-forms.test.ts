/**
 * Journals in forms that only the holder of the key, or another writer, could give them; limits; and frames that are not ours.
 * What somebody without the key can do is in manglings.test.ts. The journals are made without the writer.
 */
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/core/index.ts'
import { verify, verifyLegacy, verifyRun, verifyRunPrefix, visitRunPrefix } from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import {
  AGENT,
  type JournalPlan,
  madeKey,
  makeLines,
  OTHER_AGENT,
  OTHER_RUN,
  OUTPUT,
  type Payload,
  sha256,
  TERMINATED,
} from '../support/journal-maker.ts'
import { scratch } from '../support/scratch.ts'
import { otherRunId, runId } from './entries.ts'

const world = nodeWorld()
const disk = scratch()
const key = madeKey(1)
const publicKey = parsePublicKey(key.publicHex)

const EVENTS = [OUTPUT('first'), OUTPUT('second'), OUTPUT('third'), TERMINATED]
const plan: JournalPlan = { key, events: EVENTS }
const lines = makeLines(plan)
const [one, two, three] = lines as [Buffer, Buffer, Buffer, Buffer]
const made = (change: Partial<JournalPlan>): Buffer => Buffer.concat(makeLines({ ...plan, ...change }))
/** A journal whose third record was changed before it was signed by the right key. */
const third = (change: (payload: Payload) => unknown): Buffer =>
  made({ twist: (payload, index) => (index === 2 ? change(payload) : payload) })
const all = Buffer.concat
const text = (buffer: Buffer, from: string, to: string): Buffer => {
  const before = buffer.toString('latin1')
  expect(before).toContain(from)
  return Buffer.from(before.replace(from, to), 'latin1')
}
const zeros = (count: number): Buffer => Buffer.alloc(count)
const signatureOf = (line: Buffer): Buffer => Buffer.from(String(JSON.parse(line.toString()).signature), 'base64')
/** A valid second history of the same run, made by whoever holds the key. */
const fork = makeLines({ ...plan, events: [EVENTS[0], EVENTS[1], OUTPUT('another third'), TERMINATED] })

/** How many entries are believed, or that the file is refused: by `verify`, `verifyRun`, `verifyRunPrefix`. */
type Verdict = number | 'refused'
const NEVER = ['refused', 'refused', 'refused'] as const
const ALWAYS = [4, 4, 4] as const
const PREFIX = (count: number): readonly [Verdict, Verdict, Verdict] => ['refused', 'refused', count]

const table: readonly (readonly [string, Buffer, readonly [Verdict, Verdict, Verdict]])[] = [
  ['nothing', all(lines), ALWAYS],

  // two histories of one run, by whoever holds the key
  ['a fork of the same run from the third record on', all([one, two, fork[2] as Buffer, fork[3] as Buffer]), ALWAYS],
  ['a fork spliced behind the third record', all([one, two, three, fork[3] as Buffer]), NEVER],

  // limits
  ['a tail of 1 MiB', all([...lines, Buffer.alloc(1024 * 1024, 'x')]), PREFIX(4)],
  ['a tail of more than 1 MiB', all([...lines, Buffer.alloc(1024 * 1024 + 1, 'x')]), NEVER],

  // bytes around the records
  ['a newline alone', Buffer.from('\n'), NEVER],
  ['a second payload behind the first', text(all(lines), ',"signature"', ',"payload":{},"signature"'), NEVER],
  ['signature and payload the other way round', flipped(one), NEVER],
  ['a name spelled with an escape', text(all(lines), '"signature"', '"\\u0073ignature"'), NEVER],
  ['bytes that are not UTF-8', text(all(lines), 'first', 'fir\xff\xfe'), NEVER],

  // run ids [J2]
  ['a run id that changes half-way, signed', third((payload) => ({ ...payload, run_id: OTHER_RUN })), NEVER],
  ['a run id in upper case, signed', made({ runId: String(runId).toUpperCase() }), NEVER],
  ['a nil run id, signed', made({ runId: '00000000-0000-0000-0000-000000000000' }), NEVER],

  // format versions
  ['format version 1: a legacy file [J2]', made({ version: 1 }), [4, 'refused', 'refused']],
  ['version 1 with a run id', third((payload) => ({ ...payload, version: 1 })), NEVER],
  ['version 1 with a run id from the start', made({ twist: (payload) => ({ ...payload, version: 1 }) }), NEVER],
  ['version 2 without a run id', made({ version: 1, twist: (payload) => ({ ...payload, version: 2 }) }), NEVER],
  ['version 1 that becomes version 2', made({ version: 1, twist: becomesTwo }), NEVER],
  [
    'version 2 that becomes version 1',
    third(({ entry, previous_hash }) => ({ entry, previous_hash, version: 1 })),
    NEVER,
  ],
  ['version 3', made({ twist: (payload) => ({ ...payload, version: 3 }) }), NEVER],
  ['a version in quotes', made({ twist: (payload) => ({ ...payload, version: '2' }) }), NEVER],

  // signed by the right key, and wrong all the same
  ['an unknown member in a payload', third((payload) => ({ ...payload, zone: 1 })), NEVER],
  [
    'a payload without its entry',
    third(({ previous_hash, run_id, version }) => ({ previous_hash, run_id, version })),
    NEVER,
  ],
  ['a doubled member in a payload', third((payload) => JSON.stringify(payload).replace('{', '{"version":2,')), NEVER],
  [
    'a doubled member in an event',
    third((payload) => JSON.stringify(payload).replace('"output"', '"output":"","output"')),
    NEVER,
  ],
  [
    'a member named __proto__',
    third((payload) => JSON.stringify(payload).replace('"output"', '"__proto__":{},"output"')),
    NEVER,
  ],
  ['a lone surrogate', third((payload) => JSON.stringify(payload).replace('third', '\\ud800')), NEVER],
  [
    'a number that starts with 0',
    third((payload) => JSON.stringify(payload).replace('"sequence":2', '"sequence":02')),
    NEVER,
  ],
  ['a number gap', third((payload) => ({ ...payload, entry: { ...payload.entry, sequence: 3 } })), NEVER],
  [
    'numbers that start at 1',
    made({ twist: (payload) => withEntry(payload, { sequence: Number(payload.entry.sequence) + 1 }) }),
    NEVER,
  ],
  ['a number in quotes', third((payload) => withEntry(payload, { sequence: '2' })), NEVER],
  ['another predecessor', third((payload) => ({ ...payload, previous_hash: sha256('x') })), NEVER],
  [
    'a predecessor in upper case',
    third((payload) => ({ ...payload, previous_hash: payload.previous_hash.toUpperCase() })),
    NEVER,
  ],
  [
    'a first record with a predecessor',
    made({ twist: (payload, index) => (index === 0 ? { ...payload, previous_hash: sha256('') } : payload) }),
    NEVER,
  ],
  ['another principal half-way', third((payload) => withEntry(payload, { agent_id: OTHER_AGENT })), NEVER],
  ['a nil principal', made({ agentId: '00000000-0000-0000-0000-000000000000' }), NEVER],
  ['a principal in upper case', made({ agentId: AGENT.toUpperCase() }), NEVER],
  ['a time that is none', third((payload) => withEntry(payload, { timestamp: 'yesterday' })), NEVER],
  ['a time of another zone', third((payload) => withEntry(payload, { timestamp: '2026-03-04T10:11:12+01:00' })), NEVER],
  ['an event of no known kind', third((payload) => withEntry(payload, { event: { Nonsense: {} } })), NEVER],
  [
    'an event of two kinds',
    third((payload) => withEntry(payload, { event: { ...(OUTPUT('x') as object), ...TERMINATED } })),
    NEVER,
  ],
  ['an event without a member', third((payload) => withEntry(payload, { event: { ImprovementOutput: {} } })), NEVER],
  ['an event that is text', third((payload) => withEntry(payload, { event: 'ImprovementOutput' })), NEVER],
  ['a negative iteration', third((payload) => withEntry(payload, { iteration: -1 })), NEVER],
  ['values nested 700 deep', third((payload) => withEntry(payload, { event: nested(700) })), NEVER],
  ['a line of more than 1 MiB', third((payload) => withEntry(payload, { event: OUTPUT('x'.repeat(1 << 20)) })), NEVER],

  // what a newer or another writer may do
  [
    'unknown members in an entry and an event',
    third((payload) => withEntry(payload, { zone: 1, event: { ImprovementOutput: { output: 'x', tone: 1 } } })),
    ALWAYS,
  ],
  ['members in another order, and spaces inside the signed text', third(reordered), ALWAYS],
  [
    'a whole number written as 1.0',
    third((payload) => JSON.stringify(payload).replace('"iteration":1', '"iteration":1.0')),
    ALWAYS,
  ],
  [
    'a time with nanoseconds and a written-out zone',
    third((payload) => withEntry(payload, { timestamp: '2026-03-04T10:11:12.123456789+00:00' })),
    ALWAYS,
  ],
  [
    'text of many alphabets',
    third((payload) => withEntry(payload, { event: OUTPUT('ünïcödé 漢字 🎉 \u2028') })),
    ALWAYS,
  ],
  [
    'a line of just 1 MiB',
    third((payload) => withEntry(payload, { event: OUTPUT('x'.repeat((1 << 20) - three.length + 5)) })),
    ALWAYS,
  ],
]

describe('a journal of which was changed:', () => {
  test.each(table)('%s', async (_what, bytes, expected) => {
    const path = disk.path('renamed.jsonl') // the name proves nothing
    writeFileSync(path, bytes)
    const verdicts = [
      await verdict(verify(world, path, publicKey)),
      await verdict(verifyRun(world, path, publicKey, runId)),
      await verdict(verifyRunPrefix(world, path, publicKey, runId).then(({ entries }) => entries)),
    ]
    expect(verdicts).toEqual(expected)
  })

  test('a line of just 1 MiB has that length', () => {
    const longest = table.find(([what]) => what === 'a line of just 1 MiB')?.[1] ?? zeros(0)
    const lengths = longest
      .toString('latin1')
      .split('\n')
      .map((line) => line.length + 1)
    expect(Math.max(...lengths)).toBe(1 << 20)
  })

  test('a version 1 file verifies under no run id at all [J2]', async () => {
    const path = disk.path('legacy.jsonl')
    writeFileSync(path, made({ version: 1 }))
    for (const id of [runId, otherRunId]) {
      await expect(verifyRun(world, path, publicKey, id)).rejects.toMatchObject({
        code: 'EVIDENCE_INVALID',
        message: expect.stringContaining('format version 1'),
      })
    }
  })

  test('a file that is read as legacy names no run in any record, else it is a journal that was renamed [J2]', async () => {
    const path = disk.path('renamed.jsonl')
    const readers = [
      () => verifyLegacy(world, path, publicKey),
      () => visitRunPrefix(world, path, publicKey, null, () => undefined),
    ]
    writeFileSync(path, made({ version: 1 }))
    for (const read of readers) await expect(read()).resolves.toBeDefined()
    writeFileSync(path, made({}))
    for (const read of readers) {
      await expect(read()).rejects.toMatchObject({
        code: 'EVIDENCE_INVALID',
        message: 'Cannot verify the journal: record 0 belongs to a run, and the legacy format names none',
      })
    }
  })
})

async function verdict(work: Promise<readonly unknown[]>): Promise<Verdict> {
  try {
    return (await work).length
  } catch (error) {
    expect(error).toBeInstanceOf(Fault)
    expect(error).toMatchObject({ code: 'EVIDENCE_INVALID', hint: expect.stringContaining('Keep the file') })
    return 'refused'
  }
}

function withEntry(payload: Payload, change: Record<string, unknown>): Payload {
  return { ...payload, entry: { ...payload.entry, ...change } }
}

function becomesTwo(payload: Payload, index: number): Payload {
  return index < 2 ? payload : { ...payload, run_id: String(runId), version: 2 }
}

function reordered(payload: Payload): string {
  const { entry, previous_hash, run_id, version } = payload
  return JSON.stringify({ version, run_id, previous_hash, entry }).replace('"entry":', '"entry": ')
}

function payloadOf(line: Buffer): string {
  const whole = line.toString()
  return whole.slice('{"payload":'.length, whole.lastIndexOf(',"signature"'))
}

function flipped(line: Buffer): Buffer {
  return Buffer.from(`{"signature":"${signatureOf(line).toString('base64')}","payload":${payloadOf(line)}}\n`)
}

function nested(depth: number): unknown {
  return JSON.parse(`{"ImprovementOutput":{"output":"x","more":${'['.repeat(depth)}${']'.repeat(depth)}}}`)
}
