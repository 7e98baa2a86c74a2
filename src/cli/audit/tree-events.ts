/** A tree of runs for programs: one object a run, in the order of the tree, each with where it hangs. */
import type { JudgedRun, PlacedRun, RunTree } from '../../journal/index.ts'
import { runsOf } from '../../journal/index.ts'
import { endingOf } from './project-evidence.ts'
import { unknownIn } from './tree-table.ts'

export function treeEvents({ root, above }: RunTree): readonly object[] {
  return [...(above === null ? [] : [aboveEvent(above)]), ...runsOf(root).map(runEvent)]
}

export function aboveEvent(above: JudgedRun): object {
  return { event: 'above', ...factsOf(above) }
}

export function runEvent({ node, parent, depth }: PlacedRun): object {
  const link = node.link === null ? null : { sequence: node.link.sequence, ...node.link.link }
  return { event: 'run', ...factsOf(node), depth, parent_run_id: parent?.run_id ?? null, link }
}

function factsOf({ name, run_id, agent_id, path, result, problems, notes, report }: JudgedRun): object {
  return {
    run_id,
    agent_id,
    name,
    path,
    result,
    problems,
    notes,
    records: report?.verified_records ?? 0,
    bytes: report?.verified_bytes ?? 0,
    ending: report === null || report.terminal_reason === null ? null : endingOf(report.terminal_reason),
    unknown: report === null ? 0 : unknownIn(report),
    requires_reconciliation: report?.requires_reconciliation ?? true,
  }
}
