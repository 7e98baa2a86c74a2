/** Where a policy stands, for people who want to read it. */
import type { CedarError } from '../cedar/cedar-engine.ts'
import { originOf, type Policy, type PolicyEntry } from '../cedar/policy-set.ts'
import { indexOfByte, Lines } from '../cedar/problems.ts'

export interface PolicyPlace {
  readonly name: string
  readonly file: string | null
  readonly line: number
}

/** Where the policy begins, or where in it the error is. */
export function placeOfPolicy({ name, entry, part }: Policy, error?: CedarError): PolicyPlace {
  const [place] = error?.sourceLocations ?? []
  const start = part.start + (place === undefined ? 0 : indexOfByte(part.text, place.start))
  return { name, file: originOf(entry), line: linesOf(entry).lineAt(start) }
}

/** One answer may name every policy of a long text. */
const known = new WeakMap<PolicyEntry, Lines>()

function linesOf(entry: PolicyEntry): Lines {
  const lines = known.get(entry) ?? new Lines(entry.source)
  known.set(entry, lines)
  return lines
}
