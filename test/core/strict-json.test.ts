import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isFault, readJson, readJsonMembers } from '../../src/core/index.ts'

const refusal = (source: string | Uint8Array, bounds = {}): string => {
  try {
    readJson(source, bounds)
  } catch (error) {
    if (isFault(error, 'INVALID_JSON', 'PAYLOAD_TOO_LARGE')) return error.message
    throw error
  }
  throw new Error(`it was read: ${String(source).slice(0, 80)}`)
}

describe('readJson() refuses what two readers could understand differently', () => {
  test.each([
    ['equal names', '{"a":1,"a":1}', 'the name "a" appears twice'],
    ['equal names, one of them escaped', '{"a":1,"\\u0061":2}', 'the name "a" appears twice'],
    ['equal names, deeper', '[{"x":{"b":1,"b":2}}]', 'appears twice'],
    ['__proto__', '{"__proto__":{}}', '"__proto__" is not allowed'],
    ['an escaped __proto__', '{"\\u005f_proto__":{}}', '"__proto__" is not allowed'],
    ['a lone high surrogate', '["\\ud800"]', 'lone surrogate'],
    ['a lone low surrogate', '["\\udc00"]', 'lone surrogate'],
    ['surrogates in the wrong order', '["\\udc00\\ud800"]', 'lone surrogate'],
    ['a bare lone surrogate', '["\ud800"]', 'lone surrogate'],
    ['a lone surrogate in a name', '{"\\ud800":1}', 'lone surrogate'],
    ['2^53', '9007199254740992', 'beyond 2^53-1'],
    ['-2^53', '[-9007199254740992]', 'beyond 2^53-1'],
    ['2^53+1, which would be rounded', '9007199254740993', 'beyond 2^53-1'],
    ['a large integer with an exponent', '1e16', 'beyond 2^53-1'],
    ['a large integer with a point', '9007199254740993.0', 'beyond 2^53-1'],
    ['a number that overflows', '1e400', 'too large'],
    ['a byte order mark', '\ufeff{}', 'a value is expected'],
  ])('%s [trap:json-equal-names]', (_name, text, reason) => {
    expect(refusal(text)).toContain(reason)
  })
})

describe('readJson() refuses what is not JSON', () => {
  test.each([
    ['', 'the text ends where a value is expected'],
    ['  \n', 'the text ends where a value is expected'],
    ['{', 'a member name in double quotes is expected'],
    ['{"a"', 'a colon is expected'],
    ['{"a":', 'the text ends'],
    ['{"a":1', 'a comma or a closing brace is expected'],
    ['{"a":1,}', 'a member name in double quotes is expected'],
    ["{'a':1}", 'a member name in double quotes is expected'],
    ['{a:1}', 'a member name in double quotes is expected'],
    ['{"a":1 "b":2}', 'a comma or a closing brace is expected'],
    ['[', 'the text ends'],
    ['[1', 'a comma or a closing bracket is expected'],
    ['[1,]', 'a value is expected'],
    ['[,1]', 'a value is expected'],
    ['[1 2]', 'a comma or a closing bracket is expected'],
    ['"abc', 'a string does not end'],
    ['"abc\\', 'a string does not end'],
    ['"abc\\"', 'a string does not end'],
    ['"a\nb"', 'a control character stands bare'],
    ['"a\u0000b"', 'a control character stands bare'],
    ['"\\x"', 'an escape is unknown'],
    ['"\\\u0001"', 'an escape is unknown'],
    ['"\\u12"', 'an escape is malformed'],
    ['"\\u12g4"', 'an escape is malformed'],
    ['"\\u"', 'an escape is malformed'],
    ['01', 'something follows the value'],
    ['1.', 'something follows the value'],
    ['1e', 'something follows the value'],
    ['-', 'a number is malformed'],
    ['.5', 'a value is expected'],
    ['+1', 'a value is expected'],
    ['--1', 'a number is malformed'],
    ['0x10', 'something follows the value'],
    ['1_000', 'something follows the value'],
    ['NaN', 'a value is expected'],
    ['Infinity', 'a value is expected'],
    ['-Infinity', 'a number is malformed'],
    ['undefined', 'a value is expected'],
    ['nul', 'a value is expected'],
    ['nulll', 'something follows the value'],
    ['True', 'a value is expected'],
    ['{} {}', 'something follows the value'],
    ['1 // comment', 'something follows the value'],
    ['/* comment */ 1', 'a value is expected'],
    ['\u00a01', 'a value is expected'],
    ['[1,\u20282]', 'a value is expected'],
  ])('%j', (text, reason) => {
    expect(refusal(text)).toContain(reason)
  })

  test.each([
    ['a continuation byte alone', [0x22, 0x80, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a cut sequence', [0x22, 0xe2, 0x82, 0x22]],
    ['a code point beyond U+10FFFF', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
  ])('bytes that are not UTF-8: %s', (_name, bytes) => {
    expect(refusal(Uint8Array.from(bytes))).toContain('not valid UTF-8')
  })

  test('bytes that begin with a byte order mark', () => {
    expect(refusal(Uint8Array.from([0xef, 0xbb, 0xbf, 0x31]))).toContain('a value is expected')
  })

  test('UTF-16', () => {
    expect(refusal(Buffer.from('{"a":1}', 'utf16le'))).toContain('Cannot read JSON')
  })
})

describe('readJson() has bounds', () => {
  test('as many levels as allowed are read, and one more is refused', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    expect(readJson(nested(128))).toBeInstanceOf(Array)
    expect(refusal(nested(129))).toContain('more than 128 levels')
    expect(readJson(nested(4), { depthMax: 4 })).toEqual([[[[]]]])
    expect(refusal(nested(5), { depthMax: 4 })).toContain('more than 4 levels')
    expect(refusal('{"a":{"a":{"a":1}}}', { depthMax: 2 })).toContain('more than 2 levels')
  })

  test('levels are counted by depth and not by number', () => {
    expect(readJson(`[${'[],'.repeat(1000)}[]]`, { depthMax: 2 })).toHaveLength(1001)
  })

  test.each(['[', '{"a":', '[{"a":'])('a million levels of %s are refused and do not overflow the stack', (open) => {
    expect(refusal(open.repeat(1_000_000))).toContain('more than 128 levels')
  })

  test('length is counted in bytes of UTF-8', () => {
    expect(readJson('"é"', { bytesMax: 4 })).toBe('é')
    expect(refusal('"é"', { bytesMax: 3 })).toContain('4 bytes are more than the 3 allowed')
    expect(refusal(Buffer.from('"é"'), { bytesMax: 3 })).toContain('4 bytes are more than the 3 allowed')
  })

  test('a text that is too long has a code of its own', () => {
    expect(() => readJson('[1,2]', { bytesMax: 4 })).toThrowError(
      expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }),
    )
  })
})

