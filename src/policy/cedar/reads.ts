/**
 * Reads: what the policies of a slice can look at, so that Cedar need not convert the rest of every request.
 *
 * Sound because of how Cedar reads. A condition comes to the context only through the variable `context`. Where that stands
 * left of `.` or `has`, the condition learns of one member; anywhere else it gets the whole. So the paths that begin at the
 * variable are collected, a value that is used as such is kept whole, and an operator that is not known here keeps everything.
 * Entities are looked at by `.`, `has` and tags of what is not such a path; no entity of ours has parents, so `in` answers
 * the same without them. Scopes name entities and never look into them.
 *
 * The evidence is of the full request all the same, and whoever asks gives the full request once more when a policy failed.
 */
import { assert } from '../../core/index.ts'
import type { CedarExpr, CedarPolicyJson, CedarRequest } from './cedar-engine.ts'

/** Of a record: the members that are read, each with what is read of it. Null: all of the value. */
type Seen = ReadonlyMap<string, Seen> | null

export interface Reads {
  readonly context: Seen
  /** Whether the attributes of an entity may be read. */
  readonly entities: boolean
}

export function readsOf(policies: readonly { readonly json: CedarPolicyJson }[]): Reads {
  const walk = new Walk()
  for (const { json } of policies) for (const { body } of json.conditions) walk.expr(body)
  return { context: seenOf(walk.context), entities: walk.entities }
}

/** The request with what is read of it, and nothing else; the very same when all of it is read. */
export function shown(request: CedarRequest, { context, entities }: Reads): CedarRequest {
  if (context === null && entities) return request
  const { principal, action, resource } = request
  return {
    principal,
    action,
    resource,
    context: part(request.context, context) as CedarRequest['context'],
    entities: entities ? request.entities : NO_ENTITIES,
  }
}

const NO_ENTITIES: CedarRequest['entities'] = []

/** What is no record stays as it is: to read a member of it fails with or without the rest. */
function part(value: unknown, seen: Seen): unknown {
  if (seen === null || typeof value !== 'object' || value === null || Array.isArray(value)) return value
  if (Object.hasOwn(value, '__extn')) return value
  assert(!Object.hasOwn(value, '__entity'), 'no value of a context is an entity')
  const kept: Record<string, unknown> = Object.create(null) // so that no member name is special
  for (const [name, inner] of seen) {
    if (Object.hasOwn(value, name)) kept[name] = part((value as Record<string, unknown>)[name], inner)
  }
  return kept
}

interface Node {
  whole: boolean
  readonly members: Map<string, Node>
}

function seenOf({ whole, members }: Node): Seen {
  return whole ? null : new Map([...members].map(([name, member]) => [name, seenOf(member)]))
}

/** Operators by the operands in which they have expressions. What a member of one is called is no expression. */
const OPERANDS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(['!', 'neg', 'isEmpty'].map((name) => [name, ['arg']])),
  ...Object.fromEntries(
    ['==', '!=', 'in', '<', '<=', '>', '>=', '&&', '||', '+', '-', '*', 'contains', 'containsAll', 'containsAny'].map(
      (name) => [name, ['left', 'right']],
    ),
  ),
  like: ['left'],
  'if-then-else': ['if', 'then', 'else'],
}

class Walk {
  readonly context = node()
  entities = false

  expr(expr: CedarExpr): void {
    const found = this.#placeOf(expr)
    if (found !== null) {
      found.whole = true // a value like any other: all of it may matter
      return
    }
    const [[operator, operands] = ['', null], ...others] = Object.entries(expr)
    const isPlain = operator === 'Value' || (operator === 'Var' && operands !== 'context') // data, or a name of an entity
    if (isPlain && others.length === 0) return
    if (others.length > 0 || typeof operands !== 'object' || operands === null) this.#unknown()
    else this.#operator(operator, operands)
  }

  #operator(operator: string, operands: object): void {
    const among = operands as Record<string, CedarExpr>
    const known = Object.hasOwn(OPERANDS, operator) ? OPERANDS[operator] : undefined
    if (operator === 'has' || operator === '.') this.#member(operator, operands as Member)
    else if (operator === 'is') this.#each([among.left, ...('in' in among ? [among.in] : [])])
    else if (operator === 'getTag' || operator === 'hasTag') {
      this.entities = true
      this.#each([among.left, among.right])
    } else if (known !== undefined) this.#each(known.map((name) => among[name]))
    else if (operator === 'Record') this.#each(Object.values(operands))
    else if (Array.isArray(operands))
      this.#each(operands) // a set, or the arguments of a function
    else this.#unknown()
  }

  #each(exprs: readonly (CedarExpr | undefined)[]): void {
    for (const expr of exprs) {
      if (typeof expr === 'object' && expr !== null) this.expr(expr)
      else this.#unknown()
    }
  }

  /** Of a path in the context, `has` needs what lies on the way. Of anything else it may read an entity. */
  #member(operator: string, { left, attr }: Member): void {
    const base = operator === 'has' ? this.#placeOf(left) : null
    if (base === null) {
      this.entities = true
      this.#each([left])
    } else {
      let at = base
      for (const step of typeof attr === 'string' ? [attr] : attr) at = memberOf(at, step)
    }
  }

  /** Where the value of `context.a.b` is kept, or null for any other expression. */
  #placeOf(expr: CedarExpr): Node | null {
    if ('Var' in expr) return expr.Var === 'context' ? this.context : null
    if (!('.' in expr) || Array.isArray(expr['.'])) return null
    const { left, attr } = expr['.'] as Member
    if (typeof attr !== 'string') return null
    const base = this.#placeOf(left)
    return base === null ? null : memberOf(base, attr)
  }

  #unknown(): void {
    this.context.whole = true
    this.entities = true
  }
}

type Member = { readonly left: CedarExpr; readonly attr: string | readonly string[] }

function node(): Node {
  return { whole: false, members: new Map() }
}

function memberOf(from: Node, name: string): Node {
  const known = from.members.get(name)
  if (known !== undefined) return known
  const made = node()
  from.members.set(name, made)
  return made
}
