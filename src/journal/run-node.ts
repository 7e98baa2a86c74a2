/** What the verification of a tree of runs says, as data: one node a run, each with its own result. */
import type { AgentId, RunId } from '../core/index.ts'
import type { RecoveryReport } from './recovery.ts'
import type { Delegation } from './run-facts.ts'

/**
 * `verified`    a whole run; its link and its journal say the same
 * `incomplete`  the same, as far as the journal goes: a crash, or a run at work
 * `missing`     a link names this journal, and it is not where it belongs
 * `invalid`     the journal does not verify as the run that the link names
 * `mismatch`    it does not belong to this link, or tells another story
 */
export type RunResult = 'verified' | 'incomplete' | 'missing' | 'invalid' | 'mismatch'

export interface JudgedRun {
  /** Where the journal was read, or looked for. */
  readonly path: string
  readonly run_id: RunId
  /** Of the link, or of the records; null when neither says. */
  readonly agent_id: AgentId | null
  /** The declared name: of the link, or what the run itself said; null for a run without one. */
  readonly name: string | null
  readonly result: RunResult
  /** Why the result is bad, in words that follow the name of the run; empty otherwise. */
  readonly problems: readonly string[]
  /** What is not known, or was done otherwise than usual; no sign of tampering. */
  readonly notes: readonly string[]
  /** Null when nothing of the journal verifies. */
  readonly report: RecoveryReport | null
}

export interface RunNode extends JudgedRun {
  /** What the run above recorded of this one; null for the run that was asked about. */
  readonly link: Delegation | null
  /** In the order in which this run began them. */
  readonly children: readonly RunNode[]
}

export interface RunTree {
  readonly root: RunNode
  /** When the run that was asked about was itself delegated: the run that began it. Its other children are not looked at. */
  readonly above: JudgedRun | null
}

/** True when every run of the tree verifies and fits its link, complete or not. */
export function treeHolds({ root, above }: RunTree): boolean {
  const holds = ({ result }: JudgedRun): boolean => result === 'verified' || result === 'incomplete'
  return (above === null || holds(above)) && runsOf(root).every(({ node }) => holds(node))
}

export interface PlacedRun {
  readonly node: RunNode
  readonly parent: RunNode | null
  readonly depth: number
}

/** All runs, each before those that it began. */
export function runsOf(root: RunNode): readonly PlacedRun[] {
  const placed: PlacedRun[] = []
  const waiting: PlacedRun[] = [{ node: root, parent: null, depth: 0 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    placed.push(next)
    const { node, depth } = next
    for (const child of node.children.toReversed()) waiting.push({ node: child, parent: node, depth: depth + 1 })
  }
  return placed
}
