/**
 * From the expression behind `if` to a condition that can be evaluated (9.2), or a diagnostic for every part that cannot,
 * even where it would never be reached: what the runtime cannot enforce is refused by name and never ignored.
 */
import { isLiteral, scalarOf } from './compile-literal.ts'
import {
  kindOf,
  type Typed,
  wantAgentIds,
  wantBoolean,
  wantEqualKinds,
  wantIntegers,
  wantMember,
} from './condition-kinds.ts'
import { type Condition, HIDDEN_CONTEXT, type Scalar } from './inline-policy.ts'
import { type PolicyScope, refuse as refuseAs } from './policy-scope.ts'
import type { ArrayLiteral, Binary, Expression, FieldAccess, Name, Unary } from './tree.ts'

export function conditionOf(node: Expression, scope: PolicyScope): Condition | null {
  const typed = typedOf(node, scope)
  if (typed === null) return null
  wantBoolean(typed, node, scope)
  return typed.condition
}

function typedOf(node: Expression, scope: PolicyScope): Typed | null {
  if (isLiteral(node)) {
    const value = scalarOf(node, scope)
    return value === null ? null : { condition: { kind: 'literal', value }, kind: kindOf(value) }
  }
  switch (node.kind) {
    case 'group':
      return typedOf(node.inner, scope)
    case 'name':
    case 'field-access':
      return pathOf(node, scope)
    case 'unary':
      return negationOf(node, scope)
    case 'binary':
      return binaryOf(node, scope)
    default: {
      const [message, hint] = REFUSED[node.kind]
      return refuse(node, scope, message, hint)
    }
  }
}

type Words = readonly [message: string, hint: string]

const PATH = 'invocation.arguments.path == "docs/a.md"'
const PATH_HINT = `Compare a field, for example ${PATH}`
const LIST_HINT = 'Write the values in brackets, for example invocation.arguments.path in ["a.md", "b.md"]'

const REFUSED = {
  array: ['a list stands where a condition compares one value', LIST_HINT],
  call: ['a condition calls a function, and a policy runs no code', PATH_HINT],
  index: ['a condition takes an element by its place', 'Name a field with a dot; an element of a list has no name'],
  record: ['a record stands in a condition', PATH_HINT],
  construct: ['a record stands in a condition', PATH_HINT],
  lambda: ['a function stands in a condition, and a policy runs no code', PATH_HINT],
  'if-expression': ['a condition decides with another "if"', 'Write && and ||, or two rules'],
  duration: ['a duration stands in a condition', 'Compare with an integer, in the unit of the field'],
  'vault-url': ['a secret stands in a condition, and policies read none', PATH_HINT],
} as const satisfies Readonly<Record<string, Words>>

function pathOf(node: Name | FieldAccess, scope: PolicyScope): Typed | null {
  const fields: string[] = []
  let base: Expression = node
  for (; base.kind === 'field-access'; base = base.object) fields.push(base.field.text)
  fields.reverse()
  if (base.kind !== 'name') {
    const hint = 'Write the path with dots only, as in invocation.arguments.path'
    return refuse(node, scope, 'a field is taken of something that is no path', hint)
  }
  const root = base.text
  if (root === 'principal') {
    if (fields.length === 0) return { condition: { kind: 'path', root, fields }, kind: 'text' }
    const hint = 'Write principal == "…" with the UUID of an agent'
    return refuse(node, scope, '"principal" has no fields: it is the id of the agent', hint)
  }
  if (root !== 'invocation' && root !== 'context') {
    return refuse(base, scope, `a condition cannot read "${shorten(root)}"`, rootHint(root))
  }
  if (root === 'context' && HIDDEN_CONTEXT.includes(fields[0] ?? '')) {
    const message = `a condition cannot read "context.${fields[0]}": it is judged before anybody is asked to approve`
    return refuse(node, scope, message, 'Require approval in the contract of the tool, or ask for it in a Cedar policy')
  }
  if (root === 'invocation') wantMember(fields, node, scope)
  return { condition: { kind: 'path', root, fields }, kind: fields.length === 0 ? 'object' : null }
}

function rootHint(root: string): string {
  if (root === 'and' || root === 'or') return `Write ${root === 'and' ? '&&' : '||'}`
  if (root === 'null') return 'A field that is null or missing denies by itself'
  if (root === 'arguments' || root === 'contract' || root === 'resolved') return `Write invocation.${root} and a field`
  return `Write a text in quotes, or a path that begins with invocation, context or principal, for example ${PATH}`
}

function negationOf(node: Unary, scope: PolicyScope): Typed | null {
  if (node.operator === '-') return arithmetic(node, scope)
  const operand = typedOf(node.operand, scope)
  if (operand === null) return null
  wantBoolean(operand, node.operand, scope)
  return { condition: { kind: 'not', operand: operand.condition }, kind: 'boolean' }
}

function binaryOf(node: Binary, scope: PolicyScope): Typed | null {
  const { operator } = node
  if (operator === 'in') return membershipOf(node, scope)
  if (operator === '+' || operator === '-' || operator === '*' || operator === '/' || operator === '%') {
    return arithmetic(node, scope)
  }
  const left = typedOf(node.left, scope)
  const right = typedOf(node.right, scope)
  if (left === null || right === null) return null
  const sides = { left: left.condition, right: right.condition }
  if (operator === '&&' || operator === '||') {
    wantBoolean(left, node.left, scope)
    wantBoolean(right, node.right, scope)
    return { condition: { kind: operator === '&&' ? 'and' : 'or', ...sides }, kind: 'boolean' }
  }
  if (operator === '==' || operator === '!=') {
    wantEqualKinds([left.kind, right.kind], node, scope)
    wantAgentIds(left, [right.condition], node, scope)
    wantAgentIds(right, [left.condition], node, scope)
  } else wantIntegers([left, right], node, scope)
  return { condition: { kind: 'compare', operator, ...sides }, kind: 'boolean' }
}

function membershipOf(node: Binary, scope: PolicyScope): Typed | null {
  const operand = typedOf(node.left, scope)
  if (node.right.kind !== 'array') return refuse(node.right, scope, 'behind "in" stands no list of values', LIST_HINT)
  const items = itemsOf(node.right, scope)
  if (operand === null || items === null) return null
  wantEqualKinds([operand.kind, ...items.map(kindOf)], node, scope)
  wantAgentIds(
    operand,
    items.map((value) => ({ kind: 'literal', value })),
    node,
    scope,
  )
  return { condition: { kind: 'in', operand: operand.condition, items }, kind: 'boolean' }
}

function itemsOf(list: ArrayLiteral, scope: PolicyScope): readonly Scalar[] | null {
  if (list.items.length === 0) return refuse(list, scope, 'the list behind "in" is empty', LIST_HINT)
  const items = list.items.map((item) => scalarOf(item, scope))
  return items.every((item) => item !== null) ? items : null
}

function arithmetic(node: Expression, scope: PolicyScope): null {
  return refuse(node, scope, 'a condition does arithmetic', 'Write the number that comes out')
}

function refuse(node: Expression, scope: PolicyScope, message: string, hint: string): null {
  return refuseAs(scope, node, 'E171', message, hint)
}

function shorten(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text
}
