/** What the compiler of policies hands down: the text, where things stand in it, and what was found wrong so far. */
import type { DiagnosticCode, Position } from './diagnostic.ts'
import type { LineMap } from './line-map.ts'
import type { Problem, Problems } from './problems.ts'
import type { Span } from './tree.ts'

export interface PolicyScope {
  readonly text: string
  readonly lines: LineMap
  readonly problems: Problems
}

interface Placed {
  readonly span: Span
}

/** What the runtime cannot enforce. Returns null, which stands for the part that is refused. */
export function refuse(
  { problems }: PolicyScope,
  { span }: Placed,
  code: DiagnosticCode,
  message: string,
  hint: string,
  related: Problem['related'] = [],
): null {
  problems.add(code, message, span, { kind: 'unsupported', hint, related })
  return null
}

export function warn(
  { problems }: PolicyScope,
  { span }: Placed,
  code: DiagnosticCode,
  message: string,
  hint: string,
): void {
  problems.add(code, message, span, { kind: 'warning', hint })
}

export function placeOf(
  { lines }: PolicyScope,
  { span }: Placed,
): { readonly start: Position; readonly end: Position } {
  return { start: lines.positionAt(span.start), end: lines.positionAt(span.end) }
}
