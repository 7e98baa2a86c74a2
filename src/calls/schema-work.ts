/**
 * How much work a schema may make. A plain one costs a step for each of its nodes and each node of a value, at worst, and a
 * long text counts as many nodes; any other can make a check last for ever: a pattern that backtracks, a reference to itself,
 * a list whose items are compared with each other. Schemas come from tool servers, so which is which is decided by their text
 * alone.
 */
import type { Json, JsonObject } from '../core/index.ts'

/** Steps that are made where everybody waits: some milliseconds. */
const STEPS_MAX = 50_000
/** A rule about a text looks at all of it: so many characters are a step. */
const STEP_CHARACTERS = 64
/** Formats are patterns of a library, and not each of them takes a step a character: no longer text is read at once. */
const TEXT_LENGTH_MAX = 4096
const SCHEMA_NODES_MAX = 5000
const SCHEMA_DEPTH_MAX = 32
/** Members after which the cost of a check is not the product of two sizes. A property of such a name only costs a detour. */
const COSTLY = new Set([
  '$anchor',
  '$dynamicRef',
  '$id',
  '$recursiveAnchor',
  '$recursiveRef',
  '$ref',
  'id',
  'pattern',
  'patternProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'uniqueItems',
])

const nodesOf = new WeakMap<object, number>()

/** Whether this value can be checked against this schema at once. */
export function isQuick(schema: JsonObject, value: Json): boolean {
  const known = nodesOf.get(schema)
  const nodes = known ?? plainNodes(schema)
  if (known === undefined) nodesOf.set(schema, nodes)
  return Number.isFinite(nodes) && countUpTo(value, STEPS_MAX / nodes)
}

/** The nodes of a plain schema; infinitely many of any other. */
function plainNodes(schema: Json): number {
  let nodes = 0
  const visit = (value: Json, depth: number): boolean => {
    nodes += 1
    if (nodes > SCHEMA_NODES_MAX || depth > SCHEMA_DEPTH_MAX) return false
    if (typeof value !== 'object' || value === null) return true
    if (Array.isArray(value)) return value.every((item) => visit(item, depth + 1))
    return Object.entries(value as JsonObject).every(([name, item]) => !COSTLY.has(name) && visit(item, depth + 1))
  }
  return visit(schema, 0) ? nodes : Number.POSITIVE_INFINITY
}

function countUpTo(value: Json, most: number): boolean {
  let nodes = 0
  const visit = (item: Json): boolean => {
    const length = typeof item === 'string' ? item.length : 0
    nodes += 1 + length / STEP_CHARACTERS
    if (nodes > most || length > TEXT_LENGTH_MAX) return false
    if (typeof item !== 'object' || item === null) return true
    return Array.isArray(item)
      ? item.every(visit)
      : Object.entries(item).every(([name, own]) => visit(name) && visit(own))
  }
  return visit(value)
}
