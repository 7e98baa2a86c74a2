/**
 * From a declaration to something that can run: its settings and its policy as data, or every reason why not.
 *
 * `canonical` is for agents that others hand work to: nothing may be in them that the runtime would have to ignore (1.11).
 * `lenient` is for an agent that a person starts by name: its parameters and its code are text for the model, no more.
 */
import { assert, deepFreeze, derivedId } from '../core/index.ts'
import {
  type Agent,
  agentsOf,
  canonicalProblems,
  checkSource,
  compileInlinePolicy,
  DIAGNOSTICS_MAX,
  type Diagnostic,
  type InlinePolicy,
  type Parsed,
  withSettings,
} from '../dsl/index.ts'
import type { DelegationTarget } from './target.ts'

export type Judged =
  | { readonly kind: 'Usable'; readonly target: DelegationTarget }
  /** In the order of their places. */
  | { readonly kind: 'Refused'; readonly problems: readonly [Diagnostic, ...Diagnostic[]] }

/** A judge of the agents of one source. */
export function judgeOf(parsed: Parsed, rules: 'canonical' | 'lenient'): (agent: Agent) => Judged {
  const found = checkSource(parsed).filter(({ kind }) => kind !== 'warning')
  const describe = describerOf(parsed)
  // Where some are not told, nobody knows whom they concern.
  const concerned = found.length >= DIAGNOSTICS_MAX ? everybody(found) : byOwner(found, parsed)
  return (agent) => {
    const compiled = compileInlinePolicy(parsed, agent)
    const problems = [
      ...concerned(agent),
      ...compiled.diagnostics.filter(({ kind }) => kind !== 'warning'),
      ...(rules === 'canonical' ? canonicalProblems(parsed, agent) : []),
    ]
    const [first, ...others] = distinct(problems)
    if (first !== undefined) return { kind: 'Refused', problems: [first, ...others] }
    assert(compiled.policy !== null, 'a policy that nothing is wrong with was compiled')
    return { kind: 'Usable', target: targetOf(parsed, agent, compiled.policy, describe(agent)) }
  }
}

type Concerned = (agent: Agent) => readonly Diagnostic[]

function everybody(found: readonly Diagnostic[]): Concerned {
  return () => found
}

/** What lies in an agent concerns that one, and anything else all of them. Both lists are in the order of the text. */
function byOwner(found: readonly Diagnostic[], { tree, lines }: Parsed): Concerned {
  const shared: Diagnostic[] = []
  const own = new Map<Agent, Diagnostic[]>()
  const ranges = agentsOf(tree).map((agent) => {
    const mine: Diagnostic[] = []
    own.set(agent, mine)
    return { start: lines.positionAt(agent.span.start).offset, end: lines.positionAt(agent.span.end).offset, mine }
  })
  let at = 0
  for (const problem of found) {
    const { offset } = problem.start
    while (offset >= (ranges[at]?.end ?? Number.POSITIVE_INFINITY)) at += 1
    const range = ranges[at]
    if (range !== undefined && offset >= range.start) range.mine.push(problem)
    else shared.push(problem)
  }
  return (agent) => [...shared, ...(own.get(agent) ?? [])]
}

/** In the order of their places. What two checks found alike is one problem. */
function distinct(problems: readonly Diagnostic[]): readonly Diagnostic[] {
  const byKey = new Map(problems.map((problem) => [`${problem.start.offset} ${problem.code}`, problem]))
  return [...byKey.values()].sort((left, right) => left.start.offset - right.start.offset)
}

/** The principal of a name is the same in every process (10.3). */
const PRINCIPALS = '9f1a4b2c-7d3e-4f50-8a6b-1c2d3e4f5061'

function targetOf({ text }: Parsed, agent: Agent, policy: InlinePolicy, description: string): DelegationTarget {
  const name = agent.name.text
  const { sandboxTier, timeoutSeconds } = withSettings(agent)
  const { source_hash, declaration_hash } = policy.metadata
  return deepFreeze({
    name,
    principal: derivedId('agent', PRINCIPALS, name),
    description,
    declaration: text.slice(agent.span.start, agent.span.end),
    source_hash,
    declaration_hash,
    timeout_seconds: timeoutSeconds,
    sandbox_tier: sandboxTier,
    policy,
  })
}

/** Metadata belongs to the whole file, so it is looked through once. */
export function describerOf({ tree }: Parsed): (agent: Agent) => string {
  const entries = tree.items.filter((item) => item.kind === 'metadata').flatMap((block) => block.entries)
  const value = entries.find(({ key }) => key.text === 'description')?.value
  const given = value?.kind === 'string' ? value.value : null
  return ({ name }) => given ?? `${name.text} (.symbi agent)`
}
