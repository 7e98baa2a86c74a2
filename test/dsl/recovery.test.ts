/** How the parser goes on after an error: one problem for each, and the rest of the file is still understood. */
import { describe, expect, test } from 'vitest'
import { parse } from '../../src/dsl/index.ts'
import { codeAt, grammarOf } from './found.ts'

const namesOf = (text: string): readonly string[] =>
  parse(text).tree.items.map((item) => (item.kind === 'metadata' ? 'metadata' : item.name.text))

describe('several errors of one file are found at once', () => {
  test.each([
    ['in items that follow each other', 'agnet a {}\npolcy p {}\nagent b {}', ['E110 1:1', 'E110 2:1']],
    [
      'in members of one agent',
      'agent a {\n foo {}\n bar = 1\n policy p { alow: "x" }\n}',
      ['E110 2:2', 'E110 3:2', 'E100 4:13'],
    ],
    [
      'in rules of one policy',
      'policy p {\n alow: "x"\n deny "y"\n deny: [1 2]\n deny: "z"\n}',
      ['E100 2:2', 'E100 3:7', 'E100 4:11'],
    ],
    ['in metadata', 'metadata {\n a = ,\n b 1\n = 2\n c = 3\n}', ['E100 2:6', 'E100 3:4', 'E100 4:2']],
    [
      'in statements',
      'function f() {\n let = 1;\n a b;\n for x {}\n let y = 1;\n}',
      ['E100 2:6', 'E100 3:4', 'E100 4:8'],
    ],
    ['in arms', 'function f() { match x {\n 1 -> 2,\n 3 => ,\n 4 => 5\n} }', ['E100 2:4', 'E100 3:7']],
    ['in fields of a record', 'metadata { r = {\n a 1,\n b: 2,\n 3: c\n} }', ['E100 2:4', 'E100 4:2']],
  ])('%s', (_name, text, found) => {
    expect(grammarOf(text)).toEqual(found)
  })
})

test('what is right around an error is in the tree', () => {
  const { tree } = parse(
    'metadata { a = 1 }\nagent x { capabilities = ["r"]\n foo bar baz\n policy p { allow: "a" deny @ deny: "b" } }\npolicy q {}',
  )
  expect(tree.items).toMatchObject([
    { entries: [{}] },
    { members: [{ kind: 'capabilities' }, { kind: 'policy', rules: [{ effect: 'allow' }, { effect: 'deny' }] }] },
    { name: { text: 'q' } },
  ])
})

test('an error in a call does not end the block around it', () => {
  expect(grammarOf('function f() { g(1, {a: @}, [2); h(; let x = ; }\nagent a {}')).toEqual(['E100 1:25', 'E101 1:29'])
  expect(namesOf('function f() { g(1, { a: [ }, 2); }\nagent a {}')).toEqual(['f', 'a'])
})

describe('a brace that is missing', () => {
  test('is told at the brace that opens, with the end of the file', () => {
    const [error, ...others] = parse('agent a {\n  policy p { allow: "x" }\n').diagnostics
    expect(others).toEqual([])
    expect(error).toMatchObject({ code: 'E101', start: { line: 1, column: 9 } })
    expect(error?.related).toMatchObject([{ message: 'the file ends here', start: { line: 3, column: 1 } }])
  })

  test('is told once, however many are missing', () => {
    expect(grammarOf('agent a { policy p { allow: "x"')).toEqual(['E101 1:20'])
    expect(grammarOf('agent a { function f() { if b { c(); ')).toEqual(['E101 1:31'])
  })

  test('does not cost the item behind it', () => {
    const text = 'agent a {\n  policy p {\n    allow: "x"\n}\n\nagent b {}\nmetadata {\n  x = 1\n'
    const [first] = parse(text).diagnostics
    expect(first).toMatchObject({ code: 'E101', start: { line: 1, column: 9 } })
    expect(first?.related).toMatchObject([{ message: 'something new begins here', start: { line: 6, column: 1 } }])
    expect(namesOf(text)).toEqual(['a', 'b', 'metadata'])
  })

  test('is no excuse for what stands before it', () => {
    expect(grammarOf('agent a { foo\n with x = 1 {}')).toEqual(['E101 1:9', 'E110 1:11'])
  })
})

