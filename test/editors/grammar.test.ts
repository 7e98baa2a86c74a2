import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type {
  AssignOperator,
  BinaryOperator,
  DurationUnit,
  ItemKind,
  Member,
  RuleEffect,
  SubBlock,
  Unary,
} from '../../src/dsl/index.ts'
import { tokenize } from '../../src/dsl/lexer/lexer.ts'
import type { Token } from '../../src/dsl/lexer/token.ts'
import { EVERY_FORM } from '../dsl/every-form.ts'
import { ROOT, sourcesIn } from '../support/sources.ts'
import { flat, type Grammar, type Rule, scan } from './scan.ts'

const read = (name: string): string => readFileSync(join(ROOT, 'editors', name), 'utf8')
const grammar: Grammar = JSON.parse(read('symbi.tmLanguage.json'))
const rules = allRules(flat(grammar, grammar.patterns))

/** What stands in a text, and what one piece of it is called. */
const SNIPPETS: readonly (readonly [text: string, piece: string, name: string])[] = [
  ['// said "x"', '// said "x"', 'comment.line.double-slash'],
  ['x # said', '# said', 'comment.line.number-sign'],
  ['/* no */', '/*', 'invalid.illegal.block-comment'],
  ['"a"', '"', 'punctuation.definition.string.begin'],
  ['"a" x', '"', 'punctuation.definition.string.end'],
  ['"a\\n"', '\\n', 'constant.character.escape'],
  ['"\\u00e9"', '\\u00e9', 'constant.character.escape'],
  ['"\\q"', '\\q', 'invalid.deprecated.escape'],
  ['secret vault://team/key-1.txt', 'vault://team/key-1.txt', 'string.unquoted.vault-url'],
  ['timeout = 90.seconds {', '90.seconds', 'constant.numeric.duration'],
  ['30m', '30m', 'constant.numeric.duration'],
  ...['6.minutes', '6.hours', '6months', '6s', '6h', '6d', '6w', '6y'].map(
    (text) => [text, text, 'constant.numeric.duration'] as const,
  ),
  ['1_000.50', '1_000.50', 'constant.numeric'],
  ['30ms', '30ms', 'invalid.illegal.unit'],
  ['512MB', '512MB', 'invalid.illegal.unit'],
  ['agent reader {', 'agent', 'storage.type.agent'],
  ['agent reader {', 'reader', 'entity.name.type.agent'],
  ['policy none {', 'policy', 'storage.type.policy'],
  ['policy none {', 'none', 'entity.name.type.policy'],
  ['function f() {', 'function', 'storage.type.function'],
  ['function f() {', 'f', 'entity.name.function'],
  ['type T = {', 'type', 'storage.type.type'],
  ['type T = {', 'T', 'entity.name.type'],
  ['schedule s {', 'schedule', 'storage.type.item'],
  ['channel c {', 'channel', 'storage.type.item'],
  ['memory m {', 'memory', 'storage.type.item'],
  ['webhook w {', 'webhook', 'storage.type.item'],
  ['webhook w {', 'w', 'entity.name.type.item'],
  ['metadata {', 'metadata', 'storage.type.metadata'],
  ['capabilities = ["a"]', 'capabilities', 'storage.type.capabilities'],
  ['with sandbox = "tier1" {', 'with', 'storage.type.with'],
  ['search {', 'search', 'storage.type.sub-block'],
  ['filter {', 'filter', 'storage.type.sub-block'],
  ['data_classification {', 'data_classification', 'storage.type.sub-block'],
  ['allow: "x"', 'allow', 'keyword.control.effect.allow'],
  ['deny : "x"', 'deny', 'keyword.control.effect.deny'],
  ['require: "x"', 'require', 'keyword.control.effect.refused'],
  ['audit: "x"', 'audit', 'keyword.control.effect.refused'],
  ['a.call(1)', 'call', 'entity.name.function.call'],
  ['if not x in [1]', 'not', 'keyword.operator.word'],
  ['if not x in [1]', 'in', 'keyword.operator.word'],
  ...['let', 'if', 'else', 'for', 'match', 'try', 'catch', 'return'].map(
    (word) => [`${word} x`, word, 'keyword.control'] as const,
  ),
  ['x == true', 'true', 'constant.language.boolean'],
  ['x == false', 'false', 'constant.language.boolean'],
  ['version = "1"', 'version', 'variable.other.property'],
  ['version: "1"', 'version', 'variable.other.property'],
  ['String', 'String', 'support.type'],
  ['-> int {', 'int', 'support.type'],
  ['-> float {', 'float', 'support.type'],
  ['-> bool {', 'bool', 'support.type'],
  ['principal != "x"', 'principal', 'variable.language'],
  ['invocation.arguments', 'invocation', 'variable.language'],
  ['context.a', 'context', 'variable.language'],
  ['invocation.arguments', '.', 'punctuation.accessor'],
  ['invocation.arguments', 'arguments', 'variable.other.member'],
  ['other', 'other', 'variable.other'],
  ...[
    '=>',
    '->',
    '==',
    '!=',
    '<=',
    '>=',
    '&&',
    '||',
    '+=',
    '-=',
    '*=',
    '/=',
    '%=',
    '+',
    '-',
    '*',
    '/',
    '%',
    '<',
    '>',
    '=',
    '!',
  ].map((mark) => [`a ${mark} b`, mark, 'keyword.operator'] as const),
  ['{', '{', 'punctuation.section.braces'],
  ['[', '[', 'punctuation.section.brackets'],
  ['(', '(', 'punctuation.section.parens'],
  ['a, b', ',', 'punctuation.separator'],
  ['a;', ';', 'punctuation.terminator'],
]

