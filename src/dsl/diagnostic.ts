/**
 * What is wrong with a source, where, and what to write instead. One form for the command line, the editor and the runtime.
 */

export interface Position {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
  /** From 0, in UTF-8 bytes of the text without its byte order mark. */
  readonly offset: number
}

/**
 * `syntax`: the text does not follow the grammar, and no route takes it. `unsupported`: it does, but asks for something that
 * the runtime cannot enforce, and the routes that would have to refuse it by name. `warning`: it can be used as it is.
 */
export type DiagnosticKind = 'syntax' | 'unsupported' | 'warning'

export const DIAGNOSTIC_CODES = {
  E100: 'the text does not follow the grammar',
  E101: 'a bracket or a string is not closed',
  E102: 'the text is not UTF-8, holds a NUL, or is too long',
  E103: 'the text is nested too deeply',
  E104: 'the file cannot be read, or is a link',
  E110: 'no such top-level item or agent member',
  E120: 'a duration has no known unit',
  E130: 'no such sandbox, or a timeout that cannot be used',
  E131: 'two with-blocks of one agent contradict each other',
  E140: 'a schedule, channel, webhook or memory block cannot be used',
  E150: 'two declarations have one name, or two keys are equal',
  E160: 'it is not clear which agent is meant',
  E161: 'the project has no agent under this name',
  E170: 'a policy rule that the runtime cannot enforce',
  E171: 'a condition that the runtime cannot evaluate',
  E172: 'a limit is exceeded',
  E180: 'what a governed agent may not contain',
  W200: 'a with attribute has no effect',
  W210: 'a metadata key is unknown',
  W211: 'an escape in a string is unknown',
  W220: 'a rule names an unknown tool',
  W221: 'a part of a condition can have no answer, so its rule denies, or always the same',
} as const
export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES

export interface Diagnostic {
  readonly kind: DiagnosticKind
  readonly code: DiagnosticCode
  /** In the way of all messages here: what is the matter, values in quotes, no full stop. */
  readonly message: string
  /** What to write instead, with the accepted form where there is one. */
  readonly hint: string | null
  readonly start: Position
  readonly end: Position
  /** Other places that have to do with it, for example the bracket that was never closed. */
  readonly related: readonly { readonly message: string; readonly start: Position; readonly end: Position }[]
}
