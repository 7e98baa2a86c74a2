/**
 * `symbi audit show`: a run as a timeline, and behind it the timelines of the runs that it delegated, each verified as the
 * run that its parent's link names. With `--json` every entry, one object a line.
 */
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { instantOf, isFault } from '../../core/index.ts'
import { type PlacedRun, type RunTree, runsOf, treeHolds, verifyTree, viewStatus } from '../../journal/index.ts'
import type { Cli } from '../cli.ts'
import { jsonLine } from '../plain-text.ts'
import { columnsOf } from '../terminal.ts'
import type { JournalFile } from './find-journal.ts'
import { Page, type Setting } from './page.ts'
import { hasLinks, readRun, type VerifiedRun } from './read-run.ts'
import { timelineOf } from './timeline.ts'
import { aboveEvent, runEvent } from './tree-events.ts'
import { nameOf, treeSentence, treeTable } from './tree-table.ts'
import { keySentence, type TrustedKey } from './trusted-key.ts'

export interface ShowFlags {
  readonly json?: true
  readonly full?: true
  /** False: this run alone. */
  readonly follow?: boolean
}

/** Exits as `audit inspect` does, for all runs that it shows; and 1 when a linked journal is missing or is not what it was. */
export async function show(cli: Cli, file: JournalFile, key: TrustedKey, flags: ShowFlags): Promise<number> {
  const run = await readRun(cli.world, file, key.key)
  const tree = flags.follow === false || !hasLinks(run.prefix) ? null : await treeOf(cli, file, run, key)
  const print = flags.json === true ? jsonPrinter(cli, key) : textPrinter(cli, key, flags.full === true)
  print.asked(run, tree)
  if (tree === null) return run.report.requires_reconciliation ? 2 : 0
  for (const placed of runsOf(tree.root).slice(1)) print.below(placed, await readAgain(cli, placed, key))
  if (!treeHolds(tree)) return 1
  return runsOf(tree.root).some(({ node }) => node.report?.requires_reconciliation !== false) ? 2 : 0
}

async function treeOf(cli: Cli, { path, agentId }: JournalFile, run: VerifiedRun, key: TrustedKey): Promise<RunTree> {
  const place = { path, runId: run.report.run_id, agentId, key: key.key }
  const progress = (done: number): void => cli.console.progress(`verifying run ${done + 1} …`)
  const tree = await verifyTree(cli.world, place, { progress })
  cli.console.progress('')
  return tree
}

/** Something about the run is not any more what the tree said of it. */
type Again = VerifiedRun | 'changed since' | null

/**
 * The entries of a whole tree are not kept, so each run is verified once more when it is shown. Who is still at work may
 * have written since; then the tree is what was found, and the timeline would be of something else.
 */
async function readAgain({ world }: Cli, { node }: PlacedRun, key: TrustedKey): Promise<Again> {
  const { path, run_id, report } = node
  if (report === null) return null
  try {
    const file = { path, name: basename(path), runId: run_id, agentId: report.agent_id }
    const again = await readRun(world, file, key.key)
    return isDeepStrictEqual(again.report, report) ? again : CHANGED
  } catch (error) {
    if (isFault(error, 'EVIDENCE_CHANGING', 'EVIDENCE_INVALID')) return CHANGED
    throw error
  }
}

const CHANGED = 'changed since'

interface Printer {
  asked(run: VerifiedRun, tree: RunTree | null): void
  /** `run` is null where nothing could be verified. */
  below(placed: PlacedRun, run: Again): void
}

function textPrinter(cli: Cli, key: TrustedKey, full: boolean): Printer {
  const { console } = cli
  const columns = columnsOf(cli)
  const page = new Page(console, columns, full)
  const show = (run: VerifiedRun, setting: Setting): void => {
    for (const line of page.lines(run, timelineOf(run.prefix.entries, run.report), setting)) console.result(line)
  }
  return {
    asked(run, tree) {
      if (tree !== null) {
        for (const line of treeTable(tree, { paint: console.paint, columns, ids: 'short' })) console.result(line)
        console.result(console.paint(treeHolds(tree) ? 'green' : 'red', treeSentence(tree)))
        console.result('')
      }
      show(run, { title: null, depth: 0, remarks: [keySentence(key)], problems: tree?.root.problems ?? [] })
    },
    below({ node, parent, depth }, run) {
      if (run === null) return // the table says why
      const by = parent === null ? '' : `, begun by ${nameOf(parent)} at #${node.link?.sequence ?? 0}`
      const title = `run of ${nameOf(node)}${by}`
      if (run === CHANGED) {
        console.result('')
        console.result(`${title}: changed since the table was made; show it again`)
        return
      }
      show(run, { title, depth, remarks: [], problems: node.problems })
    },
  }
}

/** A run of a tree is introduced by where it hangs; a run without others is not. */
function jsonPrinter({ console }: Cli, key: TrustedKey): Printer {
  const tell = (event: object): void => console.result(jsonLine(event))
  const tellRun = (run: VerifiedRun): void => {
    tell(verifiedEvent(run, key))
    for (const event of entryEvents(run)) tell(event)
  }
  return {
    asked(run, tree) {
      if (tree !== null && tree.above !== null) tell(aboveEvent(tree.above))
      if (tree !== null) tell(runEvent({ node: tree.root, parent: null, depth: 0 }))
      tellRun(run)
    },
    below(placed, run) {
      tell(runEvent(placed))
      if (run === CHANGED) tell({ event: 'changed', run_id: placed.node.run_id })
      else if (run !== null) tellRun(run)
    },
  }
}

function verifiedEvent({ report }: VerifiedRun, key: TrustedKey): object {
  const { effects: _, recovered_budget: __, ...summary } = report
  return {
    event: 'verified',
    status: viewStatus(report),
    ...summary,
    independent: key.independent,
    key: keySentence(key),
  }
}

function* entryEvents({ prefix }: VerifiedRun): Generator<object> {
  let before: bigint | null = null
  for (const { event, ...entry } of prefix.entries) {
    const { kind, ...members } = event
    const now = instantOf(entry.timestamp)
    const after_ms = before === null ? 0 : Number((now - before) / 1000n) / 1000
    before = now
    yield { event: 'entry', run_id: prefix.run_id, ...entry, after_ms, kind, members }
  }
}
