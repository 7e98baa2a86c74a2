import { expect, test } from 'vitest'
import { canonical } from '../../../../src/core/index.ts'
import { JournalReader, keyOfSeed } from '../../../../src/testing/simulation/laws/journal-reader.ts'
import { canonicalText } from '../../../../src/testing/simulation/laws/plain-json.ts'
import { AGENT, madeKey, makeLines, RUN, TERMINATED } from '../../../support/journal-maker.ts'

const NAME = `${AGENT}.${RUN}.jsonl`
const KEY = keyOfSeed(Buffer.alloc(32, 1))
const started = { Started: { agent_id: AGENT, config: {} } }
const output = (text: string) => ({ ImprovementOutput: { output: text } })
const lines = (...events: unknown[]): Buffer[] => makeLines({ key: madeKey(1), events })

function read(bytes: Buffer, reader = new JournalReader()) {
  const journal = reader.read(NAME, bytes, KEY)
  if (journal === null) throw new Error('it is the name of a journal')
  return journal
}

test('a whole journal is read with its events, its run and its principal', () => {
  const journal = read(Buffer.concat(lines(started, output('x'), TERMINATED)))
  expect(journal).toMatchObject({ wrong: null, tailBytes: 0, agentId: AGENT, runId: RUN })
  expect(journal.entries.map(({ event }) => event.kind)).toEqual(['Started', 'ImprovementOutput', 'Terminated'])
  expect(journal.entries[1]).toMatchObject({ sequence: 1, iteration: 1, event: { output: 'x' } })
})

test('a journal that grows is the same object until it does, and its torn tail is taken in once it is whole', () => {
  const reader = new JournalReader()
  const [first, second] = lines(started, output('x')) as [Buffer, Buffer]
  const before = read(Buffer.from(first), reader)
  expect(read(Buffer.from(first), reader)).toBe(before)
  const torn = read(Buffer.concat([first, second.subarray(0, 10)]), reader)
  expect(torn).toMatchObject({ tailBytes: 10, wrong: null, entries: [{ sequence: 0 }] })
  const whole = read(Buffer.concat([first, second]), reader)
  expect(whole).toMatchObject({ tailBytes: 0, wrong: null, entries: [{ sequence: 0 }, { sequence: 1 }] })
  expect(torn.entries).toHaveLength(1)
})

test('a journal whose beginning changed is read anew', () => {
  const reader = new JournalReader()
  read(Buffer.concat(lines(started, output('x'))), reader)
  const other = read(Buffer.concat(lines(started, output('y'), output('z'))), reader)
  expect(other).toMatchObject({ wrong: null })
  expect(other.entries[1]?.event).toMatchObject({ output: 'y' })
})

test('what lies behind a sector that was never written is its torn tail, and zeros elsewhere are wrong', () => {
  const parts = lines(started, output('x'.repeat(2000)), output('y'), TERMINATED)
  const bytes = Buffer.concat(parts)
  const behind = bytes.length - (parts[0] as Buffer).length
  const holed = (from: number, to: number) => read(Buffer.from(bytes).fill(0, from, to))
  expect(holed(1024, 2048)).toMatchObject({ wrong: null, tailBytes: behind, entries: [{ sequence: 0 }] })
  expect(holed((parts[0] as Buffer).length, 1024)).toMatchObject({ wrong: null, tailBytes: behind })
  expect(holed(1024, 2047).wrong).not.toBeNull()
  expect(holed(1025, 2048).wrong).not.toBeNull()
})

test('a bit that is turned in any byte of a line counts', () => {
  const bytes = Buffer.concat(lines(started, output('x')))
  const start = bytes.indexOf(0x0a) + 1
  for (let at = start; at < bytes.length; at += 1) {
    const spoiled = Buffer.from(bytes)
    spoiled[at] = (spoiled[at] ?? 0) ^ (1 << (at % 8))
    const { wrong, tailBytes } = read(spoiled)
    expect(wrong !== null || tailBytes > 0, `bit at ${at}`).toBe(true)
  }
})

test('a signed line that is no canonical JSON, of version 1, or without an event is wrong', () => {
  const twisted = (twist: (payload: object) => unknown) =>
    read(Buffer.concat(makeLines({ key: madeKey(1), events: [started], twist }))).wrong
  expect(twisted((payload) => JSON.stringify(payload).replace(':', ': '))).toBe('line 0 is no canonical JSON')
  expect(twisted(() => '{"a":1,"a":1}')).toBe('line 0 is no canonical JSON')
  expect(twisted(() => 'nonsense')).toBe('line 0 is no canonical JSON')
  expect(twisted((payload) => ({ ...payload, version: 1 }))).toBe('line 0 is no record of format version 2')
  expect(twisted((payload) => ({ ...payload, xtra: 1 }))).toBe('line 0 is no record of format version 2')
  const bare = read(Buffer.concat(makeLines({ key: madeKey(1), events: ['Started'] })))
  expect(bare.wrong).toMatch(/^line 0 /)
  const none = read(Buffer.concat(makeLines({ key: madeKey(1), events: [output('x')] })))
  expect(none.wrong).toBe('line 0 is ImprovementOutput')
})

test('a name that is none of a journal is not read, and 31 bytes are no key', () => {
  expect(new JournalReader().read('notes.txt', Buffer.alloc(0), KEY)).toBeNull()
  expect(keyOfSeed(Buffer.alloc(31))).toBeNull()
  expect(KEY?.publicHex).toBe(madeKey(1).publicHex)
})

test('its canonical JSON is that of the written format, for odd names and texts too', () => {
  const odd = {
    '10': 1,
    '9': 2,
    é: [null, true, 1e21, -0.5],
    '\ud83d\ude00': 'a\u0001"\\/\u007f',
    '\ufffd': { b: 1, a: {} },
  }
  expect(canonicalText(odd)).toBe(canonical(odd))
})
