/** Lines and columns for people, bytes for programs. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineMap } from '../../src/dsl/index.ts'

test.each([
  ['the beginning', 'ab\ncd', 0, { line: 1, column: 1, offset: 0 }],
  ['the end of a line', 'ab\ncd', 2, { line: 1, column: 3, offset: 2 }],
  ['the next line', 'ab\ncd', 3, { line: 2, column: 1, offset: 3 }],
  ['the end of the text', 'ab\ncd', 5, { line: 2, column: 3, offset: 5 }],
  ['behind a line end of two characters', 'ab\r\ncd', 4, { line: 2, column: 1, offset: 4 }],
  ['behind wider characters', '\u00e9\u20ac\u{1f600}x', 4, { line: 1, column: 5, offset: 9 }],
  ['inside a pair', '\u{1f600}x', 1, { line: 1, column: 2, offset: 2 }],
  ['behind half of a pair', '\ud800x', 1, { line: 1, column: 2, offset: 3 }],
  ['nothing', '', 0, { line: 1, column: 1, offset: 0 }],
  ['before the text', 'ab', -5, { line: 1, column: 1, offset: 0 }],
  ['behind the text', 'ab', 99, { line: 1, column: 3, offset: 2 }],
])('%s', (_name, text, at, position) => {
  expect(new LineMap(text).positionAt(at)).toEqual(position)
})

test('every place of any text is what counting gives', () => {
  const piece = fc.constantFrom(
    'a',
    '\n',
    '\r\n',
    '\u00e9',
    '\u20ac',
    '\u{1f600}',
    'x'.repeat(300),
    '\u20ac'.repeat(255),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.nat(), (pieces, nat) => {
      const text = pieces.join('')
      const at = nat % (text.length + 1)
      const before = text.slice(0, at)
      if (!before.isWellFormed()) return
      const line = before.split('\n')
      const wanted = { line: line.length, column: (line.at(-1)?.length ?? 0) + 1, offset: Buffer.byteLength(before) }
      expect(new LineMap(text).positionAt(at)).toEqual(wanted)
    }),
    { numRuns: 500 },
  )
})
