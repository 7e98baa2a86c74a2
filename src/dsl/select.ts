/**
 * Which declaration of a source is meant (1.9). A file with one agent answers to any selector; of several, one must be named
 * exactly. What comes out is all that a run takes from the file besides its policies: siblings neither configure it nor
 * reach the model.
 */
import { Fault } from '../core/index.ts'
import type { Position } from './diagnostic.ts'
import type { Parsed } from './parse.ts'
import type { Agent, Source } from './tree.ts'

export interface SelectedAgent {
  readonly agent: Agent
  readonly name: string
  /** The text of the declaration, as it stands in the source. */
  readonly declaration: string
}

/** Throws `SOURCE_INVALID`, `AGENT_AMBIGUOUS` or `AGENT_UNKNOWN`. `what` names the source in messages. */
export function selectAgent(parsed: Parsed, selector: string, what = 'the source'): SelectedAgent {
  const broken = parsed.diagnostics.find(({ kind }) => kind === 'syntax')
  if (broken !== undefined) throw unusable(what, broken.start, `${broken.code} ${broken.message}`, broken.hint)
  const agents = agentsOf(parsed.tree)
  const again = repeatedAgent(agents)
  if (again !== null) {
    const name = quoted(again.name.text)
    const place = parsed.lines.positionAt(again.name.span.start)
    throw unusable(what, place, `a second agent is called ${name}`, 'Give each agent of a file a name of its own')
  }
  const agent = choose(agents, selector, what)
  return { agent, name: agent.name.text, declaration: parsed.text.slice(agent.span.start, agent.span.end) }
}

export function agentsOf(tree: Source): readonly Agent[] {
  return tree.items.filter((item) => item.kind === 'agent')
}

/** The first declaration whose name is taken by one before it, or null. */
export function repeatedAgent(agents: readonly Agent[]): Agent | null {
  const seen = new Set<string>()
  for (const agent of agents) {
    if (seen.has(agent.name.text)) return agent
    seen.add(agent.name.text)
  }
  return null
}

function choose(agents: readonly Agent[], selector: string, what: string): Agent {
  const only = agents[0]
  if (only === undefined) {
    throw new Fault('AGENT_UNKNOWN', {
      message: `Cannot find agent ${quoted(selector)} in ${what}: it declares no agent`,
      hint: 'Declare one, for example: agent reviewer {}',
    })
  }
  const named = agents.length === 1 ? only : agents.find(({ name }) => name.text === selector)
  if (named !== undefined) return named
  throw new Fault('AGENT_AMBIGUOUS', {
    message: `Cannot tell which agent of ${what} is meant by ${quoted(selector)}: it declares ${agents.length}`,
    hint: `Name one of them: ${listed(agents.map(({ name }) => name.text))}`,
  })
}

function unusable(what: string, { line, column }: Position, state: string, hint: string | null): Fault {
  return new Fault('SOURCE_INVALID', {
    message: `Cannot use ${what}: ${line}:${column}: ${state}`,
    ...(hint === null ? {} : { hint }),
    facts: { line, column },
  })
}

const NAMES_MAX = 12
const NAME_LENGTH_MAX = 64

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_LENGTH_MAX))
  return names.length <= NAMES_MAX ? shown.join(', ') : `${shown.join(', ')} and ${names.length - NAMES_MAX} more`
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, NAME_LENGTH_MAX))
}
