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

const WORDS = { boolean: 'true or false', text: 'text', integer: 'an integer', object: 'a whole object' } as const

function never(scope: PolicyScope, node: Expression, message: string, hint: string): void {
  warn(scope, node, 'W221', `${message}, so the rule denies every effect that it names`, hint)
}
