/** Inline policies judged the plain way, as a second opinion: whatever is doubtful throws, and a throw denies. */

export type NaiveValue = boolean | string | number
export type NaiveCondition =
  | { readonly value: NaiveValue }
  | { readonly path: string }
  | { readonly not: NaiveCondition }
  | { readonly operator: string; readonly left: NaiveCondition; readonly right: NaiveCondition }
  | { readonly operand: NaiveCondition; readonly list: readonly NaiveValue[] }
export interface NaiveRule {
  readonly effect: 'allow' | 'deny'
  readonly names: readonly string[] | boolean
  readonly condition: NaiveCondition | null
}
export type NaivePolicy = readonly { readonly name: string; readonly rules: readonly NaiveRule[] }[]

/** Null when every block lets the effect pass; otherwise the block that does not, and its rule from 1, where one decided. */
export function naiveRefusal(
  policy: NaivePolicy,
  effect: string,
  data: object,
): readonly [string, number | null] | null {
  for (const { name, rules } of policy) {
    let passes = rules.every((rule) => rule.effect === 'deny')
    for (const [index, rule] of rules.entries()) {
      if (rule.names === false || (rule.names !== true && !rule.names.includes(effect))) continue
      let holds: unknown
      try {
        holds = rule.condition === null || bool(compute(rule.condition, data))
      } catch {
        return [name, index + 1]
      }
      if (holds && rule.effect === 'deny') return [name, index + 1]
      if (holds) passes = true
    }
    if (!passes) return [name, null]
  }
  return null
}

function compute(node: NaiveCondition, data: object): unknown {
  if ('value' in node) return node.value
  if ('path' in node)
    return node.path.split('.').reduce<unknown>((at, field) => (at as Record<string, unknown>)[field], data)
  if ('not' in node) return !bool(compute(node.not, data))
  if ('list' in node) {
    const operand = compute(node.operand, data)
    return node.list.map((item) => same(operand, item)).includes(true)
  }
  const left = compute(node.left, data)
  if (node.operator === '&&') return bool(left) && bool(compute(node.right, data))
  if (node.operator === '||') return bool(left) || bool(compute(node.right, data))
  const right = compute(node.right, data)
  if (node.operator === '==') return same(left, right)
  if (node.operator === '!=') return !same(left, right)
  const difference = whole(left) - whole(right)
  return { '<': difference < 0, '>': difference > 0, '<=': difference <= 0, '>=': difference >= 0 }[node.operator]
}

function same(left: unknown, right: unknown): boolean {
  if (typeof left === 'boolean') return left === bool(right)
  if (typeof left === 'number') return whole(left) === whole(right)
  if (typeof left !== 'string' || typeof right !== 'string') throw new Error('two kinds')
  return left === right
}

function bool(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new Error('not true or false')
  return value
}

function whole(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new Error('no integer')
  return value as number
}
