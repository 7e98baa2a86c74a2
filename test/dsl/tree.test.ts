/** What the parser understands: how tightly operators bind, where the ambiguous goes, what a node covers. */
import { describe, expect, test } from 'vitest'
import { type Expression, type Item, parse, type Statement } from '../../src/dsl/index.ts'
import { shapeOf } from './found.ts'

function itemOf(text: string): Item {
  const { tree, diagnostics } = parse(text)
  expect(diagnostics).toEqual([])
  const [item] = tree.items
  expect(tree.items).toHaveLength(1)
  return item!
}

function blockOf(text: string) {
  const item = itemOf(`function f() { ${text} }`)
  if (item.kind !== 'function') throw new Error(item.kind)
  return item.body
}

function expressionOf(text: string): Expression {
  const { value } = blockOf(text)
  if (value === null) throw new Error('no value')
  return value
}

/** With every bracket that the tree implies. */
function bracketed(node: Expression): string {
  switch (node.kind) {
    case 'binary':
      return `(${bracketed(node.left)} ${node.operator} ${bracketed(node.right)})`
    case 'unary':
      return `(${node.operator} ${bracketed(node.operand)})`
    case 'field-access':
      return `(${bracketed(node.object)}.${node.field.text})`
    case 'call':
      return `(${bracketed(node.callee)}(${node.arguments.map((argument) => bracketed(argument.value)).join(' ')}))`
    case 'index':
      return `(${bracketed(node.object)}[${bracketed(node.index)}])`
    case 'lambda':
      return `(${node.parameter.text} => ${bracketed(node.body)})`
    case 'name':
      return node.text
    default:
      return node.kind
  }
}

describe('operators', () => {
  test.each([
    ['a - b - c', '((a - b) - c)'],
    ['a || b && c', '(a || (b && c))'],
    ['a && b == c', '(a && (b == c))'],
    ['a == b < c', '(a == (b < c))'],
    ['a in b == c', '((a in b) == c)'],
    ['a < b + c', '(a < (b + c))'],
    ['a + b * c', '(a + (b * c))'],
    ['a * -b', '(a * (- b))'],
    ['-a.b', '(- (a.b))'],
    ['!a && b', '((! a) && b)'],
    ['not a in b', '((not a) in b)'],
    ['a.b(c)[d].e', '((((a.b)(c))[d]).e)'],
    ['x => y => x + y', '(x => (y => (x + y)))'],
    ['f(x => x, y)', '(f((x => x) y))'],
    ['a || x => x || b', '(a || (x => (x || b)))'],
  ])('%s is read as %s', (text, wanted) => {
    expect(bracketed(expressionOf(text))).toBe(wanted)
  })
})

describe('literals', () => {
  test.each([
    ['"a\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9"', { kind: 'string', value: 'a"\\/\b\f\n\r\t\u00e9' }],
    ['"\\ud83d\\ude00"', { kind: 'string', value: '\u{1f600}' }],
    ['"a\nb"', { kind: 'string', value: 'a\nb' }],
    ['"\\q"', { kind: 'string', value: 'q' }],
    ['1_000.5', { kind: 'number', text: '1_000.5' }],
    ['30.seconds', { kind: 'duration', amount: 30, unit: 'seconds' }],
    ['30s', { kind: 'duration', amount: 30, unit: 's' }],
    ['30.5', { kind: 'number', text: '30.5' }],
    ['6months', { kind: 'duration', amount: 6, unit: 'months' }],
    ['true', { kind: 'boolean', value: true }],
    ['truely', { kind: 'name', text: 'truely' }],
    ['vault://a/b-c.d', { kind: 'vault-url', text: 'vault://a/b-c.d' }],
    ['vault', { kind: 'name', text: 'vault' }],
  ])('%s', (text, wanted) => {
    const { tree } = parse(`function f() { ${text} }`)
    expect(shapeOf(tree.items)).toMatchObject([{ body: { value: wanted } }])
  })
})

test('a string of one line is not taken for the beginning of a comment', () => {
  const { tree, comments } = parse('metadata { a = "http://x # y" } # z')
  expect(tree.items).toMatchObject([{ entries: [{ value: { value: 'http://x # y' } }] }])
  expect(comments.map(({ text }) => text)).toEqual(['# z'])
})

