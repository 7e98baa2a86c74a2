/** Names, typed parameters and types. */
import { called, described, isMark } from '../lexer/token.ts'
import type { Name, Parameter, Type } from '../tree.ts'
import type { Cursor } from './cursor.ts'

/** The name of an item: forgiving about how it is written, so that its body is still read. */
export function readItemName(cursor: Cursor, word: string, form: string): Name {
  const { token } = cursor
  const hint = `Write ${form}`
  if (token.kind === 'word') return readHyphens(cursor, cursor.nameOf(cursor.next()))
  if (token.kind === 'string') {
    cursor.report(`the name of ${withArticle(word)} stands without quotes`, { hint })
    return cursor.nameOf(cursor.next())
  }
  if (!isMark(token, '{') && !isMark(token, '(')) {
    cursor.fail(`${withArticle(word)} needs a name, and ${described(token)} stands there`, { hint })
  }
  cursor.report(`this ${word} has no name`, { hint })
  return { kind: 'name', text: '', span: { start: token.start, end: token.start } }
}

function withArticle(word: string): string {
  return `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`
}

function readHyphens(cursor: Cursor, name: Name): Name {
  if (!cursor.is('-') || cursor.ahead().start !== cursor.token.end) return name
  const first = cursor.index
  while (cursor.is('-') && (cursor.ahead().kind === 'word' || cursor.ahead().kind === 'number')) {
    cursor.next()
    cursor.next()
  }
  if (cursor.index === first) return name
  const span = cursor.span(name.span.start)
  cursor.report('a name holds no hyphen', { span, hint: 'Names hold ASCII letters, digits and "_"' })
  return { ...name, span }
}

export function readName(cursor: Cursor, what: string, hint?: string): Name {
  const { token } = cursor
  if (token.kind === 'word') return cursor.nameOf(cursor.next())
  cursor.fail(`${what} is expected, and ${described(token)} stands there`, hint === undefined ? {} : { hint })
}

/** `( name: Type, … )`; commas may be left out. */
export function readParameters(cursor: Cursor): readonly Parameter[] {
  const opener = cursor.index
  cursor.next()
  const parameters: Parameter[] = []
  while (!cursor.is(')')) {
    if (cursor.token.kind !== 'word') closeList(cursor, opener, ')', 'a parameter')
    parameters.push(readParameter(cursor))
    if (cursor.is('=')) {
      cursor.fail('a parameter has no default value', { hint: 'Write (name: Type)' })
    }
    cursor.take(',')
  }
  cursor.next()
  return parameters
}

export function readParameter(cursor: Cursor): Parameter {
  const name = readName(cursor, 'a name', 'Write name: Type')
  if (!cursor.take(':')) {
    cursor.fail(`"${called(name)}" needs a type, and ${described(cursor.token)} stands there`, {
      hint: `Write ${called(name)}: String`,
    })
  }
  const type = readType(cursor)
  return { kind: 'parameter', name, type, span: cursor.span(name.span.start) }
}

export function readReturns(cursor: Cursor): Type | null {
  return cursor.take('->') ? readType(cursor) : null
}

export function readType(cursor: Cursor): Type {
  const name = readName(cursor, 'a type', 'Write String, int, float, bool, a name, or list<String>')
  if (!cursor.is('<')) return { kind: 'type-reference', name, arguments: [], span: name.span }
  const inner: Type[] = []
  const entered = cursor.enter()
  do {
    cursor.next()
    inner.push(readType(cursor))
  } while (cursor.is(','))
  cursor.leave(entered)
  if (!cursor.take('>')) {
    cursor.fail(`the types of "${called(name)}" end with ">", and ${described(cursor.token)} stands there`, {
      hint: 'Write map<String, int>',
    })
  }
  return { kind: 'type-reference', name, arguments: inner, span: cursor.span(name.span.start) }
}

/** Takes the closer of a list, or fails: at the opener when nothing closes it, otherwise where the list goes wrong. */
export function closeList(cursor: Cursor, opener: number, closer: ')' | ']', item: string): void {
  if (cursor.take(closer)) return
  const found = described(cursor.token)
  if (!cursor.brackets.isClosed(opener)) {
    const { start, end, text } = cursor.at(opener)
    const { token } = cursor
    cursor.fail(`"${text}" is not closed`, {
      code: 'E101',
      span: { start, end },
      hint: `Add the missing ${closer}`,
      related: [{ message: `${found} stands where it should end`, span: { start: token.start, end: token.end } }],
    })
  }
  cursor.fail(`${item}, "," or "${closer}" is expected, and ${found} stands there`, comparisonHint(cursor))
}

export function comparisonHint(cursor: Cursor): { readonly hint?: string } {
  return cursor.is('=') ? { hint: 'Two values are compared with ==' } : {}
}
