/** What stands between braces, part by part, so that one broken part costs the others nothing. */
import { described, isMark, isWord } from '../lexer/token.ts'
import type { Cursor } from './cursor.ts'
import { MEMBER_MISSES } from './near-misses.ts'

export interface Braces {
  /** For messages: `the agent "x"`. */
  readonly what: string
  /** Shows the accepted form when the opening brace is missing. */
  readonly form: string
  /** Reads one part; takes at least one token or fails. */
  readonly read: () => void
  /** Whether a part may be an expression, so that a record may have the name of an item. */
  readonly expressions?: true
  /** Whether a part may begin at this token, as a place to go on after an error. */
  readonly starts: (index: number) => boolean
}

export function readBraces(cursor: Cursor, { what, form, read, expressions, starts }: Braces): void {
  const opener = cursor.index
  if (!cursor.take('{')) {
    cursor.fail(`${what} needs "{", and ${described(cursor.token)} stands there`, { hint: `Write ${form}` })
  }
  const entered = cursor.enter()
  const closed = cursor.brackets.isClosed(opener)
  while (!cursor.is('}') && !cursor.ended) {
    const outside = beginsNewItem(cursor) && !(closed && expressions === true && beginsRecord(cursor))
    if (outside && !closed) break // it is not in here: the brace before it was forgotten
    cursor.attempt(opener, outside ? () => refuseItem(cursor, what) : read, starts)
  }
  cursor.leave(entered)
  if (cursor.take('}')) return
  cursor.unclosed(opener, what, cursor.ended ? 'the file ends here' : 'something new begins here')
}

function refuseItem(cursor: Cursor, what: string): never {
  const { text } = cursor.token
  cursor.fail(`"${text}" cannot stand inside ${what}`, { code: 'E110', hint: MEMBER_MISSES[text] ?? 'Move it out' })
}

/** Words that open an item at the top level, and nothing anywhere else. */
const ITEMS_ONLY = new Set(['agent', 'schedule', 'channel', 'memory', 'webhook'])

/** `metadata { key: value }` is an expression where one may stand, and `metadata { key = value }` never is. */
function beginsRecord(cursor: Cursor): boolean {
  const [brace, key, separator] = [cursor.ahead(), cursor.ahead(2), cursor.ahead(3)]
  if (!isMark(brace, '{')) return false
  return isMark(key, '}') || ((key.kind === 'word' || key.kind === 'string') && isMark(separator, ':'))
}

function beginsNewItem(cursor: Cursor): boolean {
  const { token } = cursor
  if (token.kind !== 'word') return false
  if (token.text === 'metadata') return isMark(cursor.ahead(), '{')
  if (isWord(cursor.ahead(), 'in')) return false // a name that is looked for in something
  const body = cursor.ahead(2)
  return ITEMS_ONLY.has(token.text) && cursor.ahead().kind === 'word' && (isMark(body, '{') || isMark(body, '('))
}
