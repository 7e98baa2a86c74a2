import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Bug, byCodePoint, canonical } from '../../src/core/index.ts'

describe('canonical() writes the one text of a value', () => {
  test.each([
    [null, 'null'],
    [true, 'true'],
    [-0, '0'],
    [1.0, '1'],
    [1e21, '1e+21'],
    [1e-7, '1e-7'],
    [333333333.3333333, '333333333.3333333'],
    [4.5, '4.5'],
    [0.002, '0.002'],
    [1e-27, '1e-27'],
    [5e-324, '5e-324'],
    ['', '""'],
    ['/é\u007f\u2028😀', '"/é\u007f\u2028😀"'],
    ['"\\\b\f\n\r\t', '"\\"\\\\\\b\\f\\n\\r\\t"'],
    ['\u0000\u001f\u000b', '"\\u0000\\u001f\\u000b"'],
    [[], '[]'],
    [{}, '{}'],
    [[3, 1, [2]], '[3,1,[2]]'],
    [{ b: 1, a: { d: [], c: '' } }, '{"a":{"c":"","d":[]},"b":1}'],
    [{ 10: 'ten', 9: 'nine', 1: 'one' }, '{"1":"one","10":"ten","9":"nine"}'],
    [{ a: 1, '': 2, A: 3, aa: 4 }, '{"":2,"A":3,"a":1,"aa":4}'],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  ])('%j', (value, text) => {
    expect(canonical(value)).toBe(text)
  })

  test('the sorting example of RFC 8785, with names in the order of their UTF-8 bytes', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    }
    const text = canonical(value)
    const inOrder = Object.values(value).sort((left, right) => text.indexOf(left) - text.indexOf(right))
    expect(inOrder).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Hebrew Letter Dalet With Dagesh', // UTF-16 order would put the emoji first
      'Emoji: Grinning Face',
    ])
  })

  test('a name above U+FFFF stands behind one at U+E000, as in UTF-8', () => {
    expect(canonical({ '😀': 1, '\ue000': 2, '\uffff': 3, a: 4 })).toBe('{"a":4,"\ue000":2,"\uffff":3,"😀":1}')
  })
})

describe('canonical() refuses what is no plain JSON, and writes nothing near it', () => {
  const sparse: unknown[] = [1]
  sparse[2] = 3
  const circle: Record<string, unknown> = {}
  circle.self = circle
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['an undefined member', { a: undefined }],
    ['a hole', sparse],
    ['NaN', [Number.NaN]],
    ['infinity', { a: Number.NEGATIVE_INFINITY }],
    ['a bigint', 1n],
    ['a function', { toJSON: () => 1 }],
    ['a symbol', Symbol('a')],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['bytes', Buffer.from('a')],
    ['an instance', { a: new (class Thing {})() }],
    ['a boxed string', Object('a')],
    ['a lone surrogate', '\ud800'],
    ['a lone surrogate in a name', { '\udc00': 1 }],
    ['a circle', circle],
  ])('%s', (_name, value) => {
    expect(() => canonical(value)).toThrow(Bug)
  })

  test('more than 512 levels', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
    expect(canonical(nested(512))).toHaveLength(1025)
    expect(() => canonical(nested(513))).toThrow(Bug)
  })
})

describe('against random values', () => {
  const values = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' })

  test('byCodePoint() orders as the bytes of UTF-8 do', () => {
    const near = fc.string({ unit: fc.constantFrom('a', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}') })
    fc.assert(
      fc.property(near, near, (left, right) => {
        const bytes = Buffer.compare(Buffer.from(left), Buffer.from(right))
        expect(Math.sign(byCodePoint(left, right))).toBe(bytes)
      }),
      { numRuns: 1000 },
    )
  })

  test('another implementation writes the same text where UTF-16 and UTF-8 order agree', () => {
    const bmp = fc.jsonValue({ maxDepth: 4, stringUnit: fc.constantFrom('a', 'B', '1', '_', '"', '\n', 'é', '\u20ac') })
    fc.assert(
      fc.property(bmp, (value) => {
        expect(canonical(value)).toBe(canonicalize(value))
      }),
      { numRuns: 500 },
    )
  })

  test('the text is read back as the same value, and its text is the same again', () => {
    fc.assert(
      fc.property(values, (value) => {
        const text = canonical(value)
        const again: unknown = JSON.parse(text)
        expect(again).toEqual(JSON.parse(JSON.stringify(value)))
        expect(canonical(again)).toBe(text)
      }),
      { numRuns: 500 },
    )
  })

  test('the order in which members were added does not matter', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.integer()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse())
        expect(canonical(reversed)).toBe(canonical(value))
      }),
    )
  })
})
