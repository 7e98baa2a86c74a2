/**
 * Blocks and statements (1.4). They are behaviour, which no governed route runs; they are read all the same, so that what is
 * refused can be named.
 */
import { called, described, isMark } from '../lexer/token.ts'
import type {
  Assign,
  AssignOperator,
  Block,
  Expression,
  For,
  If,
  IfExpression,
  Let,
  Return,
  Statement,
} from '../tree.ts'
import { readBraces } from './braces.ts'
import type { Cursor } from './cursor.ts'
import { readCondition, readExpression } from './expressions.ts'
import { readMatch, readPattern, readTry } from './matches.ts'
import { readName } from './names.ts'

const STATEMENT_WORDS = new Set(['let', 'if', 'for', 'match', 'try', 'return'])

/** A statement, or the expression that ends a block and is its value. */
type Part = { readonly statement: Statement } | { readonly value: Expression }

export function readBlock(cursor: Cursor, what: string): Block {
  const { start } = cursor.token
  const statements: Statement[] = []
  const values: Expression[] = []
  readBraces(cursor, {
    what,
    form: '{ … }',
    read: () => {
      const part = readPart(cursor)
      if ('value' in part) values.push(part.value)
      else statements.push(part.statement)
    },
    expressions: true,
    starts: (index) => cursor.at(index).kind === 'word' && STATEMENT_WORDS.has(cursor.at(index).text),
  })
  return { kind: 'block', statements, value: values.at(-1) ?? null, span: cursor.span(start) }
}

function readPart(cursor: Cursor): Part {
  refuseLoop(cursor)
  switch (cursor.token.kind === 'word' ? cursor.token.text : '') {
    case 'let':
      return { statement: readLet(cursor) }
    case 'if':
      return readIfPart(cursor)
    case 'for':
      return { statement: readFor(cursor) }
    case 'match':
      return { statement: readMatch(cursor) }
    case 'try':
      return { statement: readTry(cursor) }
    case 'return':
      return { statement: readReturn(cursor) }
    default:
      return readExpressionPart(cursor)
  }
}

function refuseLoop(cursor: Cursor): void {
  if (!cursor.isWord('while') && !cursor.isWord('loop')) return
  const next = cursor.ahead()
  const body = isMark(next, '(') ? cursor.at(cursor.brackets.behind(cursor.index + 1)) : next
  if (next.kind !== 'word' && !isMark(next, '!') && !isMark(body, '{')) return
  cursor.fail(`there is no "${cursor.token.text}"`, { hint: 'Loops are written for item in items { … }' })
}

function readLet(cursor: Cursor): Let {
  const { start } = cursor.next()
  const name = readName(cursor, 'a name', 'Write let name = value;')
  if (cursor.is(':')) cursor.fail('a "let" has no type', { hint: `Write let ${called(name)} = value;` })
  if (!cursor.take('=')) {
    cursor.fail(`"=" is expected, and ${described(cursor.token)} stands there`, {
      hint: `Write let ${called(name)} = value;`,
    })
  }
  const value = readExpression(cursor)
  readSemicolon(cursor, 'let')
  return { kind: 'let', name, value, span: cursor.span(start) }
}

/** Reported where it is missing, which is behind what was read and not at what comes next. */
function readSemicolon(cursor: Cursor, what: string): void {
  if (cursor.take(';')) return
  const { end } = cursor.span(0)
  cursor.report(`";" is missing behind this "${what}"`, {
    span: { start: Math.max(0, end - 1), end },
    hint: 'Statements end with ;',
  })
}

/** An `if` with all its branches is the value of the block when it stands last, as in the languages this one resembles. */
function readIfPart(cursor: Cursor): Part {
  const statement = readIf(cursor)
  const ends = cursor.is('}')
  if (!ends && !cursor.is(';')) return { statement }
  const expression = asExpression(statement)
  if (expression === null) return { statement }
  if (ends) return { value: expression }
  cursor.next()
  return { statement: { kind: 'expression-statement', expression, span: cursor.span(statement.span.start) } }
}

function asExpression({ condition, then, otherwise, span }: If): IfExpression | null {
  if (condition.kind === 'let-pattern' || otherwise === null) return null
  const last = otherwise.kind === 'if' ? asExpression(otherwise) : otherwise
  return last === null ? null : { kind: 'if-expression', condition, then, otherwise: last, span }
}

function readIf(cursor: Cursor): If {
  const { start } = cursor.next()
  const entered = cursor.enter()
  const condition =
    cursor.isWord('let') && cursor.ahead().kind === 'word' ? readLetPattern(cursor) : readCondition(cursor, 'head')
  const then = readBlock(cursor, 'the branch of "if"')
  let otherwise: If | Block | null = null
  if (cursor.takeWord('else'))
    otherwise = cursor.isWord('if') ? readIf(cursor) : readBlock(cursor, 'the branch of "else"')
  cursor.leave(entered)
  return { kind: 'if', condition, then, otherwise, span: cursor.span(start) }
}

function readLetPattern(cursor: Cursor): If['condition'] {
  const { start } = cursor.next()
  const pattern = readPattern(cursor)
  if (!cursor.take('=')) {
    cursor.fail(`"=" is expected, and ${described(cursor.token)} stands there`, {
      hint: 'Write if let Some(x) = value { … }',
    })
  }
  const value = readExpression(cursor, 'head')
  return { kind: 'let-pattern', pattern, value, span: cursor.span(start) }
}

function readFor(cursor: Cursor): For {
  const { start } = cursor.next()
  const name = readName(cursor, 'a name', 'Write for item in items { … }')
  if (!cursor.takeWord('in')) {
    cursor.fail(`"in" is expected, and ${described(cursor.token)} stands there`, {
      hint: 'Write for item in items { … }',
    })
  }
  const items = readExpression(cursor, 'head')
  const body = readBlock(cursor, 'the body of "for"')
  return { kind: 'for', name, items, body, span: cursor.span(start) }
}

function readReturn(cursor: Cursor): Return {
  const { start } = cursor.next()
  const bare = cursor.is(';') || cursor.is('}')
  const value = bare ? null : readExpression(cursor)
  readSemicolon(cursor, 'return')
  return { kind: 'return', value, span: cursor.span(start) }
}

const ASSIGN = new Set(['=', '+=', '-=', '*=', '/=', '%='])
const ASSIGNABLE = new Set(['name', 'field-access', 'index', 'call', 'group'])

function readExpressionPart(cursor: Cursor): Part {
  const expression = readExpression(cursor)
  const { start } = expression.span
  if (cursor.is('}')) return { value: expression }
  if (cursor.token.kind === 'mark' && ASSIGN.has(cursor.token.text))
    return { statement: readAssign(cursor, expression) }
  if (!cursor.take(';')) {
    cursor.fail(`";" or "}" is expected behind an expression, and ${described(cursor.token)} stands there`, {
      hint: 'Statements end with ;',
    })
  }
  return { statement: { kind: 'expression-statement', expression, span: cursor.span(start) } }
}

function readAssign(cursor: Cursor, target: Expression): Assign {
  if (!ASSIGNABLE.has(target.kind)) cursor.report('what stands before the sign cannot be assigned to')
  const operator = cursor.next().text as AssignOperator // the caller has looked
  const value = readExpression(cursor)
  readSemicolon(cursor, 'assignment')
  return { kind: 'assign', target, operator, value, span: cursor.span(target.span.start) }
}
