/** As much of a TextMate engine as our grammar needs: patterns in order, the leftmost match first, and begin and end. */

export interface Rule {
  readonly include?: string
  readonly name?: string
  readonly match?: string
  readonly begin?: string
  readonly end?: string
  readonly captures?: Readonly<Record<string, { readonly name: string }>>
  readonly beginCaptures?: Rule['captures']
  readonly endCaptures?: Rule['captures']
  readonly patterns?: readonly Rule[]
}

export interface Grammar {
  readonly patterns: readonly Rule[]
  readonly repository: Readonly<Record<string, Rule>>
}

/** A piece of a line, and the innermost name it has. */
export type Piece = readonly [text: string, name: string]

export function scan(grammar: Grammar, text: string): readonly Piece[] {
  const pieces: Piece[] = []
  let inside: Rule | undefined
  for (const line of text.split('\n')) {
    let at = 0
    while (at < line.length) {
      const rules: readonly Rule[] = inside === undefined ? grammar.patterns : (inside.patterns ?? [])
      const end: Found | null = inside === undefined ? null : find(inside, inside.end ?? '', line, at)
      const next: Found | null = leftmost(flat(grammar, rules), line, at)
      const found: Found | null = end !== null && (next === null || end.match.index <= next.match.index) ? end : next
      if (found === null) break
      pieces.push(...piecesOf(found, found === end ? inside?.endCaptures : undefined))
      at = found.match.index + found.match[0].length
      if (found === end) inside = undefined
      else if (found.rule.begin !== undefined) inside = found.rule
    }
  }
  return pieces
}

interface Found {
  readonly rule: Rule
  readonly match: RegExpExecArray
}

function leftmost(rules: readonly Rule[], line: string, at: number): Found | null {
  let best: Found | null = null
  for (const rule of rules) {
    const found = find(rule, rule.match ?? rule.begin ?? '', line, at)
    if (found !== null && (best === null || found.match.index < best.match.index)) best = found
  }
  return best
}

function find(rule: Rule, pattern: string, line: string, at: number): Found | null {
  const regexp = new RegExp(pattern, 'dg')
  regexp.lastIndex = at
  const match = regexp.exec(line)
  return match === null ? null : { rule, match }
}

/** Rules with a pattern of their own; those that only hold others give way to them. */
export function flat(grammar: Grammar, rules: readonly Rule[]): readonly Rule[] {
  return rules.flatMap((rule) => {
    if (rule.include !== undefined) {
      const included = grammar.repository[rule.include.slice(1)]
      if (included === undefined) throw new Error(`nothing is called ${rule.include}`)
      return flat(grammar, [included])
    }
    return rule.match === undefined && rule.begin === undefined ? flat(grammar, rule.patterns ?? []) : [rule]
  })
}

function piecesOf({ rule, match }: Found, endCaptures: Rule['captures']): readonly Piece[] {
  const captures = endCaptures ?? rule.captures ?? rule.beginCaptures ?? {}
  const named = Object.entries(captures).map(([group, { name }]): Piece => [match[Number(group)] ?? '', name])
  return named.length > 0 ? named : [[match[0], rule.name ?? '']]
}
