/** How the checks behind the grammar say what they found: legal text that nobody here can enforce, or that has no effect. */
import type { DiagnosticCode } from '../diagnostic.ts'
import type { Hint, Problem } from '../problems.ts'
import type { Expression, Span } from '../tree.ts'

interface Placed {
  readonly span: Span
}

export function refusal(code: DiagnosticCode, { span }: Placed, message: string, hint: Hint): Problem {
  return { kind: 'unsupported', code, span, message, hint, related: [] }
}

export function warning(code: DiagnosticCode, { span }: Placed, message: string, hint: Hint): Problem {
  return { kind: 'warning', code, span, message, hint, related: [] }
}

/** The second of two that exclude each other, with the place of the first. */
export function conflict(
  code: DiagnosticCode,
  { span }: Placed,
  first: Placed,
  { message, hint }: { readonly message: string; readonly hint: string },
): Problem {
  return {
    kind: 'unsupported',
    code,
    span,
    message,
    hint,
    related: [{ message: 'the first stands here', span: first.span }],
  }
}

/** A string or a bare word: where the language takes a name, both mean the same. */
export function textOf(value: Expression): string | null {
  if (value.kind === 'string') return value.value
  return value.kind === 'name' ? value.text : null
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)
}
