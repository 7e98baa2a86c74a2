/**
 * Slices: which policies must be asked for which action.
 *
 * Sound because of how Cedar evaluates a scope: a policy whose action scope does not name the action of the request is
 * neither satisfied nor able to fail, whatever its conditions hold, and no request of ours gives actions a hierarchy. So
 * leaving it out changes neither the decision nor the deciding policies nor the errors. Policies that name no action are
 * in every slice.
 */
import type { CedarName } from './cedar-engine.ts'

export interface SliceBounds {
  /** How many different sets may be prepared. */
  readonly slicesMax: number
  /** How many policies all of them may hold together, the widest included. */
  readonly policiesMax: number
}

interface Scoped {
  readonly actions: readonly CedarName[] | null
}

export interface Slices<P> {
  readonly sets: readonly (readonly P[])[]
  /** Index of the set to ask for an action. */
  setFor(action: CedarName): number
}

/**
 * Set 0 answers for actions that no policy names. When not every action can have a set of its own, those with the
 * smallest sets, which gain most, have one, and the others share the full set.
 */
export function sliceByAction<P extends Scoped>(policies: readonly P[], bounds: SliceBounds): Slices<P> {
  const { named, always } = byAction(policies)
  const sets: (readonly P[])[] = [always.map((member) => policies[member] as P)]
  const setOf = new Map<string, number>()
  const bySet = new Map<string, number>()
  let prepared = always.length + policies.length // the full set may have to be prepared as well
  let full: number | null = null
  for (const [action, own] of smallestFirst(named)) {
    const key = own.join() // the others of its set are the same for every action
    let index = bySet.get(key)
    if (index === undefined) {
      const count = own.length + always.length
      const room = sets.length < bounds.slicesMax - 1 && prepared + count <= bounds.policiesMax
      if (room) {
        index = sets.length
        bySet.set(key, index)
        // a set is put together only where there is room for it: all of them would be every action times every policy
        sets.push([...own, ...always].sort((a, b) => a - b).map((member) => policies[member] as P))
        prepared += count
      } else {
        if (full === null) {
          full = sets.length
          sets.push(policies)
        }
        index = full
      }
    }
    setOf.set(action, index)
  }
  return { sets, setFor: (action) => setOf.get(keyOf(action)) ?? 0 }
}

/** The indices of the policies that name each action, and of those that name none. */
function byAction(policies: readonly Scoped[]): {
  readonly named: ReadonlyMap<string, ReadonlySet<number>>
  readonly always: readonly number[]
} {
  const named = new Map<string, Set<number>>()
  const always: number[] = []
  for (const [index, { actions }] of policies.entries()) {
    if (actions === null) always.push(index)
    for (const action of actions ?? []) {
      const key = keyOf(action)
      const members = named.get(key)
      if (members === undefined) named.set(key, new Set([index]))
      else members.add(index)
    }
  }
  return { named, always }
}

function smallestFirst(named: ReadonlyMap<string, ReadonlySet<number>>): (readonly [string, readonly number[]])[] {
  return [...named]
    .sort(([left, a], [right, b]) => a.size - b.size || (left < right ? -1 : 1))
    .map(([action, own]) => [action, [...own]])
}

function keyOf({ type, id }: CedarName): string {
  return `${type}\n${id}` // a type never holds a line end, so no two names share a key
}
