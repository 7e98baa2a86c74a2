/**
 * The inline policy of one agent, made from the tree of its source: the blocks of the whole file first, then its own, and
 * never those of a sibling (9.1). All of it compiles or none of it does: a part that was left out would restrict less than
 * its author wrote (law 5).
 *
 * What all agents of a file share is made once, so that a file of ten thousand agents costs no more than its length.
 */
import { assert, deepFreeze, digest, type Hash } from '../core/index.ts'
import { ruleOf } from './compile-rule.ts'
import type { Diagnostic } from './diagnostic.ts'
import { INLINE_SEMANTICS, type InlinePolicy, type PolicyBlock } from './inline-policy.ts'
import type { LineMap } from './line-map.ts'
import type { Parsed } from './parse.ts'
import { type PolicyScope, refuse } from './policy-scope.ts'
import { diagnosticsOf, limited, Problems } from './problems.ts'
import type { Agent, Name, Policy, Rule } from './tree.ts'

export interface CompiledPolicy {
  /** Null when anything of it is refused, or when the source has errors of its own. */
  readonly policy: InlinePolicy | null
  /** About the policies alone, in the order of their places. */
  readonly diagnostics: readonly Diagnostic[]
}

export function compileInlinePolicy(parsed: Parsed, agent: Agent): CompiledPolicy {
  const file = fileOf(parsed)
  assert(file.agents.has(agent), 'an agent is compiled with the source that declares it')
  const own = compile(parsed, file.lines, agent.members.filter(isPolicy), file.shared)
  const diagnostics = limited([...file.shared.diagnostics, ...own.diagnostics])
  if (file.broken || file.shared.broken || own.broken) return { policy: null, diagnostics }
  const blocks = [...file.shared.blocks, ...own.blocks]
  const metadata = {
    semantics: INLINE_SEMANTICS,
    source_hash: file.hash,
    declaration_hash: digest(parsed.text.slice(agent.span.start, agent.span.end)),
    agent_name: agent.name.text,
    policies: blocks.map(({ name }) => name),
  } as const
  return { policy: deepFreeze({ metadata, blocks }), diagnostics }
}

/** What is wrong with the policies of a whole file: of every agent, and those that bind all of them, each told once. */
export function inlinePolicyDiagnostics(parsed: Parsed): readonly Diagnostic[] {
  const { lines, shared, agents } = fileOf(parsed)
  const own = [...agents].flatMap((agent) => compile(parsed, lines, agent.members.filter(isPolicy), shared).diagnostics)
  return limited([...shared.diagnostics, ...own])
}

interface File {
  readonly agents: ReadonlySet<Agent>
  readonly lines: LineMap
  readonly hash: Hash
  readonly shared: Part
  /** The text itself cannot be used, whatever its policies are. */
  readonly broken: boolean
}

/** Blocks that stand in one place: at the top of the file, or in one agent. */
interface Part {
  readonly blocks: readonly PolicyBlock[]
  readonly names: ReadonlyMap<string, Name>
  readonly ruleCount: number
  readonly diagnostics: readonly Diagnostic[]
  readonly broken: boolean
}

const files = new WeakMap<Parsed, File>()

function fileOf(parsed: Parsed): File {
  const known = files.get(parsed)
  if (known !== undefined) return known
  const { text, tree, diagnostics, lines } = parsed
  const made: File = {
    agents: new Set(tree.items.filter((item) => item.kind === 'agent')),
    lines,
    hash: digest(text),
    shared: compile(parsed, lines, tree.items.filter(isPolicy), null),
    broken: diagnostics.some(({ kind }) => kind !== 'warning'),
  }
  files.set(parsed, made)
  return made
}

const SOURCE_BYTES_MAX = 1024 * 1024
const RULES_MAX = 128

/** `shared` is the part that binds all agents of the file; null for that part itself. */
function compile(parsed: Parsed, lines: LineMap, policies: readonly Policy[], shared: Part | null): Part {
  const { text } = parsed
  const problems = new Problems()
  const scope: PolicyScope = { text, lines, problems }
  if (shared === null) checkLength(scope)
  const names = checkNames(policies, shared?.names ?? new Map(), scope)
  checkCount(policies, shared?.ruleCount ?? 0, scope)
  const blocks = policies.map((policy) => blockOf(policy, parsed, scope))
  return {
    blocks: blocks.filter((block) => block !== null),
    names,
    ruleCount: policies.reduce((sum, { rules }) => sum + rules.length, 0),
    diagnostics: diagnosticsOf(problems.list, lines),
    broken: problems.counts.unsupported > 0 || blocks.includes(null),
  }
}

function checkLength(scope: PolicyScope): void {
  const bytes = Buffer.byteLength(scope.text)
  if (bytes <= SOURCE_BYTES_MAX) return
  const start = { span: { start: 0, end: 0 } }
  refuse(
    scope,
    start,
    'E172',
    `the source has ${bytes} bytes, and may have ${SOURCE_BYTES_MAX}`,
    'Spread it over several files',
  )
}

/** Block names are how a denial says who denied, so each stands for one block. */
function checkNames(
  policies: readonly Policy[],
  taken: ReadonlyMap<string, Name>,
  scope: PolicyScope,
): ReadonlyMap<string, Name> {
  const names = new Map<string, Name>()
  for (const { name } of policies) {
    const first = names.get(name.text) ?? taken.get(name.text)
    if (first === undefined) names.set(name.text, name)
    else {
      const message = `two policies that bind one agent have the name "${name.text.slice(0, 64)}"`
      refuse(scope, name, 'E150', message, 'Give each block a name of its own', [
        { message: 'the first', span: first.span },
      ])
    }
  }
  return names
}

function checkCount(policies: readonly Policy[], before: number, scope: PolicyScope): void {
  let count = before
  for (const { rules } of policies) {
    const excess: Rule | undefined = rules[RULES_MAX - count] // none where the limit was passed before, and told there
    count += rules.length
    if (count <= RULES_MAX || excess === undefined) continue
    refuse(
      scope,
      excess,
      'E172',
      `more than ${RULES_MAX} rules bind one agent`,
      'Join rules: one rule may name a list of effects',
    )
    return
  }
}

function blockOf({ name, rules, span }: Policy, parsed: Parsed, scope: PolicyScope): PolicyBlock | null {
  if (rules.length === 0) {
    const { start, end } = { start: scope.lines.positionAt(span.start), end: scope.lines.positionAt(span.end) }
    const hurt = parsed.diagnostics.some(
      (found) => found.start.offset >= start.offset && found.start.offset < end.offset,
    )
    if (hurt) return null // its rules were not understood, and that is told already
    const hint = 'Write a rule, for example deny: "http_request", or remove the block'
    return refuse(scope, name, 'E170', `the policy "${name.text.slice(0, 64)}" has no rules`, hint)
  }
  const made = rules.map((rule) => ruleOf(rule, scope))
  return made.every((rule) => rule !== null) ? { name: name.text, rules: made } : null
}

function isPolicy<T extends { readonly kind: string }>(node: T | Policy): node is Policy {
  return node.kind === 'policy'
}
