import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { followsGrammar, format, parse, SOURCE_BYTES_MAX } from '../../src/dsl/index.ts'
import { tokenize } from '../../src/dsl/lexer/lexer.ts'
import { withoutSpans } from './arbitrary-tree.ts'
import { badlySet } from './badly-set.ts'
import { EVERY_FORM, EVERY_FORM_SET } from './every-form.ts'

describe('format', () => {
  test('sets every form in one way', () => {
    expect(format(EVERY_FORM)).toBe(EVERY_FORM_SET)
  })

  test.each([
    [
      'indents by four',
      'agent a{policy p{deny:"x"}}',
      'agent a {',
      '    policy p {',
      '        deny: "x"',
      '    }',
      '}',
    ],
    [
      'puts one empty line between items',
      'agent a{}agent b{}\n\n\nagent c{}',
      'agent a {}',
      '',
      'agent b {}',
      '',
      'agent c {}',
    ],
    [
      'keeps one empty line between members',
      'agent a{policy p{}\n\n\npolicy q{}policy r{}}',
      'agent a {',
      '    policy p {}',
      '',
      '    policy q {}',
      '    policy r {}',
      '}',
    ],
    ['drops empty lines at braces', 'agent a{\n\n\npolicy p{}\n\n}', 'agent a {', '    policy p {}', '}'],
    [
      'sets metadata an entry a line, with its separators and commas',
      'metadata { a:"1",b="2" c : 3, }',
      'metadata {',
      '    a: "1",',
      '    b = "2"',
      '    c: 3,',
      '}',
    ],
    [
      'sets capabilities on one line',
      'agent a { capabilities=[\n"x",\n"y",\n] }',
      'agent a {',
      '    capabilities = ["x", "y"]',
      '}',
    ],
    [
      'leaves capabilities with a comment on their lines',
      'agent a { capabilities=[\n"x", // why\n"y",\n] }',
      'agent a {',
      '    capabilities = [',
      '        "x", // why',
      '        "y",',
      '    ]',
      '}',
    ],
    [
      'opens a with-block on the line of its attributes',
      'agent a { with sandbox\n=\n"tier1",timeout=5m { } }',
      'agent a {',
      '    with sandbox = "tier1", timeout = 5m {',
      '    }',
      '}',
    ],
    [
      'sets a rule a line',
      'policy p{allow:["a"]if principal.id=="x"&&true deny:true}',
      'policy p {',
      '    allow: ["a"] if principal.id == "x" && true',
      '    deny: true',
      '}',
    ],
    [
      'leaves a rule that its author broke at a condition or an operator',
      'policy p { allow: "a"\n if x\n&& y\n|| z }',
      'policy p {',
      '    allow: "a"',
      '        if x',
      '        && y',
      '        || z',
      '}',
    ],
    [
      'breaks a list where its author broke it behind the bracket',
      'policy p { deny: [\n"a",\n"b", "c",\n] }',
      'policy p {',
      '    deny: [',
      '        "a",',
      '        "b", "c",',
      '    ]',
      '}',
    ],
    [
      'joins a list that begins on the line of its bracket',
      'policy p { deny: ["a",\n"b",\n] }',
      'policy p {',
      '    deny: ["a", "b"]',
      '}',
    ],
    [
      'keeps empty parentheses of an agent, and adds none',
      'agent a ( ) {} agent b {}',
      'agent a() {}',
      '',
      'agent b {}',
    ],
    [
      'indents nested lists by the line that opens them',
      'function f() { g([\n1,\n]); }',
      'function f() {',
      '    g([',
      '        1,',
      '    ]);',
      '}',
    ],
    [
      'indents a block by its statement, not by a broken condition',
      'function f() { if a\n&& b { c(); } }',
      'function f() {',
      '    if a',
      '        && b {',
      '        c();',
      '    }',
      '}',
    ],
    [
      'keeps short blocks of an expression on a line, and longer ones not',
      'function f() { let x=if a{1}else{let y=2; y}; }',
      'function f() {',
      '    let x = if a { 1 } else {',
      '        let y = 2;',
      '        y',
      '    };',
      '}',
    ],
    [
      'keeps a member of a number apart from a duration',
      'function f() { 30 . seconds }',
      'function f() {',
      '    30 .seconds',
      '}',
    ],
  ])('%s', (_what, text, ...lines) => {
    expect(format(text)).toBe(`${lines.join('\n')}\n`)
  })
})

describe('format keeps a comment', () => {
  test.each([
    [
      'with the item after it',
      'agent a{}\n# one\n\n# two\nagent b{}',
      'agent a {}',
      '',
      '# one',
      '',
      '# two',
      'agent b {}',
    ],
    ['on its line, and behind its line', 'agent a{} // said\nagent b{}', 'agent a {} // said', '', 'agent b {}'],
    [
      'at the beginning of a file, with the empty line behind it',
      '\n\n# about\n\n\nagent a{}',
      '# about',
      '',
      'agent a {}',
    ],
    ['at the end of a file', 'agent a{}\n// the end', 'agent a {}', '', '// the end'],
    ['that is alone in its file', '  # nothing yet', '# nothing yet'],
    [
      'inside of a block, in its place',
      'agent a{\n// 1\npolicy p{ // 2\n# 3\n\n# 4\ndeny:"x" // 5\n// 6\n}// 7\n// 8\n}',
      'agent a {',
      '    // 1',
      '    policy p { // 2',
      '        # 3',
      '',
      '        # 4',
      '        deny: "x" // 5',
      '        // 6',
      '    } // 7',
      '    // 8',
      '}',
    ],
    ['in an empty block', 'agent a{with{ // why\n}}', 'agent a {', '    with { // why', '    }', '}'],
    [
      'in the middle of a head, without an empty line',
      'agent // which\n\n\na // and\n\n{}',
      'agent // which',
      '    a // and',
      '{}',
    ],
    [
      'before a comma',
      'agent a { capabilities = ["x" // why\n, "y"] }',
      'agent a {',
      '    capabilities = ["x" // why',
      '        , "y"]',
      '}',
    ],
    [
      'letter by letter, but for white space at its end',
      'agent a{}//  x\ty // "z" \t \r\n',
      'agent a {} //  x\ty // "z"',
    ],
    ['that is empty', '#\n//\nagent a{}', '#', '//', 'agent a {}'],
  ])('%s', (_what, text, ...lines) => {
    expect(format(text)).toBe(`${lines.join('\n')}\n`)
  })
})

