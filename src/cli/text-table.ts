/** Columns of text for people: as wide as their longest cell, and nothing behind the last one. */

export function textTable(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, plain(cell).length)
  }
  return rows.map((row) =>
    row
      .map((cell, at) => plain(cell).padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** What others wrote into a file must not steer the terminal that shows it. */
export function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}
