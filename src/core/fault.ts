/**
 * The two ways to stop. A Fault says that the outside went wrong (bad input, bad storage, an absent peer); a Bug says
 * that we did. Only a door catches a Bug, to end the run. A denial is neither: it is an ordinary observation.
 */
import type { Code } from './codes.ts'

export interface FaultDetails {
  /** "Cannot ‹act› ‹what›: ‹state›", values in quotes, no full stop, and never a secret. */
  readonly message: string
  /** What to do next, as a sentence. */
  readonly hint?: string
  readonly cause?: unknown
  /** Facts for a program, safe to show: no secret, no host path. */
  readonly facts?: Readonly<Record<string, string | number | boolean | null>>
}

export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: Code
  readonly hint: string | undefined
  readonly facts: Readonly<Record<string, string | number | boolean | null>>

  constructor(code: Code, details: FaultDetails) {
    // well-formed, because a message may quote the half of what somebody sent, and goes into evidence
    super(details.message.toWellFormed(), details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.hint = details.hint
    this.facts = details.facts ?? {}
  }
}

/** A broken promise of our own. It is never the caller's fault, and never a reason to carry on. */
export class Bug extends Error {
  override readonly name = 'Bug'
}

export function assert(condition: unknown, promise: string): asserts condition {
  if (!condition) throw new Bug(promise)
}

export function isFault(error: unknown, ...codes: readonly Code[]): error is Fault {
  return error instanceof Fault && (codes.length === 0 || codes.includes(error.code))
}

/**
 * The text of anything that was thrown, and never a throw of its own: foreign code throws what it likes. For logs and
 * diagnostics; doors show codes and public sentences instead.
 */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error).toWellFormed()
  } catch {
    return 'something that has no text was thrown'
  }
}
