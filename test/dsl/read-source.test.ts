/** From bytes to text, or to the place where they are none. */
import { describe, expect, test } from 'vitest'
import { parse, readSource, SOURCE_BYTES_MAX } from '../../src/dsl/index.ts'

const bytes = (...parts: readonly (string | readonly number[])[]): Uint8Array =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)))

describe('a source is read as it is', () => {
  test.each([
    ['plain', 'agent a {}\n', 'agent a {}\n'],
    ['with characters of every length', '# \u00e9 \u20ac \u{1f600}', '# \u00e9 \u20ac \u{1f600}'],
    ['with other line ends', '# a\r\nagent a {}\r\n', '# a\r\nagent a {}\r\n'],
    ['empty', '', ''],
  ])('%s', (_name, source, text) => {
    expect(readSource(bytes(source))).toEqual({ text, diagnostics: [] })
  })

  test('without its byte order mark, which counts in no place', () => {
    const { text } = readSource(bytes([0xef, 0xbb, 0xbf], 'agnet a {}'))
    expect(text).toBe('agnet a {}')
    expect(parse(text).diagnostics[0]?.start).toEqual({ line: 1, column: 1, offset: 0 })
  })

  test('with a second byte order mark, which is no part of the language', () => {
    const { text } = readSource(bytes([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], 'agent a {}'))
    expect(parse(text).diagnostics).toMatchObject([{ code: 'E100', start: { column: 1 } }])
  })

  test('up to a mebibyte', () => {
    expect(readSource(bytes('#'.repeat(SOURCE_BYTES_MAX))).diagnostics).toEqual([])
  })
})

describe('a source is refused with its place', () => {
  test.each([
    ['a NUL', bytes('agent a {}\n# \u00e9', [0], 'x'), { line: 2, column: 4, offset: 15 }],
    ['a byte that begins no character', bytes('a\n\u00e9', [0xff], 'b'), { line: 2, column: 2, offset: 4 }],
    ['a character that is cut off by another', bytes('ab', [0xe2, 0x82], 'c'), { line: 1, column: 3, offset: 2 }],
    ['a character that is cut off by the end', bytes('ab', [0xf0, 0x9f, 0x98]), { line: 1, column: 3, offset: 2 }],
    ['a character that is too long for what it is', bytes('a', [0xc0, 0xaf]), { line: 1, column: 2, offset: 1 }],
    ['half of a pair', bytes('a', [0xed, 0xa0, 0x80]), { line: 1, column: 2, offset: 1 }],
    ['another encoding', bytes('caf', [0xe9], ' {}'), { line: 1, column: 4, offset: 3 }],
    ['two bytes a character', bytes([0xff, 0xfe], 'a', [0]), { line: 1, column: 1, offset: 0 }],
    ['a byte too many', bytes('#'.repeat(SOURCE_BYTES_MAX + 1)), { line: 1, column: 1, offset: 0 }],
  ])('%s', (_name, source, start) => {
    const { text, diagnostics } = readSource(source)
    expect(text).toBe('')
    expect(diagnostics).toMatchObject([{ kind: 'syntax', code: 'E102', hint: expect.any(String), start }])
  })

  test('a mebibyte whose last byte is wrong', () => {
    const { diagnostics } = readSource(bytes('a'.repeat(SOURCE_BYTES_MAX - 1), [0xff]))
    expect(diagnostics[0]?.start.offset).toBe(SOURCE_BYTES_MAX - 1)
  })
})
