/** Whatever the text is: diagnostics and a tree, never anything thrown, and every place lies in the text. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkSource, type Diagnostic, parse, readSource, showDiagnostic } from '../../src/dsl/index.ts'
import { codeAt } from './found.ts'

/** Everything that is promised of any text at all. */
function judge(text: string): readonly Diagnostic[] {
  const parsed = parse(text)
  const found = checkSource(parsed)
  JSON.stringify(parsed.tree) // deep as it may be
  const broken = [parsed.diagnostics, found].flatMap((list) =>
    list.length <= 100 && inOrder(list) ? [] : ['the list'],
  )
  const end = { offset: Buffer.byteLength(text), columns: text.split('\n').map((line) => line.length + 1) }
  for (const diagnostic of found) {
    const { start, end: behind, related } = diagnostic
    const places = [start, behind, ...related.flatMap((note) => [note.start, note.end])]
    const outside = places.filter(
      ({ line, column, offset }) => offset > end.offset || column > (end.columns[line - 1] ?? 0),
    )
    if (outside.length > 0 || behind.offset < start.offset) broken.push(`the place of ${codeAt(diagnostic)}`)
    const steers = showDiagnostic(diagnostic, text, 'x').some((line) => /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(line))
    if (steers) broken.push(`what is shown of ${codeAt(diagnostic)}`)
  }
  expect([...broken, ...strayNodes(parsed.tree, 0, text.length)]).toEqual([])
  return found
}

const inOrder = (list: readonly Diagnostic[]): boolean =>
  list.every(({ start }, index) => start.offset >= (list[index - 1]?.start.offset ?? 0))

/** A node lies in the node that holds it. */
function strayNodes(node: unknown, from: number, to: number): readonly string[] {
  if (Array.isArray(node)) return node.flatMap((item) => strayNodes(item, from, to))
  if (node === null || typeof node !== 'object') return []
  const { kind, span = { start: from, end: to } } = node as { kind?: string; span?: { start: number; end: number } }
  const { start, end } = span
  if (!(start >= from && start <= end && end <= to)) return [`${kind} ${start}-${end} in ${from}-${to}`]
  return Object.entries(node).flatMap(([key, value]) => (key === 'span' ? [] : strayNodes(value, start, end)))
}

const WORDS = [
  'agent',
  'policy',
  'metadata',
  'with',
  'capabilities',
  'function',
  'type',
  'schedule',
  'channel',
  'memory',
  'webhook',
  'search',
  'filter',
  'data_classification',
  'allow',
  'deny',
  'require',
  'audit',
  'if',
  'else',
  'let',
  'for',
  'in',
  'not',
  'match',
  'try',
  'catch',
  'return',
  'while',
  'and',
  'or',
  'true',
  'false',
  'a',
  'b',
  '_',
  'String',
  'sandbox',
  'timeout',
  'cron',
  'at',
  'store',
  'path',
  'platform',
  '"x"',
  '"docker"',
  '"',
  "'",
  '1',
  '2.5',
  '30s',
  '5.minutes',
  '30ms',
  'vault://a',
  '{',
  '}',
  '(',
  ')',
  '[',
  ']',
  '<',
  '>',
  '{}',
  '()',
  '=',
  ':',
  ',',
  ';',
  '.',
  '=>',
  '->',
  '==',
  '!=',
  '&&',
  '||',
  '!',
  '+',
  '-',
  '*',
  '/',
  '%',
  '+=',
  '::',
  '//',
  '#',
  '/*',
  '*/',
  '\n',
  '@',
  '\u0435',
  '\u00a0',
  '\u202e',
  '\ud800',
  '\\',
]

