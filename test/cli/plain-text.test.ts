import { expect, test } from 'vitest'
import { cut, jsonLine, oneLine, plain, widthOf, wrap } from '../../src/cli/plain-text.ts'

test.each([
  ['colours and cursor movement', '\u001b[31mred\u001b[2J\u001b[H', 'red'],
  ['titles and links', '\u001b]0;title\u0007a\u001b]8;;http://x\u0007b', 'ab'],
  ['eight-bit control characters', 'a\u009b2Jb', 'ab'],
  ['a bare escape', 'a\u001bb', 'ab'],
  ['bells, backspaces and deletes', 'a\u0007\u0008\u007fb', 'ab'],
  ['a carriage return that would overwrite its line', 'safe\rgone', 'safe\ngone'],
  ['marks that turn the direction of text', 'a\u202eb\u2066c', 'abc'],
  ['letters that nobody sees', 'a\u{e0041}b\ufeffc', 'abc'],
])('plain() takes %s out of a text', (_what, text, wanted) => {
  expect(plain(text)).toBe(wanted)
})

test('plain() keeps lines, tabs, accents, emoji and other scripts', () => {
  const text = 'eins\n\tzwei é 漢字 👩‍👩‍👧 نص'
  expect(plain(text)).toBe(text)
})

test('oneLine() has one line, and ends with an ellipsis where it was cut', () => {
  expect(oneLine(' a\n\n b\tc ')).toBe('a b c')
  expect(oneLine('abcdefgh', 5)).toBe('abcd…')
  expect(cut('漢字漢字', 5)).toBe('漢字…')
})

test('widthOf() counts columns and not code units', () => {
  expect(widthOf('abc')).toBe(3)
  expect(widthOf('漢字')).toBe(4)
  expect(widthOf('e\u0301')).toBe(1)
})

test('wrap() breaks at spaces, and inside a word only where it must', () => {
  expect(wrap('one two three four', 9)).toEqual(['one two', 'three', 'four'])
  expect(wrap('a0123456789b', 8)).toEqual(['a0123456', '789b'])
  for (const line of wrap(`${'x'.repeat(50)} ${'漢'.repeat(20)} end`, 10)) expect(widthOf(line)).toBeLessThanOrEqual(10)
})

test('jsonLine() is the same value for a reader, and holds nothing that a terminal obeys', () => {
  const value = { text: 'a\u001b[31m\u009b\u007f\u202e\u{e0041}漢' }
  const line = jsonLine(value)
  expect(plain(line)).toBe(line)
  expect(JSON.parse(line)).toEqual(value)
})
