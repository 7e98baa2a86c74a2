import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readJson } from '../../src/core/index.ts'

describe('a long string', () => {
  const lengths = [0, 1, 62, 63, 64, 65, 66, 127, 128, 129, 1000]

  test('reads the same whatever stands at the place where the reader changes its pace', () => {
    for (const length of lengths) {
      for (const next of ['', 'y', '"', '\\', '\n', '\u0000', 'é', '漢', '😀', '\u2028', '"\\"', '😀"']) {
        const text = `${'x'.repeat(length)}${next}${'z'.repeat(200)}${next}`
        expect(readJson(JSON.stringify(text))).toBe(text)
        expect(readJson(JSON.stringify([text, { [text]: text }]))).toEqual([text, { [text]: text }])
      }
    }
  })

  test.each(lengths)('of %i units and a fault is refused at the fault', (length) => {
    const start = `"${'x'.repeat(length)}`
    const column = length + 2
    expect(() => readJson(`${start}\u0001"`)).toThrow(`bare in a string at line 1, column ${column}`)
    expect(() => readJson(`${start}\\q"`)).toThrow(`an escape is unknown at line 1, column ${column}`)
    expect(() => readJson(`${start}\ud800"`)).toThrow('lone surrogate')
    expect(() => readJson(start)).toThrow('a string does not end')
    expect(() => readJson(`${start}\\`)).toThrow('a string does not end')
  })
})

describe('escapes in a string', () => {
  test('give what was escaped, however many there are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(readJson(JSON.stringify(text))).toBe(text)
      }),
    )
    const many = '"\\\n\u0001/'.repeat(50_000)
    expect(readJson(JSON.stringify(many)) === many).toBe(true)
    expect(readJson('"\\u0041\\u00e9\\/\\b\\f\\ud83d\\ude00"')).toBe('Aé/\b\f😀')
  })

  test.each([
    ['an unknown letter', '["\\n\\\\\\u0041\\x"]', 'an escape is unknown at line 1, column 13'],
    ['an upper-case letter', '["\\N"]', 'an escape is unknown at line 1, column 3'],
    ['too few digits', '["\\\\\\u12"]', 'an escape is malformed at line 1, column 5'],
    ['a digit that is none', '["\\t\\u12g4"]', 'an escape is malformed at line 1, column 5'],
    ['half a pair', '["\\n\\ud83d"]', 'lone surrogate'],
    ['a pair the wrong way round', '["\\ude00\\ud83d"]', 'lone surrogate'],
    ['an escaped end', '["\\"]', 'a string does not end'],
  ])('with %s are refused at their place', (_what, text, words) => {
    expect(() => readJson(text)).toThrow(
      expect.objectContaining({ code: 'INVALID_JSON', message: expect.stringContaining(words) }),
    )
  })
})
