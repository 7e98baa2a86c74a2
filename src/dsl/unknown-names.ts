/**
 * Warns about rules that name what nobody here offers. Such a rule restricts nothing when it denies, and permits nothing
 * when it allows, so most likely its author meant another name. A warning only: the tools of a run are known when it starts.
 */
import type { Diagnostic } from './diagnostic.ts'
import type { EffectName, InlinePolicy } from './inline-policy.ts'
import { meant } from './parser/near-misses.ts'
import { DIAGNOSTICS_MAX, limited } from './problems.ts'

/** `known` holds tools by name, and targets of delegation as `delegate::<declared name>`. */
export function unknownNames(
  { blocks }: Pick<InlinePolicy, 'blocks'>,
  known: ReadonlySet<string>,
): readonly Diagnostic[] {
  const names = blocks.flatMap(({ rules }) =>
    rules.flatMap(({ selector }) => (typeof selector === 'boolean' ? [] : selector)),
  )
  const candidates = [...known]
  const unknown = names
    .filter(({ text }) => !known.has(text))
    .sort((left, right) => left.start.offset - right.start.offset)
  return limited(unknown.slice(0, DIAGNOSTICS_MAX + 1).map((name) => warningFor(name, candidates))) // each is compared with all
}

const DELEGATE = 'delegate::'
/** How the names of tools of foreign servers begin. */
const FOREIGN = 'mcp__'

function warningFor({ text, start, end }: EffectName, known: readonly string[]): Diagnostic {
  const what = text.startsWith(DELEGATE) ? 'target of delegation' : 'tool'
  return {
    kind: 'warning',
    code: 'W220',
    message: `no ${what} is called ${JSON.stringify(text)}, and names are exact`,
    hint: hintFor(text, known),
    start,
    end,
    related: [],
  }
}

function hintFor(text: string, known: readonly string[]): string {
  const near = known.includes(`${DELEGATE}${text}`) ? `${DELEGATE}${text}` : meant(text, known)
  if (near !== null) return `Did you mean ${JSON.stringify(near)}?`
  if (text.startsWith(DELEGATE)) return 'A target goes by the name that its agent is declared with'
  return text.startsWith(FOREIGN)
    ? 'Name the tool in "expose" of its server; under ["*"] it is known once it is pinned: see "symbi mcp pin"'
    : 'Write the name of a tool that the run has. A tool that a program of yours brings is not known here: then leave it'
}
