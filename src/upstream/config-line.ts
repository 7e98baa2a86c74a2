/**
 * The line on which a member of a TOML document stands, for messages. The parser does not keep it. Looks for the usual
 * spellings, tables with a header and members with a name; null when a document is written in another way.
 */
export function lineOf(text: string, path: readonly string[]): number | null {
  let table: readonly string[] = []
  for (const [at, line] of text.split('\n').entries()) {
    const header = /^\s*\[\[?([^\]]+)\]\]?\s*(?:#.*)?$/.exec(line)?.[1]
    if (header !== undefined) table = namesIn(header)
    const member = header === undefined ? /^\s*([\w."'-]+(?:\s*\.\s*[\w."'-]+)*)\s*=/.exec(line)?.[1] : undefined
    const found = member === undefined ? (header === undefined ? null : table) : [...table, ...namesIn(member)]
    if (found !== null && path.every((name, index) => found[index] === name)) return at + 1
  }
  return null
}

function namesIn(dotted: string): readonly string[] {
  return [...dotted.matchAll(/"([^"]*)"|'([^']*)'|([^.\s"']+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
}
