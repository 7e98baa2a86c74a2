/** What was done to a journal, and what each form of verification says. The journals are made without the writer. */
import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../src/core/index.ts'
import { verify, verifyRun, verifyRunPrefix } from '../../src/journal/index.ts'
import { parsePublicKey } from '../../src/keys/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { L, littleEndian } from '../support/curve.ts'
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
  signedLine,
  TERMINATED,
} from '../support/journal-maker.ts'
import { scratch } from '../support/scratch.ts'
import { otherRunId, runId } from './entries.ts'

const world = nodeWorld()
const disk = scratch()
const key = madeKey(1)
const thief = madeKey(2)
const publicKey = parsePublicKey(key.publicHex)

const EVENTS = [OUTPUT('first'), OUTPUT('second'), OUTPUT('third'), TERMINATED]
const plan: JournalPlan = { key, events: EVENTS }
const lines = makeLines(plan)
const [one, two, three, four] = lines as [Buffer, Buffer, Buffer, Buffer]
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
const withSignature = (line: Buffer, signature: string): Buffer =>
  text(line, signatureOf(line).toString('base64'), signature)
const raised = (signature: Buffer): string => {
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`)
  return Buffer.concat([signature.subarray(0, 32), littleEndian(s + L)]).toString('base64')
}
/** A valid second history of the same run, made by whoever holds the key. */
const fork = makeLines({ ...plan, events: [EVENTS[0], EVENTS[1], OUTPUT('another third'), TERMINATED] })
const stranger = makeLines({ ...plan, runId: OTHER_RUN })

/** How many entries are believed, or that the file is refused: by `verify`, `verifyRun`, `verifyRunPrefix`. */
type Verdict = number | 'refused'
const NEVER = ['refused', 'refused', 'refused'] as const
const ALWAYS = [4, 4, 4] as const
const PREFIX = (count: number): readonly [Verdict, Verdict, Verdict] => ['refused', 'refused', count]

const table: readonly (readonly [string, Buffer, readonly [Verdict, Verdict, Verdict]])[] = [
  ['nothing', all(lines), ALWAYS],

  // lines lost, doubled and moved
  ['the terminal record dropped: it verifies, and nothing says that the run ended', all([one, two, three]), [3, 3, 3]],
  ['the first record dropped', all([two, three, four]), NEVER],
  ['a middle record dropped', all([one, three, four]), NEVER],
  ['the first record doubled', all([one, ...lines]), NEVER],
  ['the last record doubled', all([...lines, four]), NEVER],
  ['two records swapped', all([one, three, two, four]), NEVER],
  ['a fork of the same run from the third record on', all([one, two, fork[2] as Buffer, fork[3] as Buffer]), ALWAYS],
  ['a fork spliced behind the third record', all([one, two, three, fork[3] as Buffer]), NEVER],
  ['a record of another run spliced in', all([one, two, stranger[2] as Buffer, four]), NEVER],
  ['another journal appended', all([...lines, ...stranger]), NEVER],
  ['all of it written twice', all([...lines, ...lines]), NEVER],
  ['everything removed', zeros(0), NEVER],

  // torn ends
  ['the last newline cut', all(lines).subarray(0, -1), PREFIX(3)],
  ['the last record cut in the middle', all([one, two, three, four.subarray(0, 100)]), PREFIX(3)],
  ['cut after one byte of the second record', all([one, two.subarray(0, 1)]), PREFIX(1)],
  ['cut inside the first record', one.subarray(0, 100), NEVER],
  ['only the first newline cut', one.subarray(0, -1), NEVER],
  ['a torn end that got a newline [J6]', all([one, two, three.subarray(0, 100), Buffer.from('\n')]), NEVER],
  ['a half line glued to the next append', all([one, two.subarray(0, 100), two, three, four]), NEVER],
  ['zeros behind the end, as after a power cut', all([...lines, zeros(512)]), PREFIX(4)],
  ['zeros behind the end, and then a newline', all([...lines, zeros(512), Buffer.from('\n')]), NEVER],
  ['zeros in place of the third record', all([one, two, zeros(three.length - 1), Buffer.from('\n'), four]), NEVER],
  ['zeros in place of the last record and its newline', all([one, two, three, zeros(four.length)]), PREFIX(3)],
  ['zeros alone', zeros(4096), NEVER],
  ['a tail of 1 MiB', all([...lines, Buffer.alloc(1024 * 1024, 'x')]), PREFIX(4)],
  ['a tail of more than 1 MiB', all([...lines, Buffer.alloc(1024 * 1024 + 1, 'x')]), NEVER],

  // bytes around the records
  ['an empty line at the end', all([...lines, Buffer.from('\n')]), NEVER],
  ['an empty line in the middle', all([one, two, Buffer.from('\n'), three, four]), NEVER],
  ['a newline alone', Buffer.from('\n'), NEVER],
  ['a byte order mark', all([Buffer.from('\ufeff'), ...lines]), NEVER],
  ['line ends of Windows', text(all([one]), '\n', '\r\n'), NEVER],
  ['spaces behind the last record', text(all(lines), '"}\n', '"} \n'), NEVER],
  ['a space behind the last record', all([one, two, three, text(four, '"}\n', '"} \n')]), NEVER],
  ['a space in front of a record', all([Buffer.from(' '), ...lines]), NEVER],
  ['a space between payload and signature', text(all(lines), ',"signature"', ', "signature"'), NEVER],
  ['a space in front of the payload', text(all(lines), '"payload":{', '"payload": {'), NEVER],
  ['a space behind the payload', text(all(lines), '},"signature"', '} ,"signature"'), NEVER],
  ['an unsigned member behind the signature', text(all(lines), '"}\n', '","note":"x"}\n'), NEVER],
  ['an unsigned member in front', text(all(lines), '{"payload"', '{"note":"x","payload"'), NEVER],
  ['a second payload in front of the first', text(all(lines), '{"payload"', '{"payload":{},"payload"'), NEVER],
  ['a second payload behind the first', text(all(lines), ',"signature"', ',"payload":{},"signature"'), NEVER],
  ['a second signature', text(all(lines), ',"signature"', ',"signature":"","signature"'), NEVER],
  ['signature and payload the other way round', flipped(one), NEVER],
  ['a name spelled with an escape', text(all(lines), '"signature"', '"\\u0073ignature"'), NEVER],
  ['bytes that are not UTF-8', text(all(lines), 'first', 'fir\xff\xfe'), NEVER],

  // other signers, other signatures
  ['all of it sealed again by another key', made({ key: thief }), NEVER],
  ['one record sealed by another key', all([one, two, signedLine(payloadOf(three), thief), four]), NEVER],
  ['the last record sealed by another key', all([one, two, three, signedLine(payloadOf(four), thief)]), NEVER],
  ['an edited word', text(all(lines), 'second', 'sec0nd'), NEVER],
  ['an edited number', text(all(lines), '"iteration":1', '"iteration":2'), NEVER],
  ['a signature of another record', withSignatureOfOther(), NEVER],
  ['an empty signature', withSignature(one, ''), NEVER],
  ['a signature of zeros', withSignature(one, zeros(64).toString('base64')), NEVER],
  ['a signature without its padding', withSignature(one, signatureOf(one).toString('base64').slice(0, -2)), NEVER],
  ['a signature in the alphabet of addresses', withSignature(one, urlSafe(signatureOf(one))), NEVER],
  ['a signature with other idle bits', withSignature(one, idleBits(signatureOf(one))), NEVER],
  ['a signature with S beyond the order', withSignature(one, raised(signatureOf(one))), NEVER],
  ['a signature of 65 bytes', withSignature(one, all([signatureOf(one), zeros(1)]).toString('base64')), NEVER],

  // run ids [J2]
  ['another run', all(stranger), [4, 'refused', 'refused']],
  ['an edited run id [J2]', text(all(lines), String(runId), OTHER_RUN), NEVER],
  ['every run id edited [J2]', Buffer.from(all(lines).toString().replaceAll(String(runId), OTHER_RUN)), NEVER],
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

function withSignatureOfOther(): Buffer {
  return all([withSignature(one, signatureOf(two).toString('base64')), two, three, four])
}

function urlSafe(signature: Buffer): string {
  return signature.toString('base64').replaceAll('+', '-').replaceAll('/', '_')
}

/** The last digit before the padding has four bits that decode to nothing: another text, the same bytes. */
function idleBits(signature: Buffer): string {
  const base64 = signature.toString('base64')
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const digit = alphabet[alphabet.indexOf(base64[85] as string) + 1] as string
  const changed = `${base64.slice(0, 85)}${digit}==`
  expect(Buffer.from(changed, 'base64').equals(signature)).toBe(true)
  return changed
}

function nested(depth: number): unknown {
  return JSON.parse(`{"ImprovementOutput":{"output":"x","more":${'['.repeat(depth)}${']'.repeat(depth)}}}`)
}