describe('format changes nothing', () => {
  test.each([
    ['in a string, whatever it holds', 'metadata {\n    a: "x\r\n  y\t// z \\u0041\\q",\n}\n'],
    ['where a brace is missing', 'agent a{ policy p{}\n'],
    ['where a string is not closed', 'agent  a{}\nmetadata{a:"x}\n'],
    ['where one item of many is wrong', 'agent  a{}\nagnet  b{}\nagent  c{}\n'],
    ['in text with a byte order mark, which is no part of a source', '\ufeffagent  a{}'],
    ['in text with a block comment', '/* x */ agent  a{}'],
    ['in text that is nested too deeply', `policy  p{deny:${'['.repeat(10_000)}`],
  ])('%s', (_what, text) => {
    expect(format(text)).toBe(text)
  })

  test.each([
    ['letters', '', 5000],
    ['bytes', '€'.repeat(300_000), 300],
  ])('where indentation would make a source longer than one may be, counted in %s', (_what, word, count) => {
    const depth = 200
    const text = `metadata{w:"${word}" a:${'['.repeat(depth)}\n${'1,\n'.repeat(count)}${']'.repeat(depth)}}`
    expect(Buffer.byteLength(text)).toBeLessThan(SOURCE_BYTES_MAX)
    expect(followsGrammar(parse(text))).toBe(true)
    expect(format(text)).not.toBe(text) // its brackets share a line, so nothing is far from the margin
    const opened = text.replaceAll('[', '[\n')
    expect(format(opened)).toBe(opened)
  })
})

test('format turns the line ends of CR LF into LF', () => {
  expect(format('agent a {\r\n    policy p {}\r\n}\r\n')).toBe('agent a {\n    policy p {}\n}\n')
})

test.each(['', ' \n\t\r\n'])('format makes one line end of a text without words: %j', (text) => {
  expect(format(text)).toBe('\n')
})

describe('format keeps, however a source is set,', () => {
  test('the tree, and every comment in its order', () => {
    fc.assert(
      fc.property(badlySet, (text) => {
        const before = parse(text)
        expect(before.diagnostics, text).toEqual([])
        const after = parse(format(text))
        expect(after.diagnostics).toEqual([])
        expect(withoutSpans(after.tree)).toEqual(withoutSpans(before.tree))
        const said = before.comments.map((comment) => comment.text.trimEnd())
        expect(after.comments.map((comment) => comment.text)).toEqual(said)
      }),
      { numRuns: 300 },
    )
  })

  test('its own result', () => {
    fc.assert(
      fc.property(badlySet, (text) => {
        const once = format(text)
        expect(format(once)).toBe(once)
      }),
      { numRuns: 300 },
    )
  })

  test('clean lines: no white space at their ends, no two empty ones, none at a brace, one line end at the end', () => {
    fc.assert(
      fc.property(badlySet, (text) => {
        const formatted = withoutStrings(format(text))
        expect(formatted).toMatch(/[^\n]\n$|^\n$/)
        expect(formatted).not.toMatch(/[ \t\r]\n|\n\n\n|^\n.|[{([]\n\n|\n\n *[\])}]/s)
      }),
      { numRuns: 300 },
    )
  })
})

test('format returns anything that is no source unchanged, and throws at nothing', () => {
  const bytes = fc.uint8Array({ maxLength: 200 }).map((all) => Buffer.from(all).toString('latin1'))
  const soup = fc.array(fc.constantFrom(...SOUP), { maxLength: 60 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.oneof(bytes, soup, fc.string({ unit: 'binary' })), (text) => {
      const formatted = format(text)
      expect(format(formatted)).toBe(formatted)
      if (!followsGrammar(parse(text))) expect(formatted).toBe(text)
    }),
    { numRuns: 1500 },
  )
})

const SOUP = [
  ...['agent', 'policy', 'with', 'metadata', 'function', 'if', 'x', ' ', '\n', '\r\n', '{', '}', '(', ')', '[', ']'],
  ...[',', ':', '=', '=>', ';', '.', '"s"', '"', '1', '30s', '// c\n', '#c\n', '/*', 'allow:', 'vault://a', '\ufeff'],
]

/** With every string replaced: white space in it is the author's. */
function withoutStrings(text: string): string {
  let out = ''
  let behind = 0
  for (const { kind, start, end } of tokenize(text).tokens) {
    out += text.slice(behind, start) + (kind === 'string' ? '"s"' : text.slice(start, end))
    behind = end
  }
  return out
}
