/**
 * The text that a person approves: everything that would be approved, in a form that its content cannot spoof.
 *
 * The body is the complete JSON, as printable ASCII: every other character, and every control, is spelled `\uXXXX`. Its
 * lines are broken here, at a width that terminals have, and each begins with a mark, so that no content can begin a line
 * of its own or look like the lines around it. Length and digest of the body stand above it: a copy that was changed or cut does not fit them.
 */
import { byCodePoint, digestOfCanonical, type Hash, isJsonObject, type Json } from '../../core/index.ts'
import type { HeldAction } from './held-action.ts'
import { printable, spelled } from './printable.ts'

/** With its mark a line of the review fits a terminal of 80 columns. */
const COLUMNS = 76
const INDENTS_MAX = 12
/** What a person decides by stands first: why it is asked, and the tool with its arguments. Only in our own part of the JSON. */
const FIRST = ['reason', 'asked_by', 'asked', 'invocation', 'action', 'arguments']
const OUR_DEPTH_MAX = 2

export const TERMINAL_BYTES_MAX = 64 * 1024

/** Complete, printable ASCII and line ends. */
export function reviewText(action: HeldAction): string {
  const lines = bodyLines(action)
  const { bytes, digest } = measured(lines)
  const id = printable(action.id)
  return [
    `review of the held action ${id}`,
    `body: ${bytes} bytes, ${digest}`,
    ...lines.flatMap(marked),
    `end of the review of ${id}`,
    '',
  ].join('\n')
}

/** Names the body of the review: given back with a decision, it says which text was seen. */
export function reviewDigest(action: HeldAction): Hash {
  return measured(bodyLines(action)).digest
}

/** The review for a terminal, or null when it is longer than a person would read there. */
export function terminalReview(action: HeldAction): string | null {
  const text = reviewText(action)
  return text.length <= TERMINAL_BYTES_MAX ? text : null
}

function measured(lines: readonly string[]): { readonly bytes: number; readonly digest: Hash } {
  const body = lines.join('\n')
  return { bytes: body.length, digest: digestOfCanonical(body) }
}

/** The status is left out: it changes, and what is approved does not. */
function bodyLines({ status: _, context_snapshot, ...about }: HeldAction): readonly string[] {
  const lines: string[] = []
  layOut({ ...about, asked: context_snapshot } as Json, 0, '', '', lines)
  return lines
}

/** JSON with a line for each member; the names in one order, so that equal values have one text. */
function layOut(value: Json, depth: number, before: string, after: string, lines: string[]): void {
  const indent = '  '.repeat(Math.min(depth, INDENTS_MAX))
  const isList = Array.isArray(value)
  const members: readonly (readonly [string, Json])[] = isList
    ? value.map((item: Json) => ['', item] as const)
    : isJsonObject(value)
      ? Object.keys(value)
          .sort(depth <= OUR_DEPTH_MAX ? firstThings : byCodePoint)
          .map((name) => [`${quoted(name)}: `, value[name] as Json] as const)
      : []
  if (members.length === 0) {
    const bare = isList ? '[]' : isJsonObject(value) ? '{}' : typeof value === 'string' ? quoted(value) : String(value)
    lines.push(`${indent}${before}${bare}${after}`)
    return
  }
  lines.push(`${indent}${before}${isList ? '[' : '{'}`)
  for (const [at, [name, member]] of members.entries()) {
    layOut(member, depth + 1, name, at === members.length - 1 ? '' : ',', lines)
  }
  lines.push(`${indent}${isList ? ']' : '}'}${after}`)
}

function firstThings(one: string, other: string): number {
  const [left, right] = [one, other].map((name) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length))
  return (left ?? 0) - (right ?? 0) || byCodePoint(one, other)
}

/** A JSON string of printable ASCII: `\n` and its like are escapes of JSON already, everything else is spelled. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/[^\x20-\x7e]/g, spelled)
}

function marked(line: string): readonly string[] {
  const pieces = [`| ${line.slice(0, COLUMNS)}`]
  for (let at = COLUMNS; at < line.length; at += COLUMNS) pieces.push(`> ${line.slice(at, at + COLUMNS)}`)
  return pieces
}
