/** The strict JSON reader, which stands behind every other door: what it takes means the same to every reader. */
import fc from 'fast-check'
import { canonical, digestOfCanonical, isFault, type Json, readJson, readJsonMembers } from '../../../src/core/index.ts'
import { answer, must, plain, pure, type Target } from '../target.ts'

const BOUNDS = { depthMax: 64, bytesMax: 4096 }

export const strictJson: Target = {
  name: 'strict-json',
  property:
    'what is read is what JSON.parse reads and names nothing twice, its canonical text reads as the same value and has the same digest, and what is refused is INVALID_JSON or PAYLOAD_TOO_LARGE',
  seeds: [
    '{"a":[1,-2.5e3,true,false,null,"\\u00e9\\ud83d\\ude00\\n"],"b":{"c":{}}}',
    '"\\ud800"',
    '[9007199254740991,1e-7,-0,1E+2]',
    ' {\r\n\t"x" : [ ] } ',
    Buffer.from('\ufeff{}'),
    '{"a":1,"a":2}',
    '{"__proto__":{"polluted":true}}',
    Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
    '['.repeat(80),
  ],
  words: [
    '"__proto__":',
    '\\ud83d',
    '\\ude00',
    '\\u0000',
    '1e400',
    '9007199254740993',
    'true',
    'null',
    '"constructor"',
    '\\u005f',
  ],
  fresh: fc.json({ maxDepth: 5 }),
  bytesMax: 8192,
  steps: { fixed: 4000, perByte: 120 },
  open: () => pure(check),
}

function check(input: Uint8Array): void {
  const read = answer(() => readJson(input, BOUNDS))
  if (read.kind === 'Fault') {
    must(isFault(read.fault, 'INVALID_JSON', 'PAYLOAD_TOO_LARGE'), 'a refusal has one of two codes')
    must(input.length <= BOUNDS.bytesMax === (read.fault.code === 'INVALID_JSON'), 'what is too large is said to be so')
    return
  }
  plain(read.value)
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(input)
  must(canonical(JSON.parse(text)) === canonical(read.value), 'JSON.parse reads the same value')
  must(namesIn(text) === membersIn(read.value), 'no name stands twice in one object')
  const written = canonical(read.value)
  const again = readJson(written, { depthMax: BOUNDS.depthMax })
  must(canonical(again) === written, 'canonical text reads as itself')
  must(digestOfCanonical(canonical(again)) === digestOfCanonical(written), 'one value has one digest')
  const { value, spans } = readJsonMembers(text, BOUNDS)
  must(canonical(value) === written, 'both readers read the same')
  for (const [name, { start, end }] of spans) {
    const member = (value as Record<string, unknown>)[name]
    must(canonical(JSON.parse(text.slice(start, end))) === canonical(member), 'the span of a member is its text')
  }
}

/** Strings of a JSON text with a colon behind them. */
function namesIn(text: string): number {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined).length
}

function membersIn(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value).reduce((sum: number, member) => sum + membersIn(member), 0)
  return Array.isArray(value) ? inner : inner + Object.keys(value).length
}
