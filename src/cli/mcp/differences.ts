/** Two definitions of a tool, line by line. What a server wrote is shown as JSON in ASCII: it cannot look like another line. */
import { canonical, type Json, readJson } from '../../core/index.ts'
import type { Definition } from '../../upstream/index.ts'

export interface DiffLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

/** Beyond this the middle is shown as replaced; comparing every line with every other would take too long. */
const CELLS_MAX = 4_000_000
const CONTEXT = 2

export function differences(before: Definition | null, now: Definition | null): readonly DiffLine[] {
  const old = linesOf(before)
  const fresh = linesOf(now)
  let head = 0
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head += 1
  let tail = 0
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1
  return [
    ...signed(' ', old.slice(Math.max(0, head - CONTEXT), head)),
    ...middle(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...signed(' ', old.slice(old.length - tail, old.length - tail + CONTEXT)),
  ]
}

const CONTINUED = '  | '

/**
 * A line in pieces that fit the terminal. Where the terminal itself breaks a line, its author chooses with blanks what stands
 * at the beginning of the next row, and that could be the sign, or the name, of another tool.
 */
export function broken(line: string, columns: number): readonly string[] {
  const pieces = [line.slice(0, columns)]
  const room = columns - CONTINUED.length
  for (let at = columns; at < line.length; at += room) pieces.push(`${CONTINUED}${line.slice(at, at + room)}`)
  return pieces
}

function signed(sign: DiffLine['sign'], lines: readonly string[]): readonly DiffLine[] {
  return lines.map((text) => ({ sign, text }))
}

/** The longest lines in common stay, the others are taken away or added. */
function middle(old: readonly string[], fresh: readonly string[]): readonly DiffLine[] {
  if (old.length * fresh.length > CELLS_MAX) return [...signed('-', old), ...signed('+', fresh)]
  const width = fresh.length + 1
  const common = new Uint32Array((old.length + 1) * width)
  for (let at = old.length - 1; at >= 0; at -= 1) {
    for (let to = fresh.length - 1; to >= 0; to -= 1) {
      common[at * width + to] =
        old[at] === fresh[to]
          ? (common[(at + 1) * width + to + 1] as number) + 1
          : Math.max(common[(at + 1) * width + to] as number, common[at * width + to + 1] as number)
    }
  }
  const lines: DiffLine[] = []
  let at = 0
  let to = 0
  while (at < old.length || to < fresh.length) {
    if (at < old.length && to < fresh.length && old[at] === fresh[to]) {
      lines.push({ sign: ' ', text: old[at] as string })
      at += 1
      to += 1
    } else if (
      to >= fresh.length ||
      (at < old.length && (common[(at + 1) * width + to] as number) >= (common[at * width + to + 1] as number))
    ) {
      lines.push({ sign: '-', text: old[at] as string })
      at += 1
    } else {
      lines.push({ sign: '+', text: fresh[to] as string })
      to += 1
    }
  }
  return lines
}

/** Names in one order, so that a server that only writes them in another one changed nothing. */
function linesOf(definition: Definition | null): readonly string[] {
  if (definition === null) return []
  const ordered: Json = readJson(canonical(definition))
  const text = JSON.stringify(ordered, null, 2)
  return text.replace(/[^\n\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).split('\n')
}
