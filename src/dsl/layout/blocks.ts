/** How blocks and statements are laid out: a statement a line, and only the block of an expression may stand on one line. */

import type { Block, Expression, If, LetPattern, Match, MatchArm, Pattern, Statement, Try } from '../tree.ts'
import { commaed, expression } from './expressions.ts'
import { close, type Gap, hanging, open, openBlock, type Piece, word } from './pieces.ts'

export function block(out: Piece[], node: Block, empty: Gap = 'none'): void {
  openBlock(out, 'space', '{')
  for (const one of node.statements) statement(out, one)
  if (node.value !== null) lastValue(out, 'line', node.value)
  close(out, isEmpty(node) ? empty : 'line', '}')
}

/** `{ value }` on one line, unless the author broke it or statements come first. */
export function expressionBlock(out: Piece[], node: Block): void {
  open(out, 'space', '{')
  for (const one of node.statements) statement(out, one)
  const isShort = node.statements.length === 0
  if (node.value !== null) lastValue(out, isShort ? 'free-space' : 'line', node.value)
  close(out, isEmpty(node) ? 'none' : isShort ? 'mirror-space' : 'line', '}')
}

function isEmpty({ statements, value }: Block): boolean {
  return statements.length === 0 && value === null
}

function lastValue(out: Piece[], gap: Gap, value: Expression): void {
  hanging(out, () => expression(out, gap, value))
}

function statement(out: Piece[], node: Statement): void {
  switch (node.kind) {
    case 'if':
      ifStatement(out, node)
      return
    case 'for':
      hanging(out, () => {
        word(out, 'line', 'for')
        word(out, 'space', node.name.text)
        word(out, 'space', 'in')
        expression(out, 'space', node.items)
      })
      block(out, node.body)
      return
    case 'match':
      match(out, node)
      return
    case 'try':
      tryStatement(out, node)
      return
    default:
      hanging(out, () => simple(out, node))
  }
}

/** What a semicolon ends. */
function simple(out: Piece[], node: Exclude<Statement, { readonly kind: 'if' | 'for' | 'match' | 'try' }>): void {
  switch (node.kind) {
    case 'let':
      word(out, 'line', 'let')
      word(out, 'space', node.name.text)
      word(out, 'space', '=')
      expression(out, 'space', node.value)
      break
    case 'return':
      word(out, 'line', 'return')
      if (node.value !== null) expression(out, 'space', node.value)
      break
    case 'assign':
      expression(out, 'line', node.target)
      word(out, 'space', node.operator)
      expression(out, 'space', node.value)
      break
    case 'expression-statement':
      expression(out, 'line', node.expression)
  }
  word(out, 'none', ';')
}

/** The parts of a long `else if` are walked: nothing limits their number. */
function ifStatement(out: Piece[], node: If): void {
  let part = node
  let gap: Gap = 'line'
  while (true) {
    const { condition, then, otherwise } = part
    hanging(out, () => {
      word(out, gap, 'if')
      if (condition.kind === 'let-pattern') letPattern(out, condition)
      else expression(out, 'space', condition)
    })
    block(out, then)
    if (otherwise === null) return
    word(out, 'space', 'else')
    if (otherwise.kind === 'block') {
      block(out, otherwise)
      return
    }
    part = otherwise
    gap = 'space'
  }
}

function letPattern(out: Piece[], node: LetPattern): void {
  word(out, 'space', 'let')
  pattern(out, 'space', node.pattern)
  word(out, 'space', '=')
  expression(out, 'space', node.value)
}

function pattern(out: Piece[], gap: Gap, node: Pattern): void {
  word(out, gap, node.name)
  if (node.arguments === null) return
  open(out, 'none', '(')
  commaed(out, node.arguments, (place, argument) => pattern(out, place, argument))
  close(out, 'mirror', ')')
}

function match(out: Piece[], node: Match): void {
  hanging(out, () => {
    word(out, 'line', 'match')
    expression(out, 'space', node.value)
  })
  openBlock(out, 'space', '{')
  for (const arm of node.arms) matchArm(out, arm)
  close(out, node.arms.length === 0 ? 'none' : 'line', '}')
}

function matchArm(out: Piece[], { pattern: wanted, body }: MatchArm): void {
  hanging(out, () => {
    expression(out, 'line', wanted)
    word(out, 'space', '=>')
    if (body.kind === 'block') return
    expression(out, 'space', body)
    word(out, 'none', ',')
  })
  if (body.kind === 'block') block(out, body)
}

function tryStatement(out: Piece[], node: Try): void {
  word(out, 'line', 'try')
  block(out, node.body)
  for (const { type, name, body } of node.catches) {
    word(out, 'space', 'catch')
    open(out, 'space', '(')
    if (type !== null) word(out, 'none', type.text)
    word(out, type === null ? 'none' : 'space', name.text)
    close(out, 'none', ')')
    block(out, body)
  }
}
