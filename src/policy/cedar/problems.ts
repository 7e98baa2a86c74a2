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
  /** How many problems this one stands for, where it is more than itself. */
  readonly count?: number
}

export function problemAt(
  text: string,
  index: number,
  severity: Problem['severity'],
  message: string,
  hint: string | null,
): Problem {
  return { severity, file: null, ...new Lines(text).at(index), message, hint }
}

/** Nobody mends more of one text at a time, and each has its price: a text of a megabyte may hold tens of thousands. */
const TOLD_MAX = 100

/** The problems of one text, in the order in which they are found. Behind the first of them the others are counted. */
export class Problems {
  readonly #lines: Lines
  readonly #severity: Problem['severity']
  readonly #told: Problem[] = []
  #untold = 0
  #firstUntold: Place | null = null

  constructor(text: string, severity: Problem['severity']) {
    this.#lines = new Lines(text)
    this.#severity = severity
  }

  /** `index` is asked for only where the place is told. */
  add(index: () => number, message: string, hint: string | null): void {
    if (this.#told.length < TOLD_MAX) {
      this.#told.push({ severity: this.#severity, file: null, ...this.#lines.at(index()), message, hint })
    } else {
      this.#firstUntold ??= this.#lines.at(index())
      this.#untold += 1
    }
  }

  /** The last of them may stand for many. */
  list(file: string | null = null): readonly Problem[] {
    const told = this.#told.map((problem) => ({ ...problem, file }))
    const count = this.#untold
    if (this.#firstUntold === null) return told
    const message = count === 1 ? 'and one more from here on' : `and ${count} more from here on`
    const more = { severity: this.#severity, file, ...this.#firstUntold, message, hint: 'Mend the first ones', count }
    return [...told, more]
  }
}

export interface Place {
  readonly line: number
  readonly column: number
  readonly source: string
}

/** The lines of a text, found once. Cedar ends lines as editors do: at `\n`, `\r` or both. */
export class Lines {
  readonly #text: string
  #starts: readonly number[] | null = null

  constructor(text: string) {
    this.#text = text
  }

  /** Where an index of the text stands. */
  at(index: number): Place {
    const line = this.lineAt(index)
    const start = this.#found()[line - 1] as number
    const end = this.#found()[line] ?? this.#text.length
    const source = this.#text.slice(start, Math.min(end, start + 400)).replace(/[\r\n]+$/, '')
    return { line, column: charactersIn(this.#text, start, index) + 1, source }
  }

  lineAt(index: number): number {
    const starts = this.#found()
    let [low, high] = [0, starts.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((starts[middle] as number) <= index) low = middle
      else high = middle
    }
    return low + 1
  }

  #found(): readonly number[] {
    this.#starts ??= [0, ...Array.from(this.#text.matchAll(LINE_END), ({ 0: end, index }) => index + end.length)]
    return this.#starts
  }
}

const LINE_END = /\r\n|\n|\r/g

function charactersIn(text: string, start: number, end: number): number {
  let count = 0
  for (let index = start; index < end; count += 1) index += (text.codePointAt(index) as number) > 0xffff ? 2 : 1
  return count
}

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
  const count = errors.reduce((sum, problem) => sum + (problem.count ?? 1), 0)
  const more = count > 1 ? ` (and ${count - 1} more)` : ''
  return new Fault('POLICY_INVALID', {
    message: `Cannot use the policies: ${first === undefined ? 'they are not valid' : describe(first)}${more}`,
    hint: first?.hint ?? 'Run "symbi policy check" to see every problem with its line',
    facts: first === undefined ? {} : { file: first.file, line: first.line, column: first.column },
  })
}
