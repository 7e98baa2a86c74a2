/** A text as its author set it: every token letter by letter, with the comments and line ends before it. */

import { tokenize } from '../lexer/lexer.ts'
import { type Before, NOTHING_BEFORE, type PlacedComment } from './page.ts'

export interface Words {
  readonly words: readonly Word[]
  /** What stands behind the last one. */
  readonly end: Before
}

export interface Word {
  readonly text: string
  readonly before: Before
}

/** Of a text without errors: what no token begins with is left out here. */
export function wordsOf(text: string): Words {
  const { tokens, comments } = tokenize(text)
  const words: Word[] = []
  let behind = 0
  let next = 0
  for (const { start, end } of tokens) {
    const own: PlacedComment[] = []
    for (let comment = comments[next]; comment !== undefined && comment.span.start < start; comment = comments[next]) {
      own.push({ text: comment.text.trimEnd(), breaks: lineEnds(text, behind, comment.span.start) })
      behind = comment.span.end
      next += 1
    }
    const breaks = lineEnds(text, behind, start)
    const before = own.length === 0 && breaks === 0 ? NOTHING_BEFORE : { comments: own, breaks }
    words.push({ text: text.slice(start, end), before })
    behind = end
  }
  const end = words.pop() // the lexer's last token is the end of the text
  return { words, end: end?.before ?? NOTHING_BEFORE }
}

/** Unit by unit, because a search for the next line end could read the rest of the text each time. */
function lineEnds(text: string, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at += 1) if (text.charCodeAt(at) === 0x0a) count += 1
  return count
}
