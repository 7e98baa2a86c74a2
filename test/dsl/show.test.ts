/** How a diagnostic looks to a person, and to an editor. */
import { describe, expect, test } from 'vitest'
import { checkSource, diagnosticJson, parse, showDiagnostic } from '../../src/dsl/index.ts'

function shown(text: string, file = 'agents/a.symbi'): readonly string[] {
  const [first] = checkSource(parse(text))
  if (first === undefined) throw new Error('nothing was found')
  return showDiagnostic(first, text, file)
}

test('the place, the line, a caret under the place, and what to write', () => {
  expect(shown('agent a {\n    with sandbox = "none" {}\n}\n')).toEqual([
    'agents/a.symbi:2:20: E130 no sandbox "none" can be chosen',
    '        with sandbox = "none" {}',
    '                       ^^^^^^',
    expect.stringMatching(/^ {4}hint: Choose "docker"/),
  ])
})

test('other places follow, each with its own line', () => {
  expect(shown('agent a {\n  policy p {\n').slice(3)).toEqual([
    '    hint: Add the missing }',
    '    agents/a.symbi:3:1: the file ends here',
  ])
})

test('a place of several lines is marked to the end of its first', () => {
  const [first] = checkSource(parse('agent a { with x = 1 {} }'))
  const diagnostic = { ...first!, end: { line: 2, column: 3, offset: 99 } }
  expect(showDiagnostic(diagnostic, 'agent a { with x = 1 {} }', 'f')[2]).toBe(`    ${' '.repeat(15)}${'^'.repeat(10)}`)
})

test('a place at the end of the text has a caret of its own', () => {
  expect(shown('agent a').slice(1, 3)).toEqual(['    agent a', '           ^'])
})

test('there is no line to show of a text that was not read', () => {
  const [first] = checkSource(parse('agnet'))
  expect(showDiagnostic(first!, '', 'f')).toEqual([
    'f:1:1: E110 "agnet" begins no item',
    expect.stringContaining('hint'),
  ])
})

describe('a long line', () => {
  test.each([
    [0, 1000],
    [1000, 0],
    [1000, 1000],
    [10, 10],
  ])('is shown around the place, with %i letters before it and %i behind', (before, behind) => {
    const text = `metadata { a = "${'x'.repeat(before)}" } agnet ${'y'.repeat(behind)}`
    const found = parse(text).diagnostics.find(({ code }) => code === 'E110')
    const [, line = '', caret = ''] = showDiagnostic(found!, text, 'f')
    expect(line.length).toBeLessThanOrEqual(170)
    expect(line.slice(caret.indexOf('^'), caret.lastIndexOf('^') + 1)).toBe('agnet')
    expect(line.startsWith('    …')).toBe(before > 80)
    expect(line.endsWith('…')).toBe(behind > 80)
  })

  test.each([0, 1, 2, 3])('is cut into whole characters, %i letters before them', (letters) => {
    const text = `metadata { a = "${'x'.repeat(letters)}${'\u{1f600}'.repeat(200)}" } agnet`
    const found = parse(text).diagnostics.find(({ code }) => code === 'E110')
    const [, line = ''] = showDiagnostic(found!, text, 'f')
    expect(line.isWellFormed()).toBe(true)
    expect(line).toContain('\u{1f600}')
  })
})

describe('what would steer a terminal', () => {
  test.each([
    ['an escape sequence', 'agent a { \u001b[2J@ }', '<U+001B>'],
    ['a carriage return', 'agent a { # x\ry\n@ }', '<U+000D>'],
    ['a turn of direction', 'agent a { \u202e@ }', '<U+202E>'],
    ['an invisible space', 'agent a { \u200b@ }', '<U+200B>'],
    ['a line separator', 'agent a { \u2028@ }', '<U+2028>'],
    ['a tag', 'agent a { \u{e0041}@ }', '<U+E0041>'],
  ])('is written as a code point: %s', (_name, text, code) => {
    const lines = shown(text)
    expect(lines.join('\n')).toContain(code)
    expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  })

  test('is written as a code point in the name of the file, too', () => {
    expect(shown('agnet', 'a\u001b[31m\u202e.symbi')[0]).toMatch(/^a<U\+001B>\[31m<U\+202E>\.symbi:1:1: /)
  })
})

test.each([
  ['a tab', '\tagnet', '     agnet', '     ^^^^^'],
  [
    'wide characters',
    '# \u65e5\u672c\nmetadata { a = "\u65e5\u672c" } agnet',
    '    metadata { a = "\u65e5\u672c" } agnet',
    `    ${' '.repeat(24)}^^^^^`,
  ],
  [
    'marks above letters',
    'metadata { a = "e\u0301" } agnet',
    '    metadata { a = "e\u0301" } agnet',
    `    ${' '.repeat(21)}^^^^^`,
  ],
  [
    'something made visible',
    'metadata { a = "\u200b" } agnet',
    '    metadata { a = "<U+200B>" } agnet',
    `    ${' '.repeat(28)}^^^^^`,
  ],
])('the caret stands under what is shown behind %s', (_name, text, line, caret) => {
  const found = parse(text).diagnostics.find(({ code }) => code === 'E110')
  expect(showDiagnostic(found!, text, 'f').slice(1, 3)).toEqual([line, caret])
})

test('an editor gets lines, columns and bytes', () => {
  const [twice] = checkSource(parse('# \u00e9\nagent a {}\nagent a {}'))
  expect(diagnosticJson(twice!)).toEqual({
    kind: 'unsupported',
    code: 'E150',
    message: 'a second agent is called "a"',
    hint: 'Give each agent of a file a name of its own',
    line: 3,
    column: 7,
    offset: 22,
    end_line: 3,
    end_column: 8,
    end_offset: 23,
    related: [{ message: 'the first stands here', line: 2, column: 7 }],
  })
})
