/**
 * Problems as they are found, in offsets, and the diagnostics that are made of them in the end.
 *
 * A file reports at most 100 (1.14). Whatever is left out, something of its kind is kept, so a file with an error never
 * looks as if it had only warnings.
 */
import type { Diagnostic, DiagnosticCode, DiagnosticKind } from './diagnostic.ts'
import type { LineMap } from './line-map.ts'
import type { Span } from './tree.ts'

export const DIAGNOSTICS_MAX = 100

export type Hint = string | (() => string)

export interface Problem {
  readonly kind: DiagnosticKind
  readonly code: DiagnosticCode
  readonly message: string
  /** A function where it costs something to find: it is asked only for what is reported. */
  readonly hint: Hint | null
  readonly span: Span
  readonly related: readonly { readonly message: string; readonly span: Span }[]
}

/** The details that most problems do without. */
export interface ProblemDetails {
  readonly hint?: Hint
  readonly kind?: DiagnosticKind
  readonly related?: Problem['related']
}

export class Problems {
  readonly list: Problem[] = []
  /** How many of a kind were reported, kept or not. */
  readonly counts: Record<DiagnosticKind, number> = { syntax: 0, unsupported: 0, warning: 0 }

  /** Whether the grammar has more to say than a file may report. */
  get isFull(): boolean {
    return this.counts.syntax > DIAGNOSTICS_MAX
  }

  /** Memory stays bounded: of each kind, more than a file may report are only counted. */
  add(code: DiagnosticCode, message: string, span: Span, details: ProblemDetails = {}): void {
    const kind = details.kind ?? 'syntax'
    this.counts[kind] += 1
    if (this.counts[kind] > DIAGNOSTICS_MAX + 1) return
    this.list.push({ kind, code, message, hint: details.hint ?? null, span, related: details.related ?? [] })
  }
}

export function diagnosticsOf(problems: readonly Problem[], lines: LineMap): readonly Diagnostic[] {
  return limited(placedProblems(problems, lines))
}

/** As many as can matter to `limited`, whatever else is found beside them. */
export function placedProblems(problems: readonly Problem[], lines: LineMap): readonly Diagnostic[] {
  return bounded(problems).map((problem) => diagnosticOf(problem, lines))
}

/** The first of each kind, one more than may be reported: then it is known that there were more. */
function bounded(problems: readonly Problem[]): readonly Problem[] {
  const counts = { syntax: 0, unsupported: 0, warning: 0 }
  return problems
    .toSorted((a, b) => a.span.start - b.span.start)
    .filter(({ kind }) => {
      counts[kind] += 1
      return counts[kind] <= DIAGNOSTICS_MAX + 1
    })
}

function diagnosticOf(problem: Problem, lines: LineMap): Diagnostic {
  const placed = <T extends { readonly span: Span }>({ span, ...rest }: T) => ({
    ...rest,
    start: lines.positionAt(span.start),
    end: lines.positionAt(span.end),
  })
  const { hint } = problem
  return {
    ...placed(problem),
    hint: typeof hint === 'function' ? hint() : hint,
    related: problem.related.map(placed),
  }
}

const WEIGHT: Readonly<Record<DiagnosticKind, number>> = { syntax: 0, unsupported: 1, warning: 2 }

/** In the order of their places; when there are too many, the weightier ones are kept, and the last says so. */
export function limited(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const inOrder = diagnostics.toSorted((a, b) => a.start.offset - b.start.offset || WEIGHT[a.kind] - WEIGHT[b.kind])
  if (inOrder.length <= DIAGNOSTICS_MAX) return inOrder
  const byWeight = inOrder.toSorted((a, b) => WEIGHT[a.kind] - WEIGHT[b.kind])
  const kept = new Set(byWeight.slice(0, DIAGNOSTICS_MAX - 1))
  const next = byWeight[DIAGNOSTICS_MAX - 1]
  const shown = inOrder.filter((diagnostic) => kept.has(diagnostic))
  if (next === undefined) return shown
  const message = `there are more problems than the ${DIAGNOSTICS_MAX} that are shown: ${next.message}`
  return [...shown, { ...next, message, hint: 'Mend those above and check again' }]
}
