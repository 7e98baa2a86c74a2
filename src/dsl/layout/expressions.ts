/**
 * How expressions are laid out. Authors may break a line where an operand, an item or a member begins, and nowhere else; a
 * list is broken when a line begins behind its opening bracket.
 */

import { DIRECTION_CONTROLS } from '../lexer/characters.ts'
import type {
  Argument,
  ArrayLiteral,
  Binary,
  Call,
  DurationLiteral,
  Expression,
  Field,
  FieldAccess,
  IfExpression,
  Index,
  RecordLiteral,
} from '../tree.ts'
import { expressionBlock } from './blocks.ts'
import { close, type Gap, literal, open, openLine, type Piece, word } from './pieces.ts'

/** Chains lean to the left and may be as long as the text, so the left side is walked and not recursed into. */
export function expression(out: Piece[], gap: Gap, node: Expression): void {
  const chain: Leaning[] = []
  let first = node
  while (isLeaning(first)) {
    chain.push(first)
    first = leftOf(first)
  }
  begin(out, gap, first)
  for (const part of chain.reverse()) rest(out, part)
}

/** All on one line, however the author broke it. */
export function lineOfItems(out: Piece[], gap: Gap, { items }: ArrayLiteral): void {
  openLine(out, gap, '[')
  commaed(out, items, (place, item) => expression(out, place, item))
  close(out, 'mirror', ']')
}

type Leaning = Binary | FieldAccess | Call | Index

function isLeaning(node: Expression): node is Leaning {
  return node.kind === 'binary' || node.kind === 'field-access' || node.kind === 'call' || node.kind === 'index'
}

function leftOf(node: Leaning): Expression {
  switch (node.kind) {
    case 'binary':
      return node.left
    case 'call':
      return node.callee
    case 'field-access':
    case 'index':
      return node.object
  }
}

function rest(out: Piece[], node: Leaning): void {
  switch (node.kind) {
    case 'binary':
      word(out, 'free-space', node.operator)
      expression(out, 'free-space', node.right)
      return
    case 'field-access':
      word(out, takesDots(node.object) ? 'free-space' : 'free', '.')
      word(out, 'none', node.field.text)
      return
    case 'call':
      open(out, 'none', '(')
      commaed(out, node.arguments, (gap, item) => argument(out, gap, item))
      close(out, 'mirror', ')')
      return
    case 'index':
      open(out, 'none', '[')
      expression(out, 'free', node.index)
      close(out, 'mirror', ']')
      return
  }
}

/** `30 .seconds` is a member of a number, and `30.seconds` a duration. */
function takesDots({ kind }: Expression): boolean {
  return kind === 'number' || kind === 'duration' || kind === 'vault-url'
}

function begin(out: Piece[], gap: Gap, node: Exclude<Expression, Leaning>): void {
  switch (node.kind) {
    case 'name':
      word(out, gap, node.text)
      return
    case 'string':
      literal(out, gap, stringText(node.value))
      return
    case 'number':
    case 'vault-url':
      literal(out, gap, node.text)
      return
    case 'boolean':
      word(out, gap, String(node.value))
      return
    case 'duration':
      literal(out, gap, durationText(node))
      return
    case 'array':
      array(out, gap, node)
      return
    case 'record':
      record(out, gap, node)
      return
    case 'construct':
      word(out, gap, node.name.text)
      record(out, 'space', node.record)
      return
    case 'unary':
      word(out, gap, node.operator)
      expression(out, node.operator === 'not' ? 'space' : 'none', node.operand)
      return
    case 'lambda':
      word(out, gap, node.parameter.text)
      word(out, 'space', '=>')
      expression(out, 'space', node.body)
      return
    case 'if-expression':
      ifExpression(out, gap, node)
      return
    case 'group':
      open(out, gap, '(')
      expression(out, 'free', node.inner)
      close(out, 'mirror', ')')
      return
  }
}

/** Characters that turn the direction of text are no part of a source; their escapes are. */
function stringText(value: string): string {
  return JSON.stringify(value).replace(DIRECTION_CONTROLS, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`)
}

const NAMED_UNITS: ReadonlySet<string> = new Set(['seconds', 'minutes', 'hours'])

function durationText({ amount, unit }: DurationLiteral): string {
  return `${BigInt(amount)}${NAMED_UNITS.has(unit) ? '.' : ''}${unit}`
}

function array(out: Piece[], gap: Gap, { items }: ArrayLiteral): void {
  open(out, gap, '[')
  commaed(out, items, (place, item) => expression(out, place, item))
  close(out, 'mirror', ']')
}

function record(out: Piece[], gap: Gap, { fields }: RecordLiteral): void {
  open(out, gap, '{')
  commaed(out, fields, (place, item) => field(out, place, item), 'free-space')
  close(out, fields.length === 0 ? 'mirror' : 'mirror-space', '}')
}

function field(out: Piece[], gap: Gap, { key, value }: Field): void {
  expression(out, gap, key)
  word(out, 'separator', ':')
  expression(out, 'space', value)
}

function argument(out: Piece[], gap: Gap, { name, value }: Argument): void {
  if (name === null) {
    expression(out, gap, value)
    return
  }
  word(out, gap, name.text)
  literal(out, 'separator', ':') // or `=`, which the tree does not tell
  expression(out, 'space', value)
}

function ifExpression(out: Piece[], gap: Gap, node: IfExpression): void {
  let part = node
  word(out, gap, 'if')
  while (true) {
    expression(out, 'space', part.condition)
    expressionBlock(out, part.then)
    word(out, 'space', 'else')
    if (part.otherwise.kind === 'block') break
    part = part.otherwise
    word(out, 'space', 'if')
  }
  expressionBlock(out, part.otherwise)
}

/** Items with commas between them. */
export function commaed<T>(
  out: Piece[],
  all: readonly T[],
  one: (gap: Gap, item: T) => void,
  first: Gap = 'free',
): void {
  for (const [at, item] of all.entries()) {
    if (at > 0) word(out, 'none', ',')
    one(at === 0 ? first : 'item', item)
  }
}