test('a brace too many is told where it stands', () => {
  expect(grammarOf('agent a {} }\nagent b {}')).toEqual(['E100 1:12'])
  expect(namesOf('agent a {} }\nagent b {}')).toEqual(['a', 'b'])
})

test.each([
  ['parenthesis', 'function f() { let x = (a + b; let y = 1; }', 'E101 1:24'],
  ['square bracket', 'agent a { capabilities = ["x" policy p { deny: "y" } }', 'E101 1:26'],
  ['list of parameters', 'agent a(x: int { }', 'E101 1:8'],
])('a %s that nothing closes is told where it opens', (_name, text, found) => {
  expect(grammarOf(text)).toEqual([found])
})

describe('a quote that is missing', () => {
  test('is told where the string begins, and nothing behind it is', () => {
    expect(grammarOf('metadata { a = "x }\nagent b { @@@ }')).toEqual(['E101 1:16'])
  })

  test('is looked for where a string first runs over its line, because the others are inside out', () => {
    const text = 'metadata { a = "x }\nagent b { capabilities = ["y", "z"] }'
    const [error, ...others] = parse(text).diagnostics
    expect(others).toEqual([])
    expect(error).toMatchObject({ code: 'E101', start: { line: 1, column: 16 } })
    expect(error?.related).toMatchObject([{ start: { line: 2, column: 34 } }])
  })

  test('does not hide what stands before it', () => {
    expect(grammarOf('agnet a {}\nmetadata { a = "x }')).toEqual(['E110 1:1', 'E101 2:16'])
  })

  test.each(['"\\', '"\\u12', '"""', '"""x', "'", '"a\\"'])(
    '%s at the end of a file is an error like any other',
    (text) => {
      expect(grammarOf(`metadata { a = ${text}`)[0]).toMatch(/^E10[01] 1:(9|10|16)$/)
    },
  )
})

describe('what cannot be read', () => {
  test('is one problem for a run of characters', () => {
    expect(grammarOf('agent a { @$?~ }')).toEqual(['E100 1:11'])
  })

  test('is named, with its code where it cannot be seen', () => {
    expect(parse('agent a { \u200b }').diagnostics[0]).toMatchObject({
      message: 'the character "\u200b" (U+200B) has no place here',
      hint: 'It is invisible: delete it',
    })
  })

  test('leads to the sign that was meant', () => {
    expect(parse('policy p { deny: "x" if a & b }').diagnostics[0]?.hint).toBe('"And" is written &&')
    expect(parse('policy p { deny: "x" if a | b }').diagnostics[0]?.hint).toBe('"Or" is written ||')
  })
})

test('an unknown escape is a warning, and the character is kept', () => {
  const { diagnostics } = parse('metadata { a = "\\d" }')
  expect(diagnostics).toMatchObject([{ kind: 'warning', code: 'W211', start: { column: 17 }, end: { column: 19 } }])
})

describe('a text that would be shown as something else', () => {
  test('is refused when it turns the direction of writing, in a comment as in a string', () => {
    expect(grammarOf('agent a {} // \u202e x\nmetadata { b = "\u2066" }')).toEqual(['E100 1:15', 'E100 2:17'])
    expect(parse('# \u202e').diagnostics[0]?.hint).toContain('\\u202E')
  })

  test('is refused when a comment holds the line end of another editor', () => {
    expect(grammarOf('# comment\rpolicy p { deny: "x" }\nagent a {}')).toEqual(['E100 1:10'])
  })
})

describe('at most a hundred problems are told', () => {
  const many = parse('@ \n'.repeat(500)).diagnostics

  test('and the last one says that there are more', () => {
    expect(many).toHaveLength(100)
    expect(many[99]?.message).toContain('more problems than the 100')
    expect(codeAt(many[98]!)).toBe('E100 99:1')
  })

  test('of which an error is always one, however many warnings stand before it', () => {
    const { diagnostics } = parse(`metadata { a = "${'\\q'.repeat(300)}" }\nagnet b {}`)
    expect(diagnostics).toHaveLength(100)
    expect(diagnostics.filter(({ kind }) => kind === 'syntax').map(codeAt)).toEqual(['E110 2:1'])
  })
})
