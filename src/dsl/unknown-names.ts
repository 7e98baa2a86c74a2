/**
 * Warns about rules that name what nobody here offers. Such a rule restricts nothing when it denies, and permits nothing
 * when it allows, so most likely its author meant another name. A warning only: the tools of a run are known when it starts.
 */
import type { Diagnostic } from './diagnostic.ts'
import type { EffectName, InlinePolicy } from './inline-policy.ts'
import { meant } from './parser/near-misses.ts'
import { DIAGNOSTICS_MAX, limited } from './problems.ts'

/** `known` holds tools by name, and targets of delegation as `delegate::<declared name>`. */
export function unknownNames(policy: InlinePolicy, known: ReadonlySet<string>): readonly Diagnostic[] {
  const names = policy.blocks.flatMap(({ rules }) =>
    rules.flatMap(({ selector }) => (typeof selector === 'boolean' ? [] : selector)),
  )
  const unknown = names.filter(({ text }) => !known.has(text)).toSorted((a, b) => a.start.offset - b.start.offset)
  // one more than is shown: guessing costs more the more names there are, and nobody reads a thousand guesses
  return limited(unknown.slice(0, DIAGNOSTICS_MAX + 1).map((name) => warningFor(name, known)))
}

/** The policies of a file bind all its agents, so the same guess would be made for each of them. */
const guesses = new WeakMap<ReadonlySet<string>, Map<string, string | null>>()

function guessFor(text: string, known: ReadonlySet<string>): string | null {
  const made = guesses.get(known) ?? new Map<string, string | null>()
  guesses.set(known, made)
  let guess = made.get(text)
  if (guess === undefined) {
    guess = known.has(`${DELEGATE}${text}`) ? `${DELEGATE}${text}` : meant(text, [...known])
    made.set(text, guess)
  }
  return guess
}

const DELEGATE = 'delegate::'

function warningFor({ text, start, end }: EffectName, known: ReadonlySet<string>): Diagnostic {
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

function hintFor(text: string, known: ReadonlySet<string>): string {
  const near = guessFor(text, known)
  if (near !== null) return `Did you mean ${JSON.stringify(near)}?`
  return text.startsWith(DELEGATE)
    ? 'A target goes by the name that its agent is declared with'
    : 'Write the name of a tool that the run has'
}
