/** One record by itself: every byte of its frame, its payload and its place. Whole files are in verify.test.ts and verify-forms.test.ts. */
import { describe, expect, test } from 'vitest'
import { Bug, GENESIS, type HexHash, type Timestamp } from '../../src/core/index.ts'
import type { NewEntry } from '../../src/events/index.ts'
import { type ExpectedPlace, readRecord, recordLine, splitRecord } from '../../src/journal/record.ts'
import { signingKeyOf } from '../../src/keys/index.ts'
import { AGENT, madeKey, makeLines, OUTPUT, type Payload, sha256, signedLine } from '../support/journal-maker.ts'
import { entry, otherPrincipal, otherRunId, output, principal, runId } from './entries.ts'

const key = madeKey(1)
const line = makeLines({ key, events: [OUTPUT('text')] })[0] as Buffer
const payload = String(JSON.stringify(JSON.parse(String(line)).payload))
const signature = String(JSON.parse(String(line)).signature)
const START: ExpectedPlace = { sequence: 0, previousHash: GENESIS, agentId: null, runId: null }

/** What is said of the record, in words that a person can tell apart. */
const refusal = (record: number, found: string) => ({
  code: 'EVIDENCE_INVALID',
  message: expect.stringContaining(`record ${record} of the journal: ${found}`),
  hint: expect.stringContaining('Keep the file as it is'),
  facts: { record },
})
const caught = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return error
  }
}

describe('a line taken apart', () => {
  test('gives the payload and the signature, byte for byte', () => {
    const record = splitRecord(line, 0)
    expect(Buffer.from(record.payload).toString()).toBe(payload)
    expect(Buffer.from(record.signature).toString('base64')).toBe(signature)
    expect(record.line).toBe(line)
  })

  const frame = 'it is not one payload and one signature'
  test('is refused when any byte of its frame is another one', () => {
    const inFrame = [...Array(11).keys(), ...Array.from({ length: 14 }, (_, at) => 11 + payload.length + at)]
    for (const at of [...inFrame, line.length - 3, line.length - 2, line.length - 1]) {
      const changed = Buffer.from(line)
      changed[at] = (changed[at] as number) ^ 1
      expect(
        caught(() => splitRecord(changed, 4)),
        `byte ${at}`,
      ).toMatchObject(refusal(4, frame))
    }
  })

  test.each([
    ['a space in front of its payload', `{"payload": ${payload},"signature":"${signature}"}\n`],
    ['a space behind its payload', `{"payload":${payload} ,"signature":"${signature}"}\n`],
    ['a payload that is a list', `{"payload":[1],"signature":"${signature}"}\n`],
    ['a payload that only begins as an object', `{"payload":{"a":1},[1],"signature":"${signature}"}\n`],
    ['a payload that only ends as an object', `{"payload":1,"x":{},"signature":"${signature}"}\n`],
    ['nothing at all', '\n'],
    ['nothing but a signature', `,"signature":"${signature}"}\n`],
    ['no newline', `{"payload":${payload},"signature":"${signature}"}`],
    ['a signature that is too short', `{"payload":${payload},"signature":"${signature.slice(1)}"}\n`],
    ['a signature that is too long', `{"payload":${payload},"signature":"${signature}A"}\n`],
  ])('is refused with %s', (_what, text) => {
    expect(caught(() => splitRecord(Buffer.from(text), 4))).toMatchObject(refusal(4, frame))
  })

  test.each([
    ['66 bytes without padding', 'A'.repeat(88)],
    ['65 bytes', `${'A'.repeat(87)}=`],
    ['64 bytes with other digits in the padding', `${signature.slice(0, 85)}${nextDigit(signature[85])}==`],
    ['base64 of another alphabet', `-${signature.slice(1)}`],
    ['text that is no base64', `!${signature.slice(1)}`],
    ['bytes beyond ASCII', `\xe9${signature.slice(1)}`],
  ])('is refused with a signature of %s', (_what, other) => {
    const bytes = Buffer.from(`{"payload":${payload},"signature":"${other}"}\n`, 'latin1')
    expect(caught(() => splitRecord(bytes, 4))).toMatchObject(refusal(4, 'its signature is not the padded base64'))
  })

  test('may have 1 MiB and not one byte more', () => {
    const room = 1024 * 1024 - signedLine('{"a":""}', key).length
    const longest = signedLine(`{"a":"${'x'.repeat(room)}"}`, key)
    expect(longest).toHaveLength(1024 * 1024)
    expect(splitRecord(longest, 0).payload).toHaveLength(room + 8)
    const longer = signedLine(`{"a":"${'x'.repeat(room + 1)}"}`, key)
    expect(caught(() => splitRecord(longer, 0))).toMatchObject(refusal(0, 'it is longer than 1048576 bytes'))
  })
})

