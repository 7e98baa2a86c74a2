/** What is wrong and where, in one line for people: `agents/reviewer.symbi:3:5: E101 …`. Bounded, and safe to show. */
import type { Diagnostic } from '../dsl/index.ts'

const REASON_LENGTH_MAX = 400
const NAME_LENGTH_MAX = 120
const NAMES_MAX = 12

export function placed(place: string, { start, code, message }: Diagnostic): string {
  return bounded(`${place}:${start.line}:${start.column}: ${code} ${message}`)
}

/** The first of them, and how many more there are. */
export function placedAll(place: string, [first, ...others]: readonly [Diagnostic, ...Diagnostic[]]): string {
  return others.length === 0 ? placed(place, first) : `${placed(place, first)} (and ${others.length} more)`
}

export function bounded(reason: string): string {
  return cut(reason, REASON_LENGTH_MAX)
}

/** A name as it can stand in a message: what moves a cursor or turns the direction of text is shown as a mark. */
export function shownName(name: string): string {
  return cut(name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '\ufffd'), NAME_LENGTH_MAX)
}

/** Several names for a hint. */
export function someOf(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map(shownName).join(', ')
  return names.length <= NAMES_MAX ? shown : `${shown} and ${names.length - NAMES_MAX} more`
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`
}
