/**
 * What is known of the kinds in a condition before any call: enough to warn where a part can have no answer. Such a rule
 * denies whatever it names, because there is no conversion (9.3); the author most likely meant something else.
 */
import type { Condition, Scalar } from './inline-policy.ts'
import { type PolicyScope, warn } from './policy-scope.ts'
import type { Binary, Expression } from './tree.ts'

export type Kind = 'boolean' | 'text' | 'integer' | 'object'

export interface Typed {
  readonly condition: Condition
  /** Null where only the call will show it. */
  readonly kind: Kind | null
}

export function kindOf(value: Scalar): Kind {
  return typeof value === 'bigint' ? 'integer' : typeof value === 'string' ? 'text' : 'boolean'
}

export function wantBoolean({ kind }: Typed, node: Expression, scope: PolicyScope): void {
  if (kind === null || kind === 'boolean') return
  never(scope, node, `a condition wants true or false here and gets ${WORDS[kind]}`, 'Compare it with something')
}

export function wantIntegers(sides: readonly Typed[], node: Binary, scope: PolicyScope): void {
  const other = sides.map(({ kind }) => kind).find((kind) => kind !== null && kind !== 'integer')
  if (other === undefined || other === null) return
  never(
    scope,
    node,
    `"${node.operator}" compares ${WORDS[other]}, and only integers have an order`,
    'Compare integers without quotes, or use == and !=',
  )
}

export function wantEqualKinds(kinds: readonly (Kind | null)[], node: Binary, scope: PolicyScope): void {
  const known = kinds.filter((kind) => kind !== null)
  const [first] = known
  const other = known.find((kind) => kind !== first) ?? known.find((kind) => kind === 'object')
  if (first === undefined || other === undefined) return
  const negated = node.left.kind === 'unary' && first === 'boolean'
  never(
    scope,
    node,
    other === first
      ? `"${node.operator}" compares ${WORDS[other]}`
      : `"${node.operator}" compares ${WORDS[first]} with ${WORDS[other]}`,
    negated
      ? 'A negation binds more tightly than a comparison: put the comparison in parentheses'
      : 'Compare values of one kind, and name the field that is meant',
  )
}

/** What a prepared call always is (2.6); the members of `arguments`, `resolved` and `action` are the call's own. */
const MEMBERS: ReadonlyMap<string, readonly string[] | null> = new Map([
  ['arguments', null],
  [
    'contract',
    ['name', 'version', 'digest', 'action_type', 'action_id', 'resource_type', 'resource_id', 'requires_approval'],
  ],
  ['resolved', null],
  ['source_policy', ['semantics', 'source_hash', 'declaration_hash', 'agent_name', 'policies']],
  ['action', null],
  ['fingerprint', []],
])

/** Warns of a path into the call that leads nowhere. */
export function wantMember([first, second]: readonly string[], node: Expression, scope: PolicyScope): void {
  if (first === undefined) return
  const inner = MEMBERS.get(first)
  const missing = (path: string, known: readonly string[]): void =>
    never(scope, node, `there is no "${path}"`, `There ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`)
  if (inner === undefined)
    missing(
      `invocation.${shown(first)}`,
      [...MEMBERS.keys()].map((name) => `invocation.${name}`),
    )
  else if (inner !== null && second !== undefined && !inner.includes(second)) {
    const known = inner.map((name) => `invocation.${first}.${name}`)
    missing(`invocation.${first}.${shown(second)}`, known.length > 0 ? known : [`invocation.${first}`])
  }
}

const AGENT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Warns of a comparison of the principal that always comes to the same. */
export function wantAgentIds(
  { condition }: Typed,
  values: readonly Condition[],
  node: Binary,
  scope: PolicyScope,
): void {
  if (condition.kind !== 'path' || condition.root !== 'principal') return
  const texts = values.flatMap((value) =>
    value.kind === 'literal' && typeof value.value === 'string' ? [value.value] : [],
  )
  const odd = texts.find((text) => !AGENT_ID.test(text))
  if (odd === undefined) return
  const message = `the principal is a UUID in small letters, and never ${JSON.stringify(shown(odd))}`
  warn(
    scope,
    node,
    'W221',
    message,
    'A policy in a file binds its own agents: leave the comparison out, or write the UUID',
  )
}

function shown(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64).toWellFormed()}…` : name
}

const WORDS = { boolean: 'true or false', text: 'text', integer: 'an integer', object: 'a whole object' } as const

function never(scope: PolicyScope, node: Expression, message: string, hint: string): void {
  warn(scope, node, 'W221', `${message}, so the rule denies every effect that it names`, hint)
}
