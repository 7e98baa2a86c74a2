/** Names of items that stand for one thing each. Names of policies are judged where policies are compiled. */
import type { Problem } from '../problems.ts'
import type { Item, Name, Source } from '../tree.ts'
import { conflict, quoted } from './found.ts'

/** Each kind of item has names of its own; agents are found by theirs. */
export function repeatedNames({ items }: Source): readonly Problem[] {
  const seen = new Map<string, Name>()
  return items.flatMap((item) => (item.kind === 'metadata' || item.kind === 'policy' ? [] : repeated(item, seen)))
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
