/**
 * Warns about rules that read an argument which no call of the tools that they name can have: what is missing denies (9.3), so
 * such a rule denies each of these calls. Of a tool whose arguments are not all known nothing is said, and neither of a list
 * in which one tool has the argument: the condition may ask first which tool it is.
 */
import type { Diagnostic } from './diagnostic.ts'
import { excessOf } from './expression-size.ts'
import type { Parsed } from './parse.ts'
import { diagnosticsOf, Problems } from './problems.ts'
import { agentsOf } from './select.ts'
import type { Expression, FieldAccess, Policy, Rule } from './tree.ts'

/** By the names of tools: all arguments that a call of the tool may have. */
export type KnownArguments = ReadonlyMap<string, ReadonlySet<string>>

export function unknownArguments({ tree, lines }: Parsed, known: KnownArguments): readonly Diagnostic[] {
  const problems = new Problems()
  const members = [...tree.items, ...agentsOf(tree).flatMap((agent) => agent.members)]
  const policies = members.filter((member): member is Policy => member.kind === 'policy')
  for (const rule of policies.flatMap(({ rules }) => rules)) warnOf(rule, known, problems)
  return diagnosticsOf(problems.list, lines)
}

function warnOf({ selector, condition }: Rule, known: KnownArguments, problems: Problems): void {
  const names = namesIn(selector)
  const sets = names.map((name) => known.get(name))
  if (condition === null || names.length === 0 || excessOf(condition) !== null) return
  const all = sets.filter((set) => set !== undefined)
  if (all.length < sets.length) return
  for (const { argument, node } of argumentsIn(condition)) {
    if (all.some((set) => set.has(argument))) continue
    const whose = names.length === 1 ? `"${names[0]}" has` : 'the tools of this rule have'
    const message = `${whose} no argument ${JSON.stringify(shorten(argument))}, so the rule denies every effect that it names`
    const has = [...new Set(all.flatMap((set) => [...set]))]
    const hint = has.length === 0 ? 'There are no arguments at all' : `There are ${has.slice(0, SHOWN_MAX).join(', ')}`
    problems.add('W221', message, node.span, { kind: 'warning', hint })
  }
}

const SHOWN_MAX = 16

function namesIn(selector: Expression): readonly string[] {
  const items = selector.kind === 'array' ? selector.items : [selector]
  return items.flatMap((item) => (item.kind === 'string' ? [item.value] : []))
}

interface Reading {
  readonly argument: string
  readonly node: FieldAccess
}

function argumentsIn(condition: Expression): readonly Reading[] {
  const found: Reading[] = []
  const open: Expression[] = [condition]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.kind === 'group') open.push(node.inner)
    else if (node.kind === 'unary') open.push(node.operand)
    else if (node.kind === 'binary') open.push(node.right, node.left)
    else if (node.kind === 'field-access') {
      const [root, first, argument] = pathOf(node)
      if (root === 'invocation' && first === 'arguments' && argument !== undefined) found.push({ argument, node })
    }
  }
  return found
}

/** Empty for what is no path. */
function pathOf(node: FieldAccess): readonly string[] {
  const names: string[] = []
  let base: Expression = node
  for (; base.kind === 'field-access'; base = base.object) names.push(base.field.text)
  return base.kind === 'name' ? [base.text, ...names.reverse()] : []
}

function shorten(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64).toWellFormed()}…` : name
}
