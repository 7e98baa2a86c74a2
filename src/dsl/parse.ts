/**
 * From text to tree. Never throws, whatever the text: what is wrong with it is in the diagnostics, and the tree holds what
 * could be read all the same. Linear in the length of the text, and bounded in depth.
 */
import type { Diagnostic } from './diagnostic.ts'
import { tokenize } from './lexer/lexer.ts'
import { LineMap } from './line-map.ts'
import { Cursor } from './parser/cursor.ts'
import { beginsItem, readItem } from './parser/items.ts'
import { diagnosticsOf, type Problem } from './problems.ts'
import type { Comment, Item, Source } from './tree.ts'

export interface Parsed {
  /** As it was parsed: half of a surrogate pair is a diagnostic, and U+FFFD in here. */
  readonly text: string
  readonly tree: Source
  readonly comments: readonly Comment[]
  /** What the grammar has to say, in the order of the places: at most 100. */
  readonly diagnostics: readonly Diagnostic[]
  readonly lines: LineMap
}

export function parse(given: string): Parsed {
  const text = given.toWellFormed()
  const tokenized = tokenize(text)
  const cursor = new Cursor(tokenized)
  const items: Item[] = []
  const starts = (index: number): boolean => beginsItem(cursor, index)
  while (!cursor.ended) cursor.attempt(-1, () => items.push(readItem(cursor)), starts)
  const lines = new LineMap(text)
  return {
    text,
    tree: { kind: 'source', items, span: { start: 0, end: text.length } },
    comments: tokenized.comments,
    diagnostics: diagnosticsOf(
      [...halves(given), ...tokenized.problems, ...behind(tokenized.problems, cursor.problems.list)],
      lines,
    ),
    lines,
  }
}

/** A text that was never bytes can hold what has no bytes. What is hashed and shown must be what was judged. */
function halves(text: string): readonly Problem[] {
  if (text.isWellFormed()) return []
  const start = firstDifference(text, text.toWellFormed())
  const message = 'the text holds half of a surrogate pair'
  const hint = 'Encode it as UTF-8'
  return [{ kind: 'syntax', code: 'E102', message, hint, span: { start, end: start + 1 }, related: [] }]
}

function firstDifference(one: string, other: string): number {
  let at = 0
  while (one.charCodeAt(at) === other.charCodeAt(at)) at += 1
  return at
}

/** What the parser says of a token that could not even be read adds nothing. */
function behind(unreadable: readonly Problem[], problems: readonly Problem[]): readonly Problem[] {
  const told = new Set(unreadable.filter(({ kind }) => kind === 'syntax').map(({ span }) => span.start))
  return problems.filter(({ span }) => !told.has(span.start))
}

/** Whether the text follows the grammar. One that does not is used by no route. */
export const followsGrammar = ({ diagnostics }: Parsed): boolean => diagnostics.every(({ kind }) => kind !== 'syntax')
