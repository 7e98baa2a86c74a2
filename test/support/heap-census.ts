/**
 * A count of what lives on the heap of this process: every object, closure, string and the like, by what it is and how it is
 * called. Bytes of a heap come and go with what the engine compiles; a count does not, so one object too many each time shows.
 */
import { getHeapSnapshot } from 'node:v8'

/** How many, by `type name`. All strings are one name. */
export type Census = Readonly<Record<string, number>>

interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly [readonly string[]] }
  }
  readonly nodes: readonly number[]
  readonly strings: readonly string[]
}

/** What programs make; the rest is what the engine keeps for itself. */
const TYPES = new Set([
  'object',
  'closure',
  'string',
  'concatenated string',
  'sliced string',
  'regexp',
  'bigint',
  'native',
])

/** A snapshot holds only what is reachable. Takes some hundred milliseconds. */
export async function census(): Promise<Census> {
  const pieces: Buffer[] = []
  for await (const piece of getHeapSnapshot()) pieces.push(piece as Buffer)
  const { snapshot, nodes, strings } = JSON.parse(Buffer.concat(pieces).toString()) as Snapshot
  const { node_fields, node_types } = snapshot.meta
  const [type, name] = [node_fields.indexOf('type'), node_fields.indexOf('name')]
  const counts: Record<string, number> = {}
  for (let at = 0; at < nodes.length; at += node_fields.length) {
    const kind = node_types[0][nodes[at + type] as number] as string
    if (!TYPES.has(kind)) continue
    const key = kind.includes('string') ? 'string' : `${kind} ${strings[nodes[at + name] as number]}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

export interface Grown {
  readonly name: string
  readonly by: number
}

/** What there is more of than before, beyond so many; the most first. */
export function grown(before: Census, after: Census, strayMax: number): readonly Grown[] {
  return Object.entries(after)
    .map(([name, count]) => ({ name, by: count - (before[name] ?? 0) }))
    .filter(({ by }) => by > strayMax)
    .sort((left, right) => right.by - left.by)
}