describe('the ambiguous', () => {
  test('a brace behind the head of a statement opens its block', () => {
    expect(blockOf('for x in xs { y; }').statements).toMatchObject([
      { items: { kind: 'name' }, body: { statements: [{}] } },
    ])
  })

  test('a name with a record is one expression elsewhere', () => {
    expect(expressionOf('Point { x: 1 }')).toMatchObject({ kind: 'construct', name: { text: 'Point' } })
  })

  test('the last "if" of a block with all its branches is the value of the block', () => {
    expect(blockOf('if a { 1 } else if b { 2 } else { 3 }')).toMatchObject({
      statements: [],
      value: { kind: 'if-expression', otherwise: { kind: 'if-expression', otherwise: { kind: 'block' } } },
    })
  })

  test.each([
    ['one without "else"', 'if a { 1 }', 'if'],
    ['one that is not the last', 'if a { 1 } else { 2 } b();', 'if'],
    ['one that matches a pattern', 'if let x = a { 1 } else { 2 }', 'if'],
    ['one with a semicolon', 'if a { 1 } else { 2 };', 'expression-statement'],
  ])('%s is a statement', (_name, text, kind) => {
    const { statements, value } = blockOf(text)
    expect(value).toBeNull()
    expect(statements[0]?.kind).toBe(kind satisfies Statement['kind'] | string)
  })

  test('behind the arrow of an arm a brace opens a block, unless a key follows', () => {
    const { statements } = blockOf('match x { a => {} b => { c } d => { e: 1 } "f" => { "g": 2 } }')
    expect(statements).toMatchObject([
      {
        arms: [
          { body: { kind: 'block' } },
          { body: { kind: 'block' } },
          { body: { kind: 'record' } },
          { body: { kind: 'record' } },
        ],
      },
    ])
  })

  test('a rule ends where its condition or the next rule begins', () => {
    expect(itemOf('policy p { allow: read if a deny: [x] audit: y && z }')).toMatchObject({
      rules: [
        { effect: 'allow', selector: { text: 'read' }, condition: { text: 'a' } },
        { effect: 'deny', selector: { kind: 'array' }, condition: null },
        { effect: 'audit', selector: { kind: 'binary' }, condition: null },
      ],
    })
  })

  test('separators and commas are kept as they were written', () => {
    expect(itemOf('metadata { a = 1, b: 2 c = 3 }')).toMatchObject({
      entries: [
        { separator: '=', comma: true },
        { separator: ':', comma: false },
        { separator: '=', comma: false },
      ],
    })
    expect(itemOf('memory m { store markdown, }')).toMatchObject({ members: [{ separator: '', comma: true }] })
  })
})

test('parentheses of an agent change nothing but its text', () => {
  expect(shapeOf(itemOf('agent fixture() {}'))).toEqual(shapeOf(itemOf('agent fixture {}')))
})

test('line ends of another system change nothing but places', () => {
  const text = 'agent a {\n  policy p {\n    allow: "x" // y\n  }\n}\n'
  const other = parse(text.replaceAll('\n', '\r\n'))
  expect(shapeOf(other.tree)).toEqual(shapeOf(parse(text).tree))
  expect(other.comments.map((comment) => comment.text)).toEqual(['// y'])
})

test('the span of every node is what its text is made of', () => {
  const text = '  agent a ( x : int ) { // c\n with s = [ 1 ] { if a { b . c ( d ) } else { 1 } } /**/ }'.replace(
    ' /**/',
    '',
  )
  const { tree } = parse(text)
  const spans = new Map<string, string>()
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) visit(item)
    if (node === null || typeof node !== 'object' || Array.isArray(node)) return
    const { kind, span } = node as { kind: string; span?: { start: number; end: number } }
    if (span !== undefined) spans.set(kind, text.slice(span.start, span.end))
    for (const [key, value] of Object.entries(node)) if (key !== 'span') visit(value)
  }
  visit(tree)
  expect(Object.fromEntries(spans)).toMatchObject({
    source: text,
    agent: text.trim(),
    parameter: 'x : int',
    'type-reference': 'int',
    with: 'with s = [ 1 ] { if a { b . c ( d ) } else { 1 } }',
    property: 's = [ 1 ]',
    array: '[ 1 ]',
    'if-expression': 'if a { b . c ( d ) } else { 1 }',
    call: 'b . c ( d )',
    'field-access': 'b . c',
  })
})