describe('a payload that is read', () => {
  const read = (text: string, place: ExpectedPlace = START): unknown =>
    caught(() => readRecord(line, Buffer.from(text), place))
  const changed = (change: (payload: Payload) => unknown): string => JSON.stringify(change(JSON.parse(payload)))
  const second = (change: Partial<Payload> = {}): string =>
    changed((first) => ({ ...first, entry: { ...first.entry, sequence: 1 }, previous_hash: sha256('x'), ...change }))
  const behind: ExpectedPlace = {
    sequence: 1,
    previousHash: sha256('x') as HexHash,
    agentId: principal,
    runId,
  }

  test('gives the entry, its run and the hash of its line', () => {
    expect(read(payload)).toEqual({
      entry: {
        sequence: 0,
        timestamp: '2026-03-04T10:11:12.131Z',
        agent_id: AGENT,
        iteration: 1,
        event: output('text'),
      },
      runId,
      lineHash: sha256(line),
    })
    expect(read(second(), behind)).toMatchObject({ entry: { sequence: 1 }, runId })
  })

  test('of the first version has no run, at the start and behind it', () => {
    const old = { run_id: undefined, version: 1 } as const
    expect(read(changed((first) => ({ ...first, ...old })))).toMatchObject({ runId: null })
    expect(read(second(old), { ...behind, runId: null })).toMatchObject({ runId: null })
  })

  const wrongs: readonly (readonly [string, string, ExpectedPlace, string])[] = [
    [
      'another predecessor',
      second({ previous_hash: sha256('y') }),
      behind,
      'it does not continue the record before it',
    ],
    ['another number', second(), { ...behind, sequence: 2 }, 'it has the number 1'],
    ['another principal', second(), { ...behind, agentId: otherPrincipal }, 'it belongs to another principal'],
    ['another run', second(), { ...behind, runId: otherRunId }, 'it belongs to another run'],
    ['a run behind records without one', second(), { ...behind, runId: null }, 'it belongs to another run'],
    ['no run behind records of one', second({ run_id: undefined, version: 1 }), behind, 'it belongs to another run'],
    ['the first version and a run', second({ version: 1 }), behind, 'its version and its run id'],
    ['the second version and no run', second({ run_id: undefined }), behind, 'its version and its run id'],
  ]
  test.each(wrongs)('is refused for %s', (_what, text, place, found) => {
    expect(read(text, place)).toMatchObject(refusal(place.sequence, found))
  })

  test('that is no strict JSON, or of another shape, is refused with the cause', () => {
    for (const text of [
      '{"version":1,"version":2}',
      '{"entry":{}}',
      '[1',
      payload.replace('"version":2', '"version":3'),
    ])
      expect(read(text)).toMatchObject({ ...refusal(0, ''), cause: expect.any(Error) })
  })

  test('may be nested 640 levels and not one more', () => {
    // the payload, its entry, the event, what is in it, and the lists
    const deep = (levels: number): string =>
      payload.replace('"output":', `"more":${'['.repeat(levels - 4)}${']'.repeat(levels - 4)},"output":`)
    expect(read(deep(640))).toMatchObject({ entry: { event: output('text') } })
    expect(read(deep(641))).toMatchObject({
      ...refusal(0, ''),
      message: expect.stringContaining('more than 640 levels are nested'),
    })
  })
})

describe('a line that is made', () => {
  const signer = signingKeyOf(Buffer.alloc(32, 1))
  const place = { sequence: 7, previousHash: sha256('before') as HexHash }
  const made = (change: Partial<NewEntry>): Buffer =>
    recordLine({ ...entry(output('ä')), ...change }, runId, place, signer)

  test('is the one that another maker makes, byte for byte', () => {
    const { agent_id, iteration, timestamp } = entry(output('ä'))
    const same = {
      entry: { agent_id, event: OUTPUT('ä'), iteration, sequence: 7, timestamp },
      previous_hash: sha256('before'),
      run_id: runId,
      version: 2,
    }
    expect(made({}).equals(signedLine(JSON.stringify(same), key))).toBe(true)
  })

  test.each<[string, Partial<NewEntry>]>([
    ['an event of no known kind', { event: { kind: 'Nonsense' } as unknown as NewEntry['event'] }],
    ['an event without its member', { event: { kind: 'ImprovementOutput' } as unknown as NewEntry['event'] }],
    ['a time that is none', { timestamp: 'yesterday' as Timestamp }],
    ['an iteration that is no whole number', { iteration: 0.5 }],
    ['an iteration below 0', { iteration: -1 }],
  ])('is never one with %s', (_what, change) => {
    expect(() => made(change)).toThrow(Bug)
  })
})

function nextDigit(digit = ''): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  return digits[digits.indexOf(digit) + 1] as string
}
