/** A map that nobody can change: `Object.freeze` does not reach what a Map holds. */
export function frozenMap<K, V>(entries: Iterable<readonly [K, V]>): ReadonlyMap<K, V> {
  const map = new Map(entries)
  const frozen: ReadonlyMap<K, V> = {
    size: map.size,
    get: (key) => map.get(key),
    has: (key) => map.has(key),
    keys: () => map.keys(),
    values: () => map.values(),
    entries: () => map.entries(),
    forEach: (visit) => {
      for (const [key, value] of map) visit(value, key, frozen)
    },
    [Symbol.iterator]: () => map[Symbol.iterator](),
  }
  return Object.freeze(frozen)
}
