/** How large an expression of a policy is, counted without recursion: its tree may be as deep as its text is long. */
import type { Expression } from './tree.ts'

export const TOKENS_MAX = 256
export const NESTING_MAX = 24

/**
 * Which limit the expression exceeds, or null. Nesting counts parentheses, brackets and signs in front; a chain of `&&` is
 * flat. What no policy may contain counts as one token, because it is refused for what it is.
 */
export function excessOf(expression: Expression): string | null {
  let tokens = 0
  const open: [Expression, number][] = [[expression, 0]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [node, outside] = next
    const { own, parts, nests } = partsOf(node)
    const depth = outside + (nests ? 1 : 0)
    tokens += own
    if (tokens > TOKENS_MAX) return `it has more than ${TOKENS_MAX} tokens`
    if (depth > NESTING_MAX) return `it is nested more than ${NESTING_MAX} levels deep`
    for (const part of parts) open.push([part, depth])
  }
  return null
}

interface Parts {
  /** Tokens of the node itself. */
  readonly own: number
  readonly parts: readonly Expression[]
  readonly nests: boolean
}

function partsOf(node: Expression): Parts {
  switch (node.kind) {
    case 'group':
      return { own: 2, parts: [node.inner], nests: true }
    case 'unary':
      return { own: 1, parts: [node.operand], nests: true }
    case 'binary':
      return { own: 1, parts: [node.left, node.right], nests: false }
    case 'field-access':
      return { own: 2, parts: [node.object], nests: false }
    case 'array':
      return { own: 2 + Math.max(0, node.items.length - 1), parts: node.items, nests: true }
    default:
      return { own: 1, parts: [], nests: false }
  }
}