test('a refusal names the line and the column, and never the text around it', () => {
  try {
    readJson('{\n  "token": "s3cret",\n  "x": tru\n}')
    expect.unreachable()
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_JSON', facts: { line: 3, column: 8 } })
    expect(String(error)).not.toContain('s3cret')
    expect(String(error)).toContain('at line 3, column 8')
  }
})

test.each([
  ['null', null],
  [' true ', true],
  ['-0', -0],
  ['0.5e-3', 0.0005],
  ['9007199254740991', 9007199254740991],
  ['1E5', 100000],
  ['"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'],
  ['"\\u00e9\\uD83D\\uDE00"', 'é😀'],
  ['"😀\u2028\u007f"', '😀\u2028\u007f'],
  ['"\\\\u0041"', '\\u0041'],
  ['{"constructor":1,"toString":2,"":3}', { constructor: 1, toString: 2, '': 3 }],
  ['\t[\r\n1 , 2 ]', [1, 2]],
])('readJson(%j) is read', (text, value) => {
  expect(readJson(text)).toEqual(value)
  expect(readJson(Buffer.from(text))).toEqual(value)
})

describe('against random input', () => {
  const plain = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }).filter(isReadable)

  test('readJson() reads what JSON.stringify wrote, as JSON.parse does', () => {
    fc.assert(
      fc.property(plain, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space)
        expect(readJson(text)).toEqual(JSON.parse(text))
        expect(readJson(Buffer.from(text))).toEqual(JSON.parse(text))
      }),
      { numRuns: 500 },
    )
  })

  // Spans are only known to the reader that looks at every character; without them the engine reads first.
  test('readJson() says the same of a text as the reader of spans, which asks the engine for nothing', () => {
    const name = fc.constantFrom('a', 'b', '', ':', '":', '\\', 'a\\"', '__proto__', 'constructor', 'é', '\ud83d\ude00')
    const leaf = fc.oneof(name, fc.constantFrom('2^53', 'lone', 'large'), fc.double(), fc.integer(), fc.constant(null))
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        leaf,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.array(fc.tuple(name, tie('tree')), { maxLength: 3 }).map((members) => new Map(members.entries())),
      ),
    }))
    const space = fc.constantFrom('', ' ', '\n')
    const seen = { read: 0, refused: 0 }
    fc.assert(
      fc.property(tree, space, fc.integer({ min: 1, max: 5 }), (value, gap, depthMax) => {
        const text = textOf(value, gap)
        const verdict = verdictOf(() => readJson(text, { depthMax }))
        expect(verdict).toEqual(verdictOf(() => readJsonMembers(text, { depthMax }).value))
        expect(verdictOf(() => readJson(Buffer.from(text), { depthMax }))).toEqual(verdict)
        seen[verdict.kind] += 1
      }),
      { numRuns: 3000 },
    )
    expect(seen.read).toBeGreaterThan(300)
    expect(seen.refused).toBeGreaterThan(300)
  })

  test('what readJson() accepts, JSON.parse accepts with the same value', () => {
    const pieces = ['{', '}', '[', ']', ',', ':', '"a"', '"b"', '"', '\\', '\\u00', '41', '1', '-', '.', 'e', '0', ' ']
    const words = [...pieces, 'true', 'null', '\n', '\u0001', '\ud83d', '\ude00', '1e5', '""']
    let accepted = 0
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 9 }), (parts) => {
        const text = parts.join('')
        let value: unknown
        try {
          value = readJson(text)
        } catch (error) {
          expect(isFault(error, 'INVALID_JSON')).toBe(true)
          return
        }
        accepted += 1
        expect(value).toEqual(JSON.parse(text))
      }),
      { numRuns: 5000 },
    )
    expect(accepted).toBeGreaterThan(50)
  })

  test('a text with one character changed is read like JSON.parse or refused', () => {
    fc.assert(
      fc.property(plain, fc.nat(), fc.string({ unit: 'binary', minLength: 0, maxLength: 2 }), (value, at, patch) => {
        const text = JSON.stringify(value)
        const place = at % text.length
        const damaged = text.slice(0, place) + patch + text.slice(place + 1)
        let read: unknown
        try {
          read = readJson(damaged)
        } catch (error) {
          expect(isFault(error, 'INVALID_JSON')).toBe(true)
          return
        }
        expect(read).toEqual(JSON.parse(damaged))
      }),
      { numRuns: 500 },
    )
  })

  test('a mebibyte of random bytes is refused and never crashes', () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom('', '"', '[', '{"a":"', '[1,'), (seed, start) => {
        const bytes = noise(seed, 1024 * 1024)
        bytes.set(Buffer.from(start))
        expect(refusal(bytes)).toContain('Cannot read JSON')
        expect(refusal(Buffer.from(bytes).toString('latin1'))).toContain('Cannot read JSON')
      }),
      { numRuns: 10 },
    )
  })
})