/** The compiler holds these lists complete. */
const keysOf = <K extends string>(all: Readonly<Record<K, true>>): readonly string[] => Object.keys(all)
const ITEMS = keysOf<ItemKind>({
  metadata: true,
  agent: true,
  policy: true,
  type: true,
  function: true,
  schedule: true,
  channel: true,
  memory: true,
  webhook: true,
})
const MEMBERS = keysOf<Member['kind']>({ capabilities: true, policy: true, function: true, with: true })
const SUB_BLOCKS = keysOf<SubBlock['name']>({ data_classification: true, search: true, filter: true })
const EFFECTS = keysOf<RuleEffect>({ allow: true, deny: true, require: true, audit: true })
const STATEMENTS = ['let', 'if', 'for', 'match', 'try', 'return']
const WORDS = [...ITEMS, ...MEMBERS, ...SUB_BLOCKS, ...EFFECTS, ...STATEMENTS, 'true', 'false']
const UNARY = keysOf<Unary['operator']>({ '!': true, not: true, '-': true })
const BINARY = keysOf<BinaryOperator>({
  ...({ '||': true, '&&': true, '==': true, '!=': true, in: true, '<': true, '>': true } as const),
  ...({ '<=': true, '>=': true, '+': true, '-': true, '*': true, '/': true, '%': true } as const),
})
const ASSIGN = keysOf<AssignOperator>({ '=': true, '+=': true, '-=': true, '*=': true, '/=': true, '%=': true })
const MARKS = [...UNARY, ...BINARY, ...ASSIGN, '=>', '->']
const UNITS = keysOf<DurationUnit>({
  ...({ seconds: true, minutes: true, hours: true, s: true, m: true, h: true } as const),
  ...({ d: true, w: true, months: true, y: true } as const),
})

