/**
 * Columns of text for people: as wide as their longest cell, and nothing behind the last one. A cell is one line, and what
 * others wrote into it does not steer the terminal that shows it.
 */
import { oneLine, plain, widthOf } from './plain-text.ts'

export function textTable(rows: readonly (readonly string[])[]): readonly string[] {
  const lines = rows.map((row) => row.map((cell) => plain(cell).replace(/\s/g, ' ')))
  const widths: number[] = []
  for (const row of lines) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, widthOf(cell))
  }
  return lines.map((row) =>
    row
      .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd(),
  )
}

/** Less is no column to read in. */
const LAST_COLUMNS_MIN = 24

/** As `textTable`, within so many columns: the last cell goes on below itself, or below its row where too little is left. */
export function fittedTable(rows: readonly (readonly string[])[], columns: number): readonly string[] {
  const heads = textTable(rows.map((row) => row.slice(0, -1)))
  const indent = Math.max(0, ...heads.map(widthOf)) + 2
  const beside = columns - indent >= LAST_COLUMNS_MIN
  return rows.flatMap((row, at) => {
    const head = heads[at] ?? ''
    const [first = '', ...more] = filled(oneLine(row.at(-1) ?? ''), columns - (beside ? indent : 4))
    const below = more.map((line) => ' '.repeat(beside ? indent : 4) + line)
    if (beside) return [`${padded(head, indent)}${first}`.trimEnd(), ...below]
    return first === '' ? [head] : [head, `    ${first}`, ...below]
  })
}

/** Lines of whole words: a path or a digest that is longer than a line stays in one piece, so that it can be copied. */
export function filled(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= columns) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}