test('readJsonMembers() tells where the members of the outermost object stand', () => {
  const text = '{ "a" : [1, {"b":2}] ,"b":"x" , "c":1.0}'
  const { value, spans } = readJsonMembers(text)
  expect(value).toEqual({ a: [1, { b: 2 }], b: 'x', c: 1 })
  const cut = Object.fromEntries([...spans].map(([name, { start, end }]) => [name, text.slice(start, end)]))
  expect(cut).toEqual({ a: '[1, {"b":2}]', b: '"x"', c: '1.0' })
})

test('readJsonMembers() has no spans for what is no object', () => {
  expect(readJsonMembers('[{"a":1}]').spans.size).toBe(0)
})

/** False for what we refuse although it is JSON: integers that would be rounded, and the one forbidden name. */
function isReadable(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, member]) => name !== '__proto__' && isReadable(member))
}

/** Bytes that depend on a seed alone. */
function noise(seed: number, count: number): Uint8Array {
  const bytes = new Uint8Array(count)
  let state = seed | 1
  for (let index = 0; index < count; index += 1) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes[index] = state
  }
  return bytes
}

/** JSON in which a Map is an object whose names may be equal, and some words stand for what is refused. */
function textOf(value: unknown, gap: string): string {
  if (value === '2^53') return '9007199254740992'
  if (value === 'lone') return '"\\udc00"'
  if (value === 'large') return '1e400'
  if (Array.isArray(value)) return `[${gap}${value.map((item) => textOf(item, gap)).join(`,${gap}`)}]`
  if (!(value instanceof Map)) return JSON.stringify(value)
  const members = [...(value as Map<number, [string, unknown]>).values()]
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}${gap}:${gap}${textOf(member, gap)}`).join(',')}}`
}

function verdictOf(read: () => unknown): { kind: 'read'; value: unknown } | { kind: 'refused'; why: string } {
  try {
    return { kind: 'read', value: read() }
  } catch (error) {
    if (isFault(error, 'INVALID_JSON')) return { kind: 'refused', why: error.message }
    throw error
  }
}
