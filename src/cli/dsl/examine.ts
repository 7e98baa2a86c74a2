/**
 * Everything that can be said of one source: what is wrong with it, who refuses it for that, and what each of its agents
 * comes to. It asks the parts that the runtime asks, so it cannot be of another opinion.
 */
import { dirname } from 'node:path'
import { type Judged, judgeOf } from '../../delegation/index.ts'
import {
  type Agent,
  agentsOf,
  checkSource,
  compileInlinePolicy,
  type Diagnostic,
  followsGrammar,
  type Parsed,
  parse,
  unknownNames,
  withSettings,
} from '../../dsl/index.ts'
import type { World } from '../../world/index.ts'
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
  readonly description: string | null
  readonly sandbox_tier: string | null
  readonly timeout_seconds: number | null
  /** Names of the blocks that bind it, file-wide ones first. */
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
  const findings = [...found]
  const resolved: ResolvedAgent[] = []
  for (const agent of agents) {
    const [started, delegated] = [lenient(agent), canonical(agent)]
    findings.push(...problemsOf(started).map(byEveryRoute), ...problemsOf(delegated).map(byDelegation))
    const policy = started.kind === 'Usable' ? started.target.policy : compileInlinePolicy(parsed, agent).policy
    if (policy !== null) findings.push(...unknownNames(policy, known).map(byEveryRoute))
    const rival = inProject && delegated.kind === 'Usable' ? rivalOf(agent, parsed, names) : null
    if (rival !== null) findings.push(byDelegation(rival))
    resolved.push(resolve(agent, parsed, { started, delegated, rival }))
  }
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

/** What the project makes of the name, when it makes something else of it than this agent. */
function rivalOf({ name }: Agent, { lines }: Parsed, { registry }: ProjectNames): Diagnostic | null {
  const found = registry?.resolve(name.text)
  if (found?.kind !== 'Unavailable') return null
  const [start, end] = [lines.positionAt(name.span.start), lines.positionAt(name.span.end)]
  const message = `the project has no agent under the name ${JSON.stringify(name.text)}: ${found.reason}`
  const hint = 'Give every agent and every file of the folder a name of its own'
  return { kind: 'unsupported', code: 'E161', message, hint, start, end, related: [] }
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

interface Verdicts {
  readonly started: Judged
  readonly delegated: Judged
  readonly rival: Diagnostic | null
}

function resolve(agent: Agent, parsed: Parsed, { started, delegated, rival }: Verdicts): ResolvedAgent {
  const target = delegated.kind === 'Usable' ? delegated.target : started.kind === 'Usable' ? started.target : null
  const { sandboxTier, timeoutSeconds } = withSettings(agent)
  const hindrance = problemsOf(delegated)[0] ?? rival
  return {
    name: agent.name.text,
    description: target?.description ?? descriptionIn(parsed),
    sandbox_tier: sandboxTier,
    timeout_seconds: timeoutSeconds,
    policies: [...parsed.tree.items, ...agent.members].flatMap((item) =>
      item.kind === 'policy' ? [item.name.text] : [],
    ),
    governed: hindrance === null,
    why_not: hindrance === null ? null : `${placeOf(hindrance)}: ${hindrance.code} ${hindrance.message}`,
  }
}

/** Of a file that nobody takes, as its author wrote it. */
function descriptionIn({ tree }: Parsed): string | null {
  const entries = tree.items.flatMap((item) => (item.kind === 'metadata' ? item.entries : []))
  const value = entries.find(({ key }) => key.text === 'description')?.value
  return value?.kind === 'string' ? value.value : null
}
