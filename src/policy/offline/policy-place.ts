/** Where a policy stands, for people who want to read it. */
import type { CedarError } from '../cedar/cedar-engine.ts'
import { originOf, type Policy } from '../cedar/policy-set.ts'
import { indexOfByte, placeOf } from '../cedar/problems.ts'

export interface PolicyPlace {
  readonly name: string
  readonly file: string | null
  readonly line: number
}

/** Where the policy begins, or where in it the error is. */
export function placeOfPolicy({ name, entry, part }: Policy, error?: CedarError): PolicyPlace {
  const [place] = error?.sourceLocations ?? []
  const start = part.start + (place === undefined ? 0 : indexOfByte(part.text, place.start))
  return { name, file: originOf(entry), line: placeOf(entry.source, start).line }
}
