/**
 * Expressions with operators (1.4). Binary operators associate to the left and are read in a loop, so a long chain costs no
 * stack; it still counts as depth of the tree.
 */
import { described } from '../lexer/token.ts'
import type { Argument, BinaryOperator, Expression, Unary } from '../tree.ts'
import type { Cursor } from './cursor.ts'
import { closeList, readName } from './names.ts'
import { readPrimary } from './primary.ts'

/** Where a brace would open the block of an `if`, `for` or `match`, an expression must not take it for a record. */
export type Place = 'anywhere' | 'head'

const PRECEDENCE: ReadonlyMap<string, number> = new Map([
  ['||', 1],
  ['&&', 2],
  ['==', 3],
  ['!=', 3],
  ['in', 3],
  ['<', 4],
  ['>', 4],
  ['<=', 4],
  ['>=', 4],
  ['+', 5],
  ['-', 5],
  ['*', 6],
  ['/', 6],
  ['%', 6],
])
const LOWEST = 1

export function readExpression(cursor: Cursor, place: Place = 'anywhere'): Expression {
  return readBinary(cursor, LOWEST, place)
}

/** As an expression, but `=` is taken for the `==` that was meant. */
export function readCondition(cursor: Cursor, place: Place): Expression {
  const left = readExpression(cursor, place)
  if (!cursor.is('=')) return left
  cursor.report('"=" does not compare', { hint: 'Two values are compared with ==' })
  cursor.next()
  const right = readExpression(cursor, place)
  return { kind: 'binary', operator: '==', left, right, span: cursor.span(left.span.start) }
}

function readBinary(cursor: Cursor, lowest: number, place: Place): Expression {
  const started = cursor.startChain()
  let left = readUnary(cursor, place)
  for (;;) {
    const operator = operatorAt(cursor)
    const precedence = operator === null ? 0 : (PRECEDENCE.get(operator) ?? 0)
    if (operator === null || precedence < lowest) break
    cursor.next()
    const right = readBinary(cursor, precedence + 1, place)
    cursor.addLink()
    left = { kind: 'binary', operator, left, right, span: cursor.span(left.span.start) }
  }
  cursor.endChain(started)
  return left
}

function operatorAt(cursor: Cursor): BinaryOperator | null {
  const { kind, text } = cursor.token
  if (kind === 'mark' && text !== 'in' && PRECEDENCE.has(text)) return text as BinaryOperator
  if (kind !== 'word') return null
  if (text === 'in') return 'in'
  return spelledOut(cursor)
}

const NAMES_SOMETHING = new Set([':', '=', '=>', ',', ';', '}', ')', ']'])

/** `and` and `or` are names in this language; between two expressions they can only be meant as operators. */
function spelledOut(cursor: Cursor): '&&' | '||' | null {
  const { text } = cursor.token
  if (text !== 'and' && text !== 'or') return null
  const next = cursor.ahead()
  if (next.kind === 'end' || (next.kind === 'mark' && NAMES_SOMETHING.has(next.text))) return null
  const operator = text === 'and' ? '&&' : '||'
  cursor.report(`"${text}" is not an operator`, { hint: `Write ${operator}` })
  return operator
}

function readUnary(cursor: Cursor, place: Place): Expression {
  const { token } = cursor
  const operator = token.kind === 'mark' || token.kind === 'word' ? token.text : ''
  if (operator !== '!' && operator !== '-' && operator !== 'not') return readPostfix(cursor, place)
  cursor.next()
  const entered = cursor.enter()
  const operand = readUnary(cursor, place)
  cursor.leave(entered)
  const unary: Unary = { kind: 'unary', operator, operand, span: cursor.span(token.start) }
  return unary
}

function readPostfix(cursor: Cursor, place: Place): Expression {
  const started = cursor.startChain()
  let object = readPrimary(cursor, place)
  const start = object.span.start
  for (;;) {
    if (cursor.is('.')) {
      cursor.next()
      const field = readName(cursor, 'the name of a field')
      object = { kind: 'field-access', object, field, span: cursor.span(start) }
    } else if (cursor.is('(')) {
      const list = readArguments(cursor)
      object = { kind: 'call', callee: object, arguments: list, span: cursor.span(start) }
    } else if (cursor.is('[')) {
      const index = readIndex(cursor)
      object = { kind: 'index', object, index, span: cursor.span(start) }
    } else {
      break
    }
    cursor.addLink()
  }
  if (cursor.is('::')) refuseQualifiedName(cursor)
  cursor.endChain(started)
  return object
}

function refuseQualifiedName(cursor: Cursor): never {
  cursor.fail('a name with "::" stands in quotes', {
    hint: 'Rules name tools as text, exactly: allow: ["read_file"], or allow: ["delegate::reviewer"]',
  })
}

function readArguments(cursor: Cursor): readonly Argument[] {
  const opener = cursor.index
  cursor.next()
  const entered = cursor.enter()
  const list: Argument[] = []
  while (!cursor.is(')')) {
    list.push(readArgument(cursor))
    if (!cursor.take(',')) break
  }
  closeList(cursor, opener, ')', 'an operator')
  cursor.leave(entered)
  return list
}

function readArgument(cursor: Cursor): Argument {
  const { token } = cursor
  const separator = cursor.ahead()
  const named = token.kind === 'word' && separator.kind === 'mark' && (separator.text === '=' || separator.text === ':')
  const name = named ? cursor.nameOf(cursor.next()) : null
  if (named) cursor.next()
  const value = readExpression(cursor)
  return { kind: 'argument', name, value, span: cursor.span(token.start) }
}

function readIndex(cursor: Cursor): Expression {
  const opener = cursor.index
  cursor.next()
  const entered = cursor.enter()
  if (cursor.is(']')) cursor.fail(`an index is expected, and ${described(cursor.token)} stands there`)
  const index = readExpression(cursor)
  closeList(cursor, opener, ']', 'an operator')
  cursor.leave(entered)
  return index
}
