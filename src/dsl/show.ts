/**
 * A diagnostic for a person, with the line it is about and a caret under the place, and for an editor as plain data.
 *
 * The text comes from strangers and goes to a terminal: what would steer it, turn its direction or hide is written as a code
 * point, and the caret stands under what is shown, not under what is stored.
 */
import type { Diagnostic, Position } from './diagnostic.ts'
import { columnsOf, visible } from './visible.ts'

export function showDiagnostic(diagnostic: Diagnostic, text: string, fileName: string): readonly string[] {
  const { code, message, hint, start, end, related } = diagnostic
  const file = visible(fileName)
  return [
    `${file}:${start.line}:${start.column}: ${code} ${visible(message)}`,
    ...sourceLines(text, start, end),
    ...(hint === null ? [] : [`    hint: ${visible(hint)}`]),
    ...related.map((note) => `    ${file}:${note.start.line}:${note.start.column}: ${visible(note.message)}`),
  ]
}

export interface DiagnosticRow {
  readonly kind: Diagnostic['kind']
  readonly code: Diagnostic['code']
  readonly message: string
  readonly hint: string | null
  readonly line: number
  readonly column: number
  readonly offset: number
  readonly end_line: number
  readonly end_column: number
  readonly end_offset: number
  readonly related: readonly { readonly message: string; readonly line: number; readonly column: number }[]
}

/** Lines and columns from 1, columns in UTF-16 units, offsets in bytes of UTF-8. */
export function diagnosticJson({ kind, code, message, hint, start, end, related }: Diagnostic): DiagnosticRow {
  return {
    kind,
    code,
    message,
    hint,
    line: start.line,
    column: start.column,
    offset: start.offset,
    end_line: end.line,
    end_column: end.column,
    end_offset: end.offset,
    related: related.map((note) => ({ message: note.message, line: note.start.line, column: note.start.column })),
  }
}

/** Units of a line that are shown; of a longer one, about as many before the place as behind it. */
const SHOWN_MAX = 160

/** The line and its caret; nothing for a text that is not at hand. */
function sourceLines(text: string, start: Position, end: Position): readonly string[] {
  const line = lineAround(text, start)
  if (line === null) return []
  const before = visible(line.before)
  const place = visible(line.behind.slice(0, end.line === start.line ? end.column - start.column : line.behind.length))
  const shown = `${line.cutBefore ? '…' : ''}${before}${visible(line.behind)}${line.cutBehind ? '…' : ''}`
  const indent = columnsOf(before) + (line.cutBefore ? 1 : 0)
  return [`    ${shown.trimEnd()}`, `    ${' '.repeat(indent)}${'^'.repeat(Math.max(1, columnsOf(place)))}`]
}

interface LinePart {
  readonly before: string
  readonly behind: string
  readonly cutBefore: boolean
  readonly cutBehind: boolean
}

/**
 * A window of the line, however long it is. Found by its byte, because reading all the lines before it would take too long;
 * four bytes a unit are enough for any character.
 */
function lineAround(text: string, { offset, column }: Position): LinePart | null {
  const bytes = new TextEncoder().encode(text)
  if (text === '' || offset > bytes.length) return null
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const head = decoder.decode(bytes.subarray(Math.max(0, offset - 4 * SHOWN_MAX), offset))
  const tail = decoder.decode(bytes.subarray(offset, offset + 4 * SHOWN_MAX))
  const lineEnd = tail.search(/\r?\n/)
  const length = Math.min(lineEnd === -1 ? tail.length : lineEnd, SHOWN_MAX + 1)
  const before = Math.min(column - 1, Math.max(SHOWN_MAX / 2, SHOWN_MAX - length))
  const behind = Math.min(length, SHOWN_MAX - before)
  return {
    before: head.slice(head.length - before),
    behind: tail.slice(0, behind),
    cutBefore: before < column - 1,
    cutBehind: behind < length,
  }
}
