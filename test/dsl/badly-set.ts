/** Sources as no formatter would set them: any white space and any comment between two tokens, and commas at the end of lists. */
import fc, { type Arbitrary } from 'fast-check'
import { print } from '../../src/dsl/index.ts'
import { tokenize } from '../../src/dsl/lexer/lexer.ts'
import type { Token } from '../../src/dsl/lexer/token.ts'
import { source } from './arbitrary-tree.ts'

const space = fc.constantFrom(' ', '\n', '\r\n', '\t', '  ', '\n\n', '\n \n\r\n')
const comment = fc.constantFrom(
  ' // said\n',
  '# said: "x" [ y \r\n',
  '\n//\n',
  '\n\n# one \n# two\n\n\n',
  ' //a\n//b\n',
  '\n\n\n   // last words\t\n\n',
)

export const badlySet: Arbitrary<string> = fc
  .record({
    tree: source,
    gaps: fc.array(fc.oneof({ weight: 8, arbitrary: space }, { weight: 1, arbitrary: comment }), {
      minLength: 1,
      maxLength: 40,
    }),
    chances: fc.array(fc.boolean(), { minLength: 1, maxLength: 37 }),
  })
  .map(({ tree, gaps, chances }) => {
    const text = print(tree)
    const { tokens } = tokenize(text)
    const ends = listEnds(tokens)
    const chance = (at: number): boolean => chances[at % chances.length] === true
    let taken = 0
    const gap = (): string => gaps[taken++ % gaps.length] ?? ' '
    return tokens
      .map((token, at) => {
        const isApart = token.start > (tokens[at - 1]?.end ?? 0)
        const before = isApart || chance(at) ? gap() : ''
        const comma = ends.has(at) && chance(at + 1) ? `,${chance(at + 2) ? gap() : ''}` : ''
        return `${before}${comma}${text.slice(token.start, token.end)}`
      })
      .join('')
  })

/** Closers of lists that have items: print sets a list's `(` directly behind its name, and a list's `[` nowhere so. */
function listEnds(tokens: readonly Token[]): ReadonlySet<number> {
  const ends = new Set<number>()
  const open: boolean[] = []
  for (const [at, token] of tokens.entries()) {
    if (token.kind !== 'mark') continue
    const before = tokens[at - 1]
    const isAttached = before?.end === token.start && !(before.kind === 'mark' && /^[[({!-]$/.test(before.text))
    if (token.text === '(') open.push(isAttached)
    if (token.text === '[') open.push(!isAttached)
    if (token.text !== ')' && token.text !== ']') continue
    const isEmpty = before?.kind === 'mark' && (before.text === '(' || before.text === '[')
    if (open.pop() === true && !isEmpty) ends.add(at)
  }
  return ends
}
