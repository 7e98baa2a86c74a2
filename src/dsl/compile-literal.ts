/** The literals of policies: JSON strings, booleans, and integers of 64 bits with their sign. Everything else is none. */
import type { Scalar } from './inline-policy.ts'
import { type PolicyScope, refuse } from './policy-scope.ts'
import type { BooleanLiteral, Expression, NumberLiteral, StringLiteral, Unary } from './tree.ts'

/** True for what is meant as a literal, whether or not it can be used as one. */
export function isLiteral(node: Expression): node is StringLiteral | NumberLiteral | BooleanLiteral | Negative {
  return node.kind === 'string' || node.kind === 'number' || node.kind === 'boolean' || isNegative(node)
}

/** The value, or null when it is refused. */
export function scalarOf(node: Expression, scope: PolicyScope): Scalar | null {
  if (node.kind === 'boolean') return node.value
  if (node.kind === 'string') return stringOf(node, 'E171', scope)
  if (node.kind === 'number') return integerOf(node, node, 1n, scope)
  if (isNegative(node)) return integerOf(node.operand, node, -1n, scope)
  const what = node.kind === 'array' ? 'a list' : 'something else than texts, integers and booleans'
  return refuse(scope, node, 'E171', `a list in a condition holds ${what}`, FLAT_LIST)
}

const FLAT_LIST = 'Write one flat list of values, for example ["a.md", "b.md"]'

/**
 * A string of a policy is a JSON string: with an escape that JSON does not know, the author may have meant another text
 * than the one that would be compared.
 */
export function stringOf(node: StringLiteral, code: 'E170' | 'E171', scope: PolicyScope): string | null {
  const written = scope.text.slice(node.span.start, node.span.end)
  if (node.value.isWellFormed() && isJsonString(written)) return node.value
  if (!written.startsWith('"')) return null // other quotes are an error of the text, and told there
  const hint = 'Escape it as JSON does: \\" \\\\ \\n \\t or \\u with four digits, and no line break between the quotes'
  return refuse(scope, node, code, 'a text in a policy is no JSON string', hint)
}

function isJsonString(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'string'
  } catch {
    return false
  }
}

type Negative = Unary & { readonly operand: NumberLiteral }

function isNegative(node: Expression): node is Negative {
  return node.kind === 'unary' && node.operator === '-' && node.operand.kind === 'number'
}

const LARGEST = 2n ** 63n - 1n
const DIGITS_MAX = 19

function integerOf(number: NumberLiteral, whole: Expression, sign: 1n | -1n, scope: PolicyScope): bigint | null {
  if (number.text.includes('.')) {
    return refuse(scope, whole, 'E171', 'a condition compares with a fraction', 'Policies know integers only')
  }
  const digits = number.text.replaceAll('_', '').replace(/^0+(?=\d)/, '')
  const value = digits.length > DIGITS_MAX ? null : sign * BigInt(digits) // reading a long one takes quadratic time
  if (value !== null && value <= LARGEST && value >= -LARGEST - 1n) return value
  const hint = `Write an integer between ${-LARGEST - 1n} and ${LARGEST}`
  return refuse(scope, whole, 'E171', 'an integer in a condition does not fit into 64 bits', hint)
}
