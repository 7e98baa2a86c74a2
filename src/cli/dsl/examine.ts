/**
 * Everything that can be said of one source: what is wrong with it, who refuses it for that, and what each of its agents
 * comes to. It asks the parts that the runtime asks, so it cannot be of another opinion.
 */
import { basename, dirname } from 'node:path'
import { type DelegationTarget, describerOf, type Judged, judgeOf } from '../../delegation/index.ts'
import {
  type Agent,
  agentsOf,
  checkSource,
  compileInlinePolicy,
  type Diagnostic,
  followsGrammar,
  type Item,
  type Member,
  type Parsed,
  type PolicyBlock,
  parse,
  unknownArguments,
  unknownNames,
  withSettings,
} from '../../dsl/index.ts'
import type { World } from '../../world/index.ts'
import { knownArguments } from './known-arguments.ts'
import { knownEffects, type ProjectNames } from './project-names.ts'
import type { SourceText } from './source-files.ts'

export interface Examined {
  readonly name: string
  readonly text: string
  /** Null when nothing could be decoded. */
  readonly parsed: Parsed | null
  /** In the order of their places. */
  readonly findings: readonly Finding[]
  /** Empty when the text does not follow the grammar: nobody takes a part of it. */
  readonly agents: readonly ResolvedAgent[]
  /** Whether it lies in the folder from which the project's agents are taken. */
  readonly inProject: boolean
}

export interface Finding {
  readonly diagnostic: Diagnostic
  /** Null for a warning. */
  readonly refusedBy: Refuser | null
}

/** An agent that delegation refuses may still be started by name. */
export type Refuser = 'every route' | 'delegation'

/** Spelled as it is printed. */
export interface ResolvedAgent {
  readonly name: string
  readonly description: string
  readonly sandbox_tier: string | null
  readonly timeout_seconds: number | null
  /** Names of the blocks that bind it, file-wide ones first. Empty where they cannot be enforced. */
  readonly policies: readonly string[]
  /** Whether tasks can be handed to it, as far as it is up to its source. */
  readonly governed: boolean
  /** The first reason why not. */
  readonly why_not: string | null
}

export async function examine(world: World, source: SourceText, names: ProjectNames): Promise<Examined> {
  const real = await world.files.realpath(source.name).catch(() => null)
  const inProject = real !== null && dirname(real) === names.folder
  const parsed = source.text === null ? null : parse(source.text)
  const base = { name: source.name, text: source.text ?? '', parsed, inProject }
  if (parsed === null) return { ...base, findings: source.problems.map(byEveryRoute), agents: [] }
  const found = checkSource(parsed).map(byEveryRoute)
  if (!followsGrammar(parsed)) return { ...base, findings: found, agents: [] }

  const agents = agentsOf(parsed.tree)
  if (agents.length > AGENTS_MAX) return { ...base, findings: inOrder([...found, crowd(agents, parsed)]), agents: [] }
  const known = knownEffects(
    names,
    agents.map(({ name }) => name.text),
  )
  const [lenient, canonical] = [judgeOf(parsed, 'lenient'), judgeOf(parsed, 'canonical')]
  const describe = describerOf(parsed)
  const shared = namesOf(parsed.tree.items)
  const at = { file: basename(real ?? ''), parsed, names }
  const findings = [...found]
  const resolved: ResolvedAgent[] = []
  const blocks = new Set<PolicyBlock>() // those of the file bind every agent, and are judged once
  for (const agent of agents) {
    const [started, delegated] = [lenient(agent), canonical(agent)]
    findings.push(...problemsOf(started).map(byEveryRoute), ...problemsOf(delegated).map(byDelegation))
    const policy = started.kind === 'Usable' ? started.target.policy : compileInlinePolicy(parsed, agent).policy
    for (const block of policy?.blocks ?? []) blocks.add(block)
    const rival = inProject && delegated.kind === 'Usable' ? rivalOf(delegated.target, agent, at) : null
    if (rival !== null) findings.push(byDelegation(rival))
    const hindrance = problemsOf(delegated)[0] ?? rival
    const policies = [...shared, ...namesOf(agent.members)]
    resolved.push(resolve(agent, { description: describe(agent), policies, hindrance }))
  }
  const isComplete = names.registry !== null // or nobody knows what the project has
  if (isComplete) findings.push(...unknownNames({ blocks: [...blocks] }, known).map(byEveryRoute))
  findings.push(...unknownArguments(parsed, knownArguments(world)).map(byEveryRoute))
  return { ...base, findings: inOrder(findings), agents: resolved }
}

