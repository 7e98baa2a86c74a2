/**
 * `symbi audit verify --tree`: a run and all that it delegated, one line each. Exits 0 when every run verifies and matches its
 * link, 1 otherwise; with `--complete` every run must also have its end.
 */
import { runsOf, treeHolds, verifyTree } from '../../journal/index.ts'
import type { Cli } from '../cli.ts'
import { jsonLine } from '../plain-text.ts'
import { columnsOf } from '../terminal.ts'
import type { Claims } from './claims.ts'
import type { JournalFile } from './find-journal.ts'
import { progressOf } from './progress.ts'
import { judgeJournal } from './project-evidence.ts'
import { requireRunId } from './read-run.ts'
import { treeEvents } from './tree-events.ts'
import { tally, treeSentence, treeTable } from './tree-table.ts'
import { keyFacts, keySentence, type TrustedKey } from './trusted-key.ts'
import { refuse, type VerifyFlags } from './verify.ts'

export async function verifyRunTree(
  cli: Cli,
  claims: Claims,
  file: JournalFile,
  key: TrustedKey,
  flags: VerifyFlags,
): Promise<number> {
  const { world, console } = cli
  const runId = requireRunId(file)
  // what claims know of the run, and that it holds anything at all, is judged as for a single journal
  refuse(await judgeJournal(world, file, key.key, claims, { progress: progressOf(cli, file.name) }), {})
  const place = { path: file.path, runId, agentId: file.agentId, key: key.key }
  const tree = await verifyTree(world, place, {
    progress: (done, path) => progressOf(cli, `run ${done + 1}, ${path}`)(0, 1),
  })
  console.progress('')
  const complete = runsOf(tree.root).every(({ node }) => node.result === 'verified')
  const holds = treeHolds(tree) && (complete || flags.complete !== true)
  if (flags.json === true) {
    for (const event of treeEvents(tree)) console.result(jsonLine(event))
    console.result(jsonLine({ event: 'summary', ...tally(tree), holds, ...keyFacts(key) }))
  } else {
    const style = { paint: console.paint, columns: columnsOf(cli), ids: 'whole' } as const
    for (const line of treeTable(tree, style)) console.result(line)
    console.result(`${console.paint(holds ? 'green' : 'red', treeSentence(tree))}; ${keySentence(key)}`)
  }
  return holds ? 0 : 1
}
