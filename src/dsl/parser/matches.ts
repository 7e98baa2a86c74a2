/** Statements that take values and failures apart: `match`, `try`, and the patterns of `if let`. */
import { described, isMark } from '../lexer/token.ts'
import type { Catch, Expression, Match, MatchArm, Pattern, Try } from '../tree.ts'
import { readBraces } from './braces.ts'
import type { Cursor } from './cursor.ts'
import { readExpression } from './expressions.ts'
import { closeList, readName } from './names.ts'
import { literalOf, wordOf } from './primary.ts'
import { readBlock } from './statements.ts'

export function readMatch(cursor: Cursor): Match {
  const { start } = cursor.next()
  const value = readExpression(cursor, 'head')
  const arms: MatchArm[] = []
  readBraces(cursor, {
    what: 'the body of "match"',
    form: 'match value { "a" => b, _ => c }',
    read: () => arms.push(readArm(cursor)),
    starts: (index) => isMark(cursor.at(index + 1), '=>'),
  })
  return { kind: 'match', value, arms, span: cursor.span(start) }
}

function readArm(cursor: Cursor): MatchArm {
  const { token } = cursor
  const pattern = readArmPattern(cursor)
  if (!cursor.take('=>')) {
    cursor.fail(`"=>" is expected, and ${described(cursor.token)} stands there`, { hint: 'Write "a" => value,' })
  }
  const body = beginsBlock(cursor) ? readBlock(cursor, 'the body of the arm') : readExpression(cursor)
  cursor.take(',')
  return { kind: 'match-arm', pattern, body, span: { start: token.start, end: body.span.end } }
}

function readArmPattern(cursor: Cursor): MatchArm['pattern'] {
  const { token } = cursor
  const pattern: Expression | null = token.kind === 'word' ? wordOf(cursor) : literalOf(token)
  if (token.kind !== 'word' && pattern !== null) cursor.next()
  switch (pattern?.kind) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'name':
      return pattern
    default:
      cursor.fail(`a text, a number, a boolean, a name or "_" is expected, and ${described(token)} stands there`)
  }
}

/** A brace behind `=>` opens a block, unless a key with its colon says that it is a record. */
function beginsBlock(cursor: Cursor): boolean {
  if (!cursor.is('{')) return false
  const key = cursor.ahead().kind
  return !((key === 'word' || key === 'string') && isMark(cursor.ahead(2), ':'))
}

export function readTry(cursor: Cursor): Try {
  const { start } = cursor.next()
  const body = readBlock(cursor, 'the body of "try"')
  const catches: Catch[] = []
  while (cursor.isWord('catch')) catches.push(readCatch(cursor))
  return { kind: 'try', body, catches, span: cursor.span(start) }
}

function readCatch(cursor: Cursor): Catch {
  const { start } = cursor.next()
  const hint = 'Write catch (error) { … } or catch (Kind error) { … }'
  if (!cursor.take('(')) cursor.fail(`"(" is expected, and ${described(cursor.token)} stands there`, { hint })
  const first = readName(cursor, 'a name', hint)
  const second = cursor.is(')') ? null : readName(cursor, 'a name', hint)
  if (!cursor.take(')')) cursor.fail(`")" is expected, and ${described(cursor.token)} stands there`, { hint })
  const body = readBlock(cursor, 'the body of "catch"')
  return {
    kind: 'catch',
    type: second === null ? null : first,
    name: second ?? first,
    body,
    span: cursor.span(start),
  }
}

export function readPattern(cursor: Cursor): Pattern {
  const name = readName(cursor, 'a pattern', 'Write _, a name, or Some(x)')
  if (!cursor.is('(')) return { kind: 'pattern', name: name.text, arguments: null, span: name.span }
  const opener = cursor.index
  cursor.next()
  const entered = cursor.enter()
  const inner: Pattern[] = []
  while (cursor.token.kind === 'word') {
    inner.push(readPattern(cursor))
    cursor.take(',')
  }
  closeList(cursor, opener, ')', 'a pattern')
  cursor.leave(entered)
  return { kind: 'pattern', name: name.text, arguments: inner, span: cursor.span(name.span.start) }
}
