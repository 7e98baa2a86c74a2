/** One rule of a policy: which effects it names, and under which condition. What cannot be enforced is refused by name. */
import { conditionOf } from './compile-condition.ts'
import { stringOf } from './compile-literal.ts'
import { excessOf } from './expression-size.ts'
import type { EffectName, PolicyRule } from './inline-policy.ts'
import { type PolicyScope, placeOf, refuse as refuseAs } from './policy-scope.ts'
import type { Expression, Rule, StringLiteral } from './tree.ts'

const NAME_BYTES_MAX = 256
/** A denied run must still be able to report, so a rule about these would be ignored (9.3). */
const EXEMPT: ReadonlySet<string> = new Set(['respond', 'terminate'])
const EXAMPLE = 'allow: "read_file"'

/** The rule, or null when something of it is refused. Says all that is wrong with it. */
export function ruleOf(node: Rule, scope: PolicyScope): PolicyRule | null {
  const { effect, span } = node
  const selector = fits(node.selector, 'selector', scope) ? selectorOf(node.selector, scope) : null
  const condition =
    node.condition !== null && fits(node.condition, 'condition', scope) ? conditionOf(node.condition, scope) : null
  if (effect === 'require' || effect === 'audit') {
    const hint = `Write what may happen, as in ${EXAMPLE}, or what may not, as in deny: "http_request"; only these restrict anything`
    return refuse(node, scope, `a "${effect}" rule is enforced nowhere`, hint)
  }
  if (selector === null || (condition === null && node.condition !== null)) return null
  const text = scope.text.slice(span.start, span.end)
  return { effect, selector, condition, text, start: scope.lines.positionAt(span.start) }
}

/** Asked before anything walks the expression by recursion. */
function fits(node: Expression, what: string, scope: PolicyScope): boolean {
  const excess = excessOf(node)
  if (excess !== null) {
    refuseAs(scope, node, 'E172', `a ${what} is too large: ${excess}`, 'Spread it over several rules or blocks')
  }
  return excess === null
}

function selectorOf(node: Expression, scope: PolicyScope): readonly EffectName[] | boolean | null {
  if (node.kind === 'boolean') return node.value
  if (node.kind === 'string') {
    const name = nameOf(node, scope)
    return name === null ? null : [name]
  }
  if (node.kind !== 'array')
    return refuse(node, scope, 'a rule names its effects by something else than literal texts', hintFor(node))
  if (node.items.length === 0) {
    return refuse(
      node,
      scope,
      'a rule names no effect: its list is empty',
      'Write the names, or false for no effect at all',
    )
  }
  const names = node.items.map((item) =>
    item.kind === 'string'
      ? nameOf(item, scope)
      : refuse(item, scope, 'a list of effects holds something else than literal texts', hintFor(item)),
  )
  return names.every((name) => name !== null) ? names : null
}

function nameOf(node: StringLiteral, scope: PolicyScope): EffectName | null {
  const text = stringOf(node, 'E170', scope)
  if (text === null) return null
  const bytes = Buffer.byteLength(text)
  if (bytes === 0 || bytes > NAME_BYTES_MAX) {
    const hint = `Write the name of a tool, as in ${EXAMPLE}, or "delegate::" and the name of an agent`
    return refuse(node, scope, `the name of an effect has ${bytes} bytes, and must have 1 to ${NAME_BYTES_MAX}`, hint)
  }
  if (EXEMPT.has(text)) {
    const hint = 'Leave it out: replies and the end of a run are judged by the policies of the project alone'
    return refuse(node, scope, `"${text}" is restricted by no inline policy`, hint)
  }
  if (text.includes('*')) {
    const hint = 'Write every name out, or true for every effect'
    return refuse(node, scope, 'the name of an effect holds a wildcard, and names are exact', hint)
  }
  return { text, ...placeOf(scope, node) }
}

function hintFor(node: Expression): string {
  switch (node.kind) {
    case 'name':
      return `Put the name in quotes: "${node.text.slice(0, 64)}"`
    case 'group':
      return 'Leave the parentheses out'
    case 'array':
      return 'Write one flat list of names'
    case 'binary':
      return `List the names, as in ["read_file", "web_lookup"], and put a condition behind if: ${EXAMPLE} if invocation.arguments.path == "a.md"`
    default:
      return `Name the tool itself, in quotes: ${EXAMPLE}`
  }
}

function refuse(node: Expression | Rule, scope: PolicyScope, message: string, hint: string): null {
  return refuseAs(scope, node, 'E170', message, hint)
}