describe('the TextMate grammar', () => {
  test.each(SNIPPETS)('%s: %s is %s', (text, piece, name) => {
    expect(scan(grammar, text).map(([found, scope]) => [found, scope.split(' ')[0]])).toContainEqual([
      piece,
      `${name}.symbi`,
    ])
  })

  test.each([
    ['a word that opens something is a name elsewhere', 'x.agent = policy', 'storage'],
    ['an effect is one only before its colon', 'principal.allow == deny', 'effect'],
    ['a path is no member of a rule', 'allow::x', 'effect'],
    ['a vault address holds no comment', 'vault://team/key', 'comment'],
    ['a string holds no comment and no keyword', '"// # agent x"', 'comment storage'],
    ['a comment holds no string', '// "agent x"', 'string storage'],
    ['a comparison has no key', 'x == y', 'property'],
    ['a lambda has no key', 'x => y', 'property'],
    ['a word of statements is no call', 'if (x)', 'function'],
  ])('%s', (_what, text, never) => {
    const scopes = scan(grammar, text).map(([, scope]) => scope)
    expect(scopes.length).toBeGreaterThan(0)
    for (const word of never.split(' ')) expect(scopes.filter((scope) => scope.includes(word))).toEqual([])
  })

  test('has a snippet for every word and every mark of the language', () => {
    const known = new Set(SNIPPETS.map(([, piece]) => piece))
    expect([...WORDS, ...wordsOfParser(), ...MARKS].filter((word) => !known.has(word))).toEqual([])
    const units = SNIPPETS.filter(([, , name]) => name === 'constant.numeric.duration').map(([, piece]) => piece)
    for (const unit of UNITS) expect(units.some((piece) => piece.replace(/^\d+\.?/, '') === unit)).toBe(true)
  })

  test('takes for comments, strings, numbers and addresses what the language takes for them', () => {
    const { tokens, comments } = tokenize(EVERY_FORM)
    const pieces = scan(grammar, EVERY_FORM)
    const named = (name: string): readonly string[] =>
      pieces.filter(([, scope]) => scope.startsWith(name)).map(([text]) => text)
    const ofKind = (kind: Token['kind']): readonly string[] =>
      tokens.filter((token) => token.kind === kind).map(({ start, end }) => EVERY_FORM.slice(start, end))
    expect(named('comment')).toEqual(comments.map(({ text }) => text))
    expect(named('constant.numeric.duration')).toEqual(ofKind('duration'))
    expect(named('constant.numeric.symbi')).toEqual(ofKind('number'))
    expect(named('string.unquoted.vault-url')).toEqual(ofKind('vault-url'))
    expect(named('punctuation.definition.string.begin')).toHaveLength(ofKind('string').length)
    expect(named('invalid')).toEqual([])
  })

  test('goes on behind a string that holds a line end', () => {
    expect(scan(grammar, '"a\nb" true')).toContainEqual(['true', 'constant.language.boolean.symbi'])
  })

  test('has no pattern that matches nothing, and none that needs more than both kinds of engines have', () => {
    const patterns = rules.flatMap(({ match, begin, end }) => [match, begin, end].filter((one) => one !== undefined))
    expect(patterns.length).toBeGreaterThan(30)
    for (const pattern of patterns) {
      expect(new RegExp(pattern, 'u').test(''), pattern).toBe(false)
      expect(pattern).not.toMatch(/\(\?<[^=!]|\\[kpPhHGAzZ]|\(\?[imsx#>]|[*+?}][+]/)
    }
  })

  test('names every rule of its repository at its top', () => {
    const included = grammar.patterns.map(({ include }) => include?.slice(1))
    expect(included).toEqual(expect.arrayContaining(Object.keys(grammar.repository)))
  })
})

/** Words that the parser asks for by name, except those that it only refuses. */
function wordsOfParser(): readonly string[] {
  const found = sourcesIn('src/dsl/parser').flatMap(({ text }) =>
    [...text.matchAll(/\b(?:isWord|takeWord)\((?:\w+, )?'(\w+)'\)/g)].map(([, word = '']) => word),
  )
  expect(found).toEqual(expect.arrayContaining(['else', 'in', 'catch']))
  return found.filter((word) => !['while', 'loop'].includes(word))
}

function allRules(some: readonly Rule[]): readonly Rule[] {
  return some.flatMap((rule) => [rule, ...allRules(rule.patterns ?? [])])
}