describe('random texts', () => {
  test('of any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        const { text, diagnostics } = readSource(bytes)
        if (diagnostics.length === 0) judge(text)
        else expect(diagnostics.map(({ code }) => code)).toEqual(['E102'])
      }),
      { numRuns: 300 },
    )
  })

  test('of any characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => void judge(text)),
      { numRuns: 300 },
    )
  })

  test('of words and signs of the language', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...WORDS), { maxLength: 60 }), (words) => void judge(words.join(' '))),
      { numRuns: 800 },
    )
  })

  test('of sources that something was cut out of, or put into', () => {
    const source = `metadata { version = "1", tags: ["a"] }
      type T = { a: map<String, int> }
      policy p { allow: ["x", "y"] if invocation.arguments.path in ["a"] && !(context.b != 1) deny: true }
      agent r(a: String) -> bool { capabilities = ["x"] with sandbox = "docker", timeout = 5m { let x = { a: f(1, b = 2)[0] }; }
        function f() { if a { 1 } else if let S(x) = b { 2 } else { match c { "d" => 1, _ => { return; } } } } }
      schedule s { cron: "0 0 8 * * *" } channel c { platform: "slack" data_classification { a: redact } }
      memory m { store markdown search { vector_weight 0.7 } } webhook w { path "/x" filter { equals "y" } }`
    const place = fc.integer({ min: 0, max: source.length })
    fc.assert(
      fc.property(place, fc.integer({ min: 0, max: 40 }), fc.constantFrom('', ...WORDS), (at, length, put) => {
        judge(source.slice(0, at) + put + source.slice(at + length))
      }),
      { numRuns: 300 },
    )
  })
})

describe('10,000 levels', () => {
  const inLet = (text: string): string => `function f() { let x = ${text}; }`
  const many = (text: string): string => text.repeat(10_000)

  test.each([
    ['braces', many('{')],
    ['braces that close', `${many('{')}${many('}')}`],
    ['parentheses', inLet(many('('))],
    ['parentheses that close', inLet(`${many('(')}a${many(')')}`)],
    ['lists', inLet(many('['))],
    ['lists that close', inLet(`${many('[')}${many(']')}`)],
    ['records', inLet(many('{ a: '))],
    ['records that close', inLet(`${many('{ a: ')}1${many('}')}`)],
    ['records with names', inLet(many('P { a: '))],
    ['negations', inLet(`${many('!')}a`)],
    ['minus signs', inLet(`${many('- ')}a`)],
    ['"not"', inLet(`${many('not ')}a`)],
    ['lambdas', inLet(`${many('x => ')}x`)],
    ['calls', inLet(`${many('f(')}${many(')')}`)],
    ['indices', inLet(`${many('a[')}1${many(']')}`)],
    ['fields', inLet(`a${many('.b')}`)],
    ['calls in a row', inLet(`a${many('()')}`)],
    ['sums', inLet(`a${many(' + a')}`)],
    ['alternatives', `policy p { deny: "x" if a${many(' || a')} }`],
    ['blocks', `function f() { ${many('if a { ')}`],
    ['blocks that close', `function f() { ${many('if a { ')}${many('}')} }`],
    ['"else if"', `function f() { if a {} ${many('else if a {} ')} }`],
    ['"else if" with a value', inLet(`if a { 1 } ${many('else if a { 1 } ')} else { 2 }`)],
    ['loops', `function f() { ${many('for x in xs { ')}`],
    ['arms', `function f() { ${many('match x { _ => { ')}`],
    ['tries', `function f() { ${many('try { ')}`],
    ['types', `type T = { a: ${many('list<')}int${many('>')} }`],
    ['patterns', `function f() { if let ${many('S(')}x${many(')')} = y {} }`],
    ['metadata', `metadata { a = ${many('[')}${many(']')} }`],
  ])('of %s are a diagnostic', (name, text) => {
    const codes = judge(text).map(({ code }) => code)
    expect(codes).toContain(name.startsWith('braces') ? 'E100' : 'E103')
  })

  test('are told where the text goes too deep, and the item behind it is still read', () => {
    const { diagnostics, tree } = parse(`${inLet(`${many('(')}a${many(')')}`)}\nagent a { foo }`)
    // two levels are open already: the function and its block count as one, the parentheses as one each
    expect(diagnostics.map(codeAt)).toEqual(['E103 1:280', 'E110 2:11'])
    expect(tree.items).toMatchObject([{ kind: 'function' }, { kind: 'agent' }])
  })

  test('are more than there may be by far: 250 are none too many', () => {
    expect(judge(inLet(`${'('.repeat(250)}a${')'.repeat(250)}`))).toEqual([])
  })
})
