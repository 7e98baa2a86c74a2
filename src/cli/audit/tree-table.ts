/**
 * A tree of runs as lines: one run a line, drawn under the run that began it, with its own result; below each what is wrong
 * with it, or not known. What was found stands in words, so that nothing depends on colour.
 */
import { type JudgedRun, type PlacedRun, type RunResult, type RunTree, runsOf } from '../../journal/index.ts'
import type { Console } from '../console.ts'
import { cut, oneLine, widthOf, wrap } from '../plain-text.ts'
import { endingOf } from './project-evidence.ts'

export interface TreeStyle {
  readonly paint: Console['paint']
  readonly columns: number
  /** Whole ids for machines and files, their beginnings for the eye. */
  readonly ids: 'whole' | 'short'
}

const AGENT_COLUMNS_MAX = 44
const COLOURS = { verified: 'green', incomplete: 'yellow', missing: 'red', invalid: 'red', mismatch: 'red' } as const

export function treeTable(tree: RunTree, style: TreeStyle): readonly string[] {
  const rows = rowsOf(tree)
  const agentColumns = Math.min(AGENT_COLUMNS_MAX, Math.max(5, ...rows.map(({ agent }) => widthOf(agent))))
  const line = (agent: string, run: string, records: string, ending: string): string =>
    `${pad(cut(agent, agentColumns), agentColumns)}  ${pad(run, style.ids === 'whole' ? 36 : 8)}  ${records.padStart(7)}  ${pad(ending, 20)}  `
  const lines = [style.paint('bold', `${line('AGENT', 'RUN', 'RECORDS', 'ENDING')}RESULT`)]
  for (const { agent, below, run } of rows) {
    const id = style.ids === 'whole' ? run.run_id : run.run_id.slice(0, 8)
    const records = run.report === null ? '-' : run.report.verified_records.toLocaleString('en')
    lines.push(`${line(agent, id, records, endingWords(run))}${style.paint(COLOURS[run.result], run.result)}`)
    const room = style.columns - widthOf(below)
    for (const problem of run.problems) lines.push(...remark(problem, 'red'))
    for (const note of run.notes) lines.push(...remark(note, 'dim'))
    function remark(text: string, colour: 'red' | 'dim'): readonly string[] {
      return wrap(oneLine(text), room).map((part) => `${below}${style.paint(colour, part)}`)
    }
  }
  return lines
}

interface Row {
  /** With the branch that it hangs on. */
  readonly agent: string
  /** What continues the branches in the lines below it. */
  readonly below: string
  readonly run: JudgedRun
}

function rowsOf({ root, above }: RunTree): readonly Row[] {
  const branches: string[] = []
  const rows: Row[] = above === null ? [] : [{ agent: `${nameOf(above)} (above)`, below: '', run: above }]
  for (const { node, parent, depth } of runsOf(root)) {
    const isLast = parent?.children.at(-1) === node
    const before = branches.slice(0, Math.max(0, depth - 1)).join('')
    branches.length = depth
    if (depth > 0) branches[depth - 1] = isLast ? '   ' : '│  '
    const branch = depth === 0 ? '' : `${before}${isLast ? '└─ ' : '├─ '}`
    const below = `${branches.join('')}${node.children.length > 0 ? '│ ' : '  '}`
    rows.push({ agent: `${branch}${nameOf(node)}`, below, run: node })
  }
  return rows
}

/** The declared name, or the beginning of the principal. */
export function nameOf({ name, agent_id }: JudgedRun): string {
  if (name !== null) return oneLine(name, 32)
  return agent_id === null ? 'an agent' : `agent ${agent_id.slice(0, 8)}`
}

function endingWords({ report }: JudgedRun): string {
  if (report === null) return '-'
  const ending = report.terminal_reason === null ? 'no end' : endingOf(report.terminal_reason)
  const unknown = unknownIn(report)
  return unknown === 0 ? ending : `${ending} (${unknown} unknown)`
}

export function unknownIn({ effects, untracked_tool_approvals }: NonNullable<JudgedRun['report']>): number {
  return effects.filter(({ outcome }) => outcome === 'unknown').length + untracked_tool_approvals
}

const RESULTS: readonly RunResult[] = ['verified', 'incomplete', 'missing', 'invalid', 'mismatch']

export function tally({ root, above }: RunTree): Readonly<Record<RunResult, number>> {
  const counts = { verified: 0, incomplete: 0, missing: 0, invalid: 0, mismatch: 0 }
  for (const { result } of judged({ root, above })) counts[result] += 1
  return counts
}

/** How the tree stands, in one line. */
export function treeSentence(tree: RunTree): string {
  const counts = tally(tree)
  const all = judged(tree).length
  const parts = RESULTS.filter((result) => counts[result] > 0).map((result) => `${counts[result]} ${result}`)
  const links = all - 1
  const matched = counts.missing + counts.invalid + counts.mismatch === 0 && links > 0
  const match = matched ? `, and ${links === 1 ? 'the link matches' : 'every link matches'}` : ''
  return `${all} run${all === 1 ? '' : 's'}: ${parts.join(', ')}${match}`
}

function judged({ root, above }: RunTree): readonly JudgedRun[] {
  return [...(above === null ? [] : [above]), ...runsOf(root).map(({ node }: PlacedRun) => node)]
}

function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}
