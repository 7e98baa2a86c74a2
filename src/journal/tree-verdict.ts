/**
 * The journals of a tree, all read, judged together. Owns which result a run gets: a journal that is missing or does not
 * verify is that first; one that verifies can still contradict its link; and what contradicts nothing is whole or not.
 */
import type { RunId } from '../core/index.ts'
import type { PublicKey } from '../keys/index.ts'
import { budgetProblems } from './budget-links.ts'
import { linkProblems, strangeLink } from './link-checks.ts'
import type { RecoveryReport } from './recovery.ts'
import type { Delegation, RunFacts } from './run-facts.ts'
import type { JudgedRun, RunNode, RunTree } from './run-node.ts'
import { type Above, runIn, type Visit, type Walk } from './tree-walk.ts'

export function judgeTree({ visits, above }: Walk, key: PublicKey): RunTree {
  const [asked] = visits
  const found = tokenProblems(visits, above === 'unnamed' ? null : above, key)
  const nodes = new Map<Visit, RunNode>()
  for (const visit of visits.toReversed()) {
    nodes.set(
      visit,
      nodeOf(
        visit,
        problemsOf(visit),
        visit.children.map((child) => nodes.get(child) as RunNode),
      ),
    )
  }
  return {
    root: nodes.get(asked) as RunNode,
    above: above === null || above === 'unnamed' ? null : aboveOf(above, asked, found, key),
  }

  function problemsOf(visit: Visit): readonly string[] {
    const { link, parent, runId } = visit
    const tokens = found.get(runId) ?? []
    if (link === null) return above === 'unnamed' ? [UNNAMED] : above === null ? tokens : []
    const linking = parent === null ? null : runIn(parent)
    if (linking === null || !isSound(visit.reading)) return strangeLink(link, key)
    return [...linkProblems(link, linking, runIn(visit), key), ...tokens]
  }
}

const UNNAMED = 'its journal says that it was delegated, and not readably by which run'

/** The budget of a tree is the one that its topmost run opened, wherever that run stands. */
function tokenProblems(
  visits: Walk['visits'],
  above: Above | null,
  key: PublicKey,
): ReadonlyMap<RunId, readonly string[]> {
  const asked = runIn(visits[0])
  const over = above === null ? null : runIn(above)
  const reference = asked?.budget?.kind === 'BudgetScopeLinked' ? asked.budget : null
  const root = reference === null ? asked : over?.budget?.kind === 'BudgetOpened' ? over : null
  const runs = visits.flatMap((visit) => {
    const parent = visit.parent === null ? over : runIn(visit.parent)
    return parent !== null && isSound(visit.reading) ? [{ runId: visit.runId, run: runIn(visit), parent }] : []
  })
  const whole = above === null && visits.every(({ reading }) => isSound(reading))
  return budgetProblems({ root, reference, runs, whole }, key)
}

/** Verified as far as it goes; a journal in which nothing is complete yet goes nowhere. */
function isSound({ kind }: Visit['reading']): boolean {
  return kind === 'read' || kind === 'nothing'
}

function nodeOf(visit: Visit, problems: readonly string[], children: readonly RunNode[]): RunNode {
  const { link, path, runId, reading, note } = visit
  return {
    link,
    path,
    run_id: runId,
    agent_id: link?.link.child_agent_id ?? runIn(visit)?.agent_id ?? null,
    name: link?.link.target ?? runIn(visit)?.name ?? null,
    ...resultOf(reading, problems),
    notes: notesOn(reading, note, link),
    report: reading.kind === 'read' ? reading.report : null,
    children,
  }
}

/** `problems` are those that no crash explains. */
function resultOf(reading: Visit['reading'], problems: readonly string[]): Pick<JudgedRun, 'result' | 'problems'> {
  switch (reading.kind) {
    case 'refused':
      return { result: reading.result, problems: [reading.reason] }
    case 'missing':
      return { result: 'missing', problems: ['its journal is missing', ...problems] }
    case 'invalid':
      return { result: problems.length > 0 ? 'mismatch' : 'invalid', problems: [...problems, reading.reason] }
    case 'nothing':
      return { result: problems.length > 0 ? 'mismatch' : 'incomplete', problems }
    case 'read':
      if (problems.length > 0) return { result: 'mismatch', problems }
      if (isLengthened(reading.report)) return { result: 'invalid', problems: [LENGTHENED] }
      return { result: reading.report.journal_complete ? 'verified' : 'incomplete', problems }
  }
}

const LENGTHENED = 'its journal holds bytes behind its end, and its writer writes nothing there'

/** The last record is the last thing that the one owner of a journal writes, so no crash leaves anything behind it. */
function isLengthened({ terminal_reason, unverified_tail_bytes }: RecoveryReport): boolean {
  return terminal_reason !== null && unverified_tail_bytes > 0
}

function notesOn(reading: Visit['reading'], note: string | null, link: Delegation | null): readonly string[] {
  const notes = note === null ? [] : [note]
  if (reading.kind === 'nothing') notes.push('it never began: no entry of its journal is complete')
  if (link?.finished === null && isSound(reading)) {
    notes.push('its parent does not say how it ended: for the parent the outcome is unknown')
  }
  return notes
}

/** The link between the run that was asked about and the one above it, told as a finding about the one above. */
function aboveOf(
  { named, path, reading, note }: Above,
  asked: Visit,
  found: ReadonlyMap<RunId, readonly string[]>,
  key: PublicKey,
): JudgedRun {
  const over = runIn({ reading })
  const problems = over === null ? [] : [...linkAbove(over, asked, key), ...tokensOf(over, asked, found)]
  return {
    path,
    run_id: named.runId,
    agent_id: named.agentId,
    name: over?.name ?? null,
    ...resultOf(reading, problems),
    notes: notesOn(reading, note, null),
    report: reading.kind === 'read' ? reading.report : null,
  }
}

function linkAbove(over: RunFacts, asked: Visit, key: PublicKey): readonly string[] {
  const [link, ...others] = over.delegations.filter(({ link: { audit } }) => audit.run_id === asked.runId)
  if (link === undefined) return ['it records no delegation to the run below']
  if (others.length > 0) return ['it began the run below more than once']
  return linkProblems(link, over, runIn(asked), key).map((problem) => `of the run below: ${problem}`)
}

function tokensOf(over: RunFacts, asked: Visit, found: ReadonlyMap<RunId, readonly string[]>): readonly string[] {
  const below = (found.get(asked.runId) ?? []).map((problem) => `of the run below: ${problem}`)
  return [...below, ...(found.get(over.run_id) ?? [])]
}
