/**
 * Problems: what is wrong with a policy, at which line, and what to do. One form for loading, `policy check` and
 * `policy evaluate`. Columns count characters, not bytes; Cedar's own offsets are bytes of UTF-8.
 */
import { Fault } from '../../core/index.ts'

export interface Problem {
  readonly severity: 'error' | 'warning'
  /** The file, relative to the policy folder; null for text that came from nowhere. */
  readonly file: string | null
  /** From 1. */
  readonly line: number
  /** From 1, in characters. */
  readonly column: number
  readonly message: string
  readonly hint: string | null
  /** The source line itself. */
  readonly source: string
}

export function problemAt(
  text: string,
  index: number,
  severity: Problem['severity'],
  message: string,
  hint: string | null,
): Problem {
  return { severity, file: null, ...placeOf(text, index), message, hint }
}

export interface Place {
  readonly line: number
  readonly column: number
  readonly source: string
}

/** Where an index of a text stands. Cedar ends lines as editors do: at `\n`, `\r` or both. */
export function placeOf(text: string, index: number): Place {
  const lines = text.slice(0, index).split(LINE_END)
  const before = lines.at(-1) ?? ''
  const after = text.slice(index).split(LINE_END, 1)[0] ?? ''
  const source = `${before}${after}`
  return { line: lines.length, column: [...before].length + 1, source: source.slice(0, 400) }
}

const LINE_END = /\r\n|\n|\r/

/** The index in a string of an offset that counts bytes of its UTF-8 form. */
export function indexOfByte(text: string, byteOffset: number): number {
  return Buffer.from(text).subarray(0, byteOffset).toString().length
}

/** `policies/a.cedar:3:14: message`, as compilers write it. */
export function describe(problem: Problem): string {
  return `${problem.file ?? 'policy'}:${problem.line}:${problem.column}: ${problem.message}`
}

/** The first error as a Fault; the others are counted. */
export function problemFault(problems: readonly Problem[]): Fault {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const [first] = errors
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return new Fault('POLICY_INVALID', {
    message: `Cannot use the policies: ${first === undefined ? 'they are not valid' : describe(first)}${more}`,
    hint: first?.hint ?? 'Run "symbi policy check" to see every problem with its line',
    facts: first === undefined ? {} : { file: first.file, line: first.line, column: first.column },
  })
}