const byEveryRoute = (diagnostic: Diagnostic): Finding => ({
  diagnostic,
  refusedBy: diagnostic.kind === 'warning' ? null : 'every route',
})

const byDelegation = (diagnostic: Diagnostic): Finding => ({ diagnostic, refusedBy: 'delegation' })

/** As many as a whole project may declare; each is judged with all of its file. */
const AGENTS_MAX = 1024

function crowd(agents: readonly Agent[], { lines }: Parsed): Finding {
  const [start, end] = [lines.positionAt(0), lines.positionAt(0)]
  const message = `the source declares ${agents.length} agents, and at most ${AGENTS_MAX} are judged`
  const hint = 'Divide it into several files'
  return byEveryRoute({ kind: 'unsupported', code: 'E172', message, hint, start, end, related: [] })
}

function problemsOf(judged: Judged): readonly Diagnostic[] {
  return judged.kind === 'Refused' ? judged.problems : []
}

interface Place {
  readonly file: string
  readonly parsed: Parsed
  readonly names: ProjectNames
}

/** What the project makes of the name, when it makes something else of it than this agent. */
function rivalOf(target: DelegationTarget, { name }: Agent, { file, parsed, names }: Place): Diagnostic | null {
  const state = names.rejections.get(file) ?? otherMeaning(target, names)
  if (state === null) return null
  const [start, end] = [parsed.lines.positionAt(name.span.start), parsed.lines.positionAt(name.span.end)]
  const message = `the project does not have this agent under the name ${JSON.stringify(name.text)}: ${state}`
  const hint =
    'Give every agent and every file a name of its own, keep each a file that only you write, and no more than are taken'
  return { kind: 'unsupported', code: 'E161', message, hint, start, end, related: [] }
}

function otherMeaning(
  { name, source_hash, declaration_hash }: DelegationTarget,
  { registry }: ProjectNames,
): string | null {
  if (registry === null) return null // the folder as a whole is what is wrong, and told once
  const found = registry.resolve(name)
  if (found.kind === 'Unavailable') return found.reason
  if (found.kind === 'Unknown') return 'no file that it reads declares it'
  const isThis = found.target.source_hash === source_hash && found.target.declaration_hash === declaration_hash
  return isThis ? null : 'another file declares it'
}

/** What was found twice is said once, by the one that is refused most; a refusal makes a warning of the same place idle. */
function inOrder(findings: readonly Finding[]): readonly Finding[] {
  const refused = new Set(
    findings.flatMap(({ diagnostic, refusedBy }) => (refusedBy === null ? [] : [placeOf(diagnostic)])),
  )
  const byKey = new Map<string, Finding>()
  for (const finding of findings) {
    const place = placeOf(finding.diagnostic)
    if (finding.refusedBy === null && refused.has(place)) continue
    const key = `${place} ${finding.diagnostic.code}`
    if (!byKey.has(key)) byKey.set(key, finding)
  }
  return [...byKey.values()].sort((left, right) => left.diagnostic.start.offset - right.diagnostic.start.offset)
}

function placeOf({ start }: Diagnostic): string {
  return `${start.line}:${start.column}`
}

interface Said {
  readonly description: string
  readonly policies: readonly string[]
  /** The first reason why nobody can delegate to it. */
  readonly hindrance: Diagnostic | null
}

/** What it asks for is said of a refused agent too. */
function resolve(agent: Agent, { description, policies, hindrance }: Said): ResolvedAgent {
  const { sandboxTier, timeoutSeconds } = withSettings(agent)
  return {
    name: agent.name.text,
    description,
    sandbox_tier: sandboxTier,
    timeout_seconds: timeoutSeconds,
    policies,
    governed: hindrance === null,
    why_not: hindrance === null ? null : `${placeOf(hindrance)}: ${hindrance.code} ${hindrance.message}`,
  }
}

function namesOf(items: readonly (Item | Member)[]): readonly string[] {
  return items.flatMap((item) => (item.kind === 'policy' ? [item.name.text] : []))
}
