/** What expressions are made of: literals, names, lists, records, lambdas, and `if` with both branches. */
import { described, isMark, type Token } from '../lexer/token.ts'
import type {
  ArrayLiteral,
  DurationLiteral,
  DurationUnit,
  Expression,
  Field,
  IfExpression,
  RecordLiteral,
} from '../tree.ts'
import { readBraces } from './braces.ts'
import type { Cursor } from './cursor.ts'
import { type Place, readCondition, readExpression } from './expressions.ts'
import { closeList } from './names.ts'
import { readBlock } from './statements.ts'

export function readPrimary(cursor: Cursor, place: Place): Expression {
  const { token } = cursor
  if (token.kind === 'word') return readWordExpression(cursor, place)
  const literal = literalOf(token)
  if (literal !== null) {
    cursor.next()
    return literal
  }
  if (isMark(token, '[')) return readArray(cursor)
  if (isMark(token, '(')) return readGroup(cursor)
  if (isMark(token, '{') && place === 'anywhere') return readRecord(cursor)
  cursor.fail(`a value is expected, and ${described(token)} stands there`)
}

/** A literal that is one token; a word is none. */
export function literalOf(token: Token): Expression | null {
  const span = { start: token.start, end: token.end }
  switch (token.kind) {
    case 'string':
      return { kind: 'string', value: token.text, span }
    case 'number':
      return { kind: 'number', text: token.text, span }
    case 'duration':
      return durationOf(token.text, span)
    case 'vault-url':
      return { kind: 'vault-url', text: token.text, span }
    case 'word':
    case 'mark':
    case 'bad':
    case 'end':
      return null
  }
}

function durationOf(text: string, span: DurationLiteral['span']): DurationLiteral {
  const digits = /^\d+/.exec(text)?.[0] ?? ''
  const unit = text.slice(digits.length).replace('.', '') as DurationUnit // the lexer lets no other pass
  return { kind: 'duration', amount: Number(digits), unit, span }
}

/** A boolean or a name, where nothing but one word may stand. */
export function wordOf(cursor: Cursor): Expression {
  const token = cursor.next()
  const span = { start: token.start, end: token.end }
  if (token.text === 'true' || token.text === 'false') return { kind: 'boolean', value: token.text === 'true', span }
  return cursor.nameOf(token)
}

const EFFECTS = new Set(['allow', 'deny', 'require', 'audit'])

function readWordExpression(cursor: Cursor, place: Place): Expression {
  const { token } = cursor
  const next = cursor.ahead()
  if (token.text === 'if') return readIfExpression(cursor)
  if (token.text === 'in') cursor.fail('a value is expected before "in"')
  // the next rule has begun: it must not become a part of this one
  if (EFFECTS.has(token.text) && isMark(next, ':')) {
    cursor.fail(`a value is expected, and the rule "${token.text}:" begins there`)
  }
  if (isMark(next, '=>')) {
    const parameter = cursor.nameOf(cursor.next())
    cursor.next()
    const entered = cursor.enter()
    const body = readExpression(cursor, place)
    cursor.leave(entered)
    return { kind: 'lambda', parameter, body, span: cursor.span(token.start) }
  }
  const word = wordOf(cursor)
  if (word.kind !== 'name' || !cursor.is('{') || place === 'head') return word
  const record = readRecord(cursor)
  return { kind: 'construct', name: word, record, span: cursor.span(token.start) }
}

export function readArray(cursor: Cursor): ArrayLiteral {
  const opener = cursor.index
  const { start } = cursor.next()
  const entered = cursor.enter()
  const items: Expression[] = []
  while (!cursor.is(']')) {
    items.push(readExpression(cursor))
    if (cursor.take(',')) continue
    if (cursor.token.kind !== 'string') break
    cursor.report('a comma is missing between two items', { hint: 'Write ["a", "b"]' })
  }
  closeList(cursor, opener, ']', 'an operator')
  cursor.leave(entered)
  return { kind: 'array', items, span: cursor.span(start) }
}

function readGroup(cursor: Cursor): Expression {
  const opener = cursor.index
  const { start } = cursor.next()
  const entered = cursor.enter()
  const inner = readExpression(cursor)
  closeList(cursor, opener, ')', 'an operator')
  cursor.leave(entered)
  return { kind: 'group', inner, span: cursor.span(start) }
}

/** `{ key: value, "other key": value }`; commas may be left out. */
export function readRecord(cursor: Cursor): RecordLiteral {
  const { start } = cursor.token
  const fields: Field[] = []
  readBraces(cursor, {
    what: 'the record',
    form: '{ key: value }',
    read: () => fields.push(readField(cursor)),
    starts: (index) => isKey(cursor.at(index)) && isMark(cursor.at(index + 1), ':'),
  })
  return { kind: 'record', fields, span: cursor.span(start) }
}

const isKey = ({ kind }: Token): boolean => kind === 'word' || kind === 'string'

function readField(cursor: Cursor): Field {
  const { token } = cursor
  if (!isKey(token)) {
    cursor.fail(`the key of a record is expected, and ${described(token)} stands there`, {
      hint: 'Write { key: value }',
    })
  }
  cursor.next()
  const span = { start: token.start, end: token.end }
  const key: Field['key'] = token.kind === 'string' ? { kind: 'string', value: token.text, span } : cursor.nameOf(token)
  if (!cursor.take(':')) {
    cursor.fail(`":" is expected behind a key of a record, and ${described(cursor.token)} stands there`, {
      hint: 'Write { key: value }',
    })
  }
  const value = readExpression(cursor)
  cursor.take(',')
  return { kind: 'field', key, value, span: { start: token.start, end: value.span.end } }
}

function readIfExpression(cursor: Cursor): IfExpression {
  const { start } = cursor.next()
  const entered = cursor.enter()
  const condition = readCondition(cursor, 'head')
  const then = readBlock(cursor, 'the branch of "if"')
  if (!cursor.takeWord('else')) {
    cursor.fail('an "if" that stands for a value needs "else"', { hint: 'Write if condition { a } else { b }' })
  }
  const otherwise = cursor.isWord('if') ? readIfExpression(cursor) : readBlock(cursor, 'the branch of "else"')
  cursor.leave(entered)
  return { kind: 'if-expression', condition, then, otherwise, span: cursor.span(start) }
}
