/**
 * What one file of `agents` offers: names, and for each the agent behind it or the reason why there is none. Names of agents
 * that cannot be used are offered all the same: somebody meant them, so nothing else may answer to them.
 */
import { type Agent, agentsOf, parse, repeatedAgent } from '../dsl/index.ts'
import { type AgentFile, stemOf } from './agent-folder.ts'
import { AGENTS_FOLDER, leftOutBecause } from './limits.ts'
import { placed, placedAll, shownName, someOf } from './places.ts'
import type { DelegationTarget } from './target.ts'
import { judgeOf } from './usable-agent.ts'

/** `place` is where it stands, for people. */
export type Candidate = { readonly names: readonly string[]; readonly place: string } & (
  | { readonly kind: 'Usable'; readonly target: DelegationTarget }
  /** Left out is a file that a limit keeps away, and nothing need be wrong with it. */
  | { readonly kind: 'Refused'; readonly reason: string; readonly isLeftOut: boolean }
  /** The stem of a file that is addressed by what it declares: nothing is wrong with it, and nobody needs to be told. */
  | { readonly kind: 'NoName'; readonly reason: string }
)

/**
 * Asked before anything is made of the agents of a file, with their number and its size: why they do not fit, or null, and
 * then they are counted.
 */
export type Fit = (declarations: number, bytes: number) => string | null

export function candidatesOf(file: AgentFile, fit: Fit): readonly Candidate[] {
  const place = `${AGENTS_FOLDER}/${shownName(file.file)}`
  const stem = stemOf(file.file) ?? file.file
  const refused = (names: readonly string[], reason: string, isLeftOut = false): Candidate => {
    return { kind: 'Refused', names: [...new Set(names)], place, reason, isLeftOut }
  }
  if ('rejection' in file) return [refused([stem], file.rejection)]
  if ('leftOut' in file) return [refused([...file.declares, stem], file.leftOut, true)]

  const parsed = parse(file.text)
  const agents = agentsOf(parsed.tree)
  const names = agents.map(({ name }) => name.text)
  const broken = parsed.diagnostics.find(({ kind }) => kind === 'syntax')
  if (broken !== undefined) return [refused([...names, stem], placed(place, broken))]

  const placeOf = ({ name }: Agent): string => {
    const { line, column } = parsed.lines.positionAt(name.span.start)
    return `${place}:${line}:${column}`
  }
  const again = repeatedAgent(agents)
  if (again !== null) {
    const called = `a second agent of this file is called "${shownName(again.name.text)}"`
    return [refused([...names, stem], `${placeOf(again)}: ${called}`)]
  }
  const misfit = fit(names.length, Buffer.byteLength(file.text))
  if (misfit !== null) return [refused([...names, stem], leftOutBecause(place, misfit), true)]
  const stemProblem = stemProblemOf(names, stem)
  const judge = judgeOf(parsed, 'canonical')
  const own = agents.map((agent): Candidate => {
    const answersTo = stemProblem === null && names.length === 1 ? [agent.name.text, stem] : [agent.name.text]
    const judged = judge(agent)
    if (judged.kind === 'Refused') return refused(answersTo, placedAll(place, judged.problems))
    return { ...judged, names: [...new Set(answersTo)], place: placeOf(agent) }
  })
  if (stemProblem === null) return own
  const reason = `${place}: ${stemProblem}`
  return own.length === 0 ? [refused([stem], reason)] : [...own, { kind: 'NoName', names: [stem], place, reason }]
}

/** Why the stem stands for nothing, or null where it is a name or an alias. */
function stemProblemOf(names: readonly string[], stem: string): string | null {
  const [first] = names
  if (first === undefined) return 'it declares no agent'
  if (names.includes(stem)) return null
  if (names.length > 1) return `it declares ${names.length} agents; name one of them: ${someOf(names)}`
  return PLAIN.test(stem) ? null : `a name of such letters can be mistaken for another; use "${shownName(first)}"`
}

const PLAIN = /^[\x20-\x7e]+$/
