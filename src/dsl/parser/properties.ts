/** Keys and their values, in the three ways that blocks write them: `key = value`, `key: value`, `key value`. */
import { described, isMark, type Token } from '../lexer/token.ts'
import type { Expression, Property } from '../tree.ts'
import type { Cursor } from './cursor.ts'
import { literalOf, readArray, readRecord, wordOf } from './primary.ts'

export interface PropertyForm {
  /** Which separators the block takes; `''` stands for none, and then no other is taken. */
  readonly separators: readonly Property['separator'][]
  /** What a value may be besides one word or literal. */
  readonly also: readonly ('array' | 'record' | 'vault-url')[]
  /** Shown when something is wrong: `key = "value"`. */
  readonly example: string
}

export function readProperty(cursor: Cursor, form: PropertyForm): Property {
  const { token } = cursor
  const hint = `Write ${form.example}`
  if (token.kind === 'string' && (form.separators.includes('') || isSeparator(cursor.ahead()))) {
    cursor.report('a key stands without quotes', { hint })
  } else if (token.kind !== 'word') {
    cursor.fail(`a key is expected, and ${described(token)} stands there`, { hint })
  }
  const key = cursor.nameOf(cursor.next())
  const separator = readSeparator(cursor, key.text, form)
  const value = readValue(cursor, key.text, form)
  const span = cursor.span(token.start)
  return { kind: 'property', key, separator, value, comma: cursor.take(','), span }
}

/** A wrong separator is told and passed over, so the value is still read. */
function readSeparator(cursor: Cursor, key: string, { separators, example }: PropertyForm): Property['separator'] {
  const written = cursor.is('=') ? '=' : cursor.is(':') ? ':' : ''
  if (separators.includes(written)) {
    if (written !== '') cursor.next()
    return written
  }
  const wanted = separators.map((separator) => `"${separator}"`).join(' or ')
  if (written === '') {
    if (!beginsValue(cursor.token)) {
      cursor.fail(`${wanted} is expected behind "${key}", and ${described(cursor.token)} stands there`, {
        hint: `Write ${example}`,
      })
    }
    cursor.report(`${wanted} is missing between "${key}" and its value`, { hint: `Write ${example}` })
    return written
  }
  const message = separators.includes('')
    ? `nothing stands between "${key}" and its value here, no "${written}"`
    : `"${key}" takes ${wanted} here, not "${written}"`
  cursor.report(message, { hint: `Write ${example}` })
  cursor.next()
  return written
}

const isSeparator = (token: Token): boolean => isMark(token, '=') || isMark(token, ':')
const beginsValue = (token: Token): boolean => token.kind === 'word' || literalOf(token) !== null || isMark(token, '[')

function readValue(cursor: Cursor, key: string, { also, example }: PropertyForm): Expression {
  const { token } = cursor
  if (token.kind === 'word') return wordOf(cursor)
  if (also.includes('array') && isMark(token, '[')) return readArray(cursor)
  if (also.includes('record') && isMark(token, '{')) return readRecord(cursor)
  const literal = token.kind === 'vault-url' && !also.includes('vault-url') ? null : literalOf(token)
  if (literal === null) {
    cursor.fail(`"${key}" needs a value, and ${described(token)} stands there`, {
      hint: isMark(token, '-') ? 'Numbers have no sign here' : `Write ${example}`,
    })
  }
  cursor.next()
  return literal
}
