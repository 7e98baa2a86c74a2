/** Names of items that stand for one thing each. Names of policies are judged where policies are compiled. */
import type { Problem } from '../problems.ts'
import type { Agent, Item, Name, Policy, Source } from '../tree.ts'
import { conflict, quoted, refusal } from './found.ts'

/** Each kind of item has names of its own; agents are found by theirs. */
export function repeatedNames({ items }: Source): readonly Problem[] {
  const seen = new Map<string, Name>()
  return items.flatMap((item) => (item.kind === 'metadata' || item.kind === 'policy' ? [] : repeated(item, seen)))
}

/** A name stands in entries of the journal, in the names of effects, and in what a model reads. */
const NAME_UNITS_MAX = 128

export function longNames({ items }: Source): readonly Problem[] {
  const named = items.flatMap((item) => {
    if (item.kind === 'agent') return [item, ...item.members.filter(({ kind }) => kind === 'policy')]
    return item.kind === 'policy' ? [item] : []
  }) as readonly (Agent | Policy)[]
  return named
    .filter(({ name }) => name.text.length > NAME_UNITS_MAX)
    .map(({ kind, name }) => {
      const message = `the name of ${kind === 'agent' ? 'an agent' : 'a policy'} has ${name.text.length} characters, and may have ${NAME_UNITS_MAX}`
      return refusal('E172', name, message, 'Choose a shorter name; the rest belongs into the description')
    })
}

function repeated(
  { kind, name }: Exclude<Item, { kind: 'metadata' | 'policy' }>,
  seen: Map<string, Name>,
): readonly Problem[] {
  const id = `${kind} ${name.text}`
  const first = seen.get(id)
  if (first === undefined) seen.set(id, name)
  if (first === undefined || name.text === '') return []
  const message = `a second ${kind} is called ${quoted(name.text)}`
  return [conflict('E150', name, first, { message, hint: `Give each ${kind} of a file a name of its own` })]
}
