/**
 * One way to write each source. Only white space changes, and commas that end a list on its line: every other token is the
 * author's, letter by letter, and so is every comment.
 *
 * Owns how the text of an author fits the layout of its tree, and checks its own work: a formatter that changed what a policy
 * says would be worse than none.
 */
import { assert } from '../core/index.ts'
import { layOut } from './layout/layout.ts'
import { type Before, Page } from './layout/page.ts'
import type { Piece, Token } from './layout/pieces.ts'
import { type Word, type Words, wordsOf } from './layout/words.ts'
import { followsGrammar, parse } from './parse.ts'
import { SOURCE_BYTES_MAX } from './read-source.ts'

/**
 * A text that does not follow the grammar comes back unchanged, and so does one that indentation would make too long for a
 * source.
 */
export function format(text: string): string {
  const parsed = parse(text)
  if (!followsGrammar(parsed)) return text
  const written = wordsOf(text)
  const formatted = fit(layOut(parsed.tree), written)
  if (formatted === null || Buffer.byteLength(formatted) > SOURCE_BYTES_MAX) return text
  assert(saysTheSame(written, wordsOf(formatted)), 'formatting changes white space and nothing else')
  return formatted
}

/**
 * The words of the author in the layout of the tree, or null when that is too long. Where the two differ, the author is right:
 * in the spelling of literals, in commas that the grammar leaves to him, and in an empty pair of parentheses.
 */
function fit(pieces: readonly Piece[], { words, end }: Words): string | null {
  const page = new Page()
  let at = 0
  let lineEnd = -1 // of what goes on one line
  for (const [index, piece] of pieces.entries()) {
    if (page.length > SOURCE_BYTES_MAX) return null
    if (piece.kind !== 'token') {
      if (piece.kind === 'hang') page.hang()
      else page.endHang()
      continue
    }
    const word = words[at]
    assert(word !== undefined, 'a tree has no more tokens than its text')
    if (word.text !== piece.text && (piece.text === ',' || piece.written === 'optional')) continue
    assert(word.text === piece.text || piece.written === 'literal', 'a tree has the tokens of its text')
    page.token(piece, word.text, at > lineEnd ? word.before : unbroken(word.before))
    if (piece.bracket === 'open-line') lineEnd = endOfLine(words, at)
    at += 1
    const comma = words[at]
    if (comma?.text !== ',') continue
    const next = tokenBehind(pieces, index)
    if (next?.text === ',') continue
    at += 1
    page.token(extraComma(comma, next, words[at]), comma.text, comma.before)
  }
  assert(at === words.length, 'a text has no more tokens than its tree')
  return page.end(end)
}

const unbroken = ({ comments }: Before): Before => ({ comments, breaks: 0 })

/** Where the bracket at `opener` closes, or the opener itself where a comment stands in between and needs its line. */
function endOfLine(words: readonly Word[], opener: number): number {
  let depth = 0
  for (let at = opener; at < words.length; at += 1) {
    const word = words[at]
    if (at > opener && (word?.before.comments.length ?? 0) > 0) return opener
    if (word?.text === '[') depth += 1
    if (word?.text === ']') depth -= 1
    if (depth === 0) return at
  }
  return opener
}

function tokenBehind(pieces: readonly Piece[], index: number): Token | undefined {
  for (let at = index + 1; at < pieces.length; at += 1) {
    const piece = pieces[at]
    if (piece?.kind === 'token') return piece
  }
  return undefined
}

/** A comma that the tree does not know may go when it ends a list on its line, and nothing was said about it. */
function extraComma(comma: Word, next: Token | undefined, wordBehind: Word | undefined): Token {
  const endsList = next?.bracket === 'close' && next.gap !== 'line'
  const isTold = comma.before.comments.length > 0 || (wordBehind?.before.comments.length ?? 0) > 0
  const gap = endsList && !isTold ? 'trailing' : 'none'
  return { kind: 'token', gap, text: ',', bracket: null, written: 'as-is' }
}

/** The same tokens and the same comments, in the same order. */
function saysTheSame(one: Words, other: Words): boolean {
  return isEqual(tokensOf(one), tokensOf(other)) && isEqual(commentsOf(one), commentsOf(other))
}

/** Without commas that end a list. */
function tokensOf({ words }: Words): readonly string[] {
  const kept: string[] = []
  for (const [at, { text }] of words.entries()) {
    const next = text === ',' ? words[at + 1]?.text : undefined
    if (next !== ']' && next !== ')' && next !== '}') kept.push(text)
  }
  return kept
}

function commentsOf({ words, end }: Words): readonly string[] {
  const texts: string[] = []
  for (const { before } of words) for (const { text } of before.comments) texts.push(text)
  for (const { text } of end.comments) texts.push(text)
  return texts
}

function isEqual(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((text, at) => text === others[at])
}
