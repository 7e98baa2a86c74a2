/**
 * The links between the journals of a project. Each journal was judged by itself before; here the runs that began others, or
 * were begun, are compared with each other, from what was read then. A result that is bad is judged again from the files:
 * a project at work writes on between two of its journals.
 */
import { basename, dirname } from 'node:path'
import { isFault, isJsonObject } from '../../core/index.ts'
import { type JudgedRun, type Reading, type RunFacts, type RunTree, runsOf, verifyTree } from '../../journal/index.ts'
import type { PublicKey } from '../../keys/index.ts'
import type { Cli } from '../cli.ts'
import { endingOf, type Finding } from './project-evidence.ts'
import { unknownIn } from './tree-table.ts'

/** The findings, with what the links say about them; and one more for each run that only a link knows of. */
export async function judgeLinks(
  cli: Cli,
  findings: readonly Finding[],
  linked: ReadonlyMap<string, Reading>,
  key: PublicKey,
): Promise<readonly Finding[]> {
  const amended = new Findings(findings)
  const judged = new Set<string>()
  for (const [path, run] of topmostFirst(linked)) {
    if (judged.has(run.run_id)) continue // it stands in a tree that was judged before
    judged.add(run.run_id)
    const progress = (done: number): void =>
      cli.console.progress(`comparing run ${done + 1} of the tree of ${run.run_id}`)
    try {
      const place = { path, runId: run.run_id, agentId: run.agent_id, key }
      const tree = await verifyTree(cli.world, place, { known: linked, progress })
      for (const { node } of runsOf(tree.root)) judged.add(node.run_id)
      amended.take(tree, dirname(path))
    } catch (error) {
      if (!isFault(error, 'EVIDENCE_CHANGING')) throw error
      amended.note(run.run_id, 'its links are not judged, because its runs are at work')
    }
  }
  return amended.all
}

/** Runs that nobody began, then runs whose parent is not here, and then what is left: links that lead in a circle. */
function topmostFirst(linked: ReadonlyMap<string, Reading>): readonly (readonly [path: string, run: RunFacts])[] {
  const runs = [...linked].flatMap(([path, reading]) => (reading.kind === 'read' ? [[path, reading.run] as const] : []))
  const here = new Set<unknown>(runs.map(([, { run_id }]) => run_id))
  const rank = ({ start }: RunFacts): number => {
    const delegation = start?.context.delegation
    if (delegation === undefined) return 0
    const audit = isJsonObject(delegation) ? delegation.parent_audit : undefined
    return isJsonObject(audit) && here.has(audit.run_id) ? 2 : 1
  }
  return runs.sort(([, left], [, right]) => rank(left) - rank(right))
}

const READ_ELSEWHERE = 'it is not here, and was found where its parent says that it was written'

class Findings {
  readonly all: Finding[]
  readonly #places = new Map<string, number>()

  constructor(findings: readonly Finding[]) {
    this.all = [...findings]
    for (const [at, { run_id }] of findings.entries()) if (run_id !== null) this.#places.set(run_id, at)
  }

  /** `folder`: where all of these journals are to lie. One that was read elsewhere is a sound one, and missing here. */
  take({ root, above }: RunTree, folder: string): void {
    const isHere = ({ path }: JudgedRun): boolean => dirname(path) === folder
    for (const { node, parent } of runsOf(root)) {
      const isSound = node.result === 'verified' || node.result === 'incomplete'
      if (!isSound) this.#spoil(node, parent)
      else if (!isHere(node)) this.#spoil({ ...node, result: 'missing', problems: [READ_ELSEWHERE] }, parent)
    }
    if (above === null) return
    if (above.result === 'missing' || !isHere(above)) {
      this.note(root.run_id, `it was begun by run ${above.run_id}, whose journal is not here`)
      const problems = [`it began run ${root.run_id}, and its journal is missing`]
      this.#spoil({ ...above, result: 'missing', problems }, null)
      return
    }
    if (above.result === 'invalid')
      this.note(root.run_id, `it was begun by run ${above.run_id}, whose journal is invalid`)
    if (above.result === 'mismatch') this.#spoil({ ...root, result: 'mismatch', problems: above.problems }, above)
  }

  note(runId: string, note: string): void {
    const at = this.#places.get(runId)
    const known = at === undefined ? undefined : this.all[at]
    if (at !== undefined && known !== undefined) this.all[at] = { ...known, note: joined(known.note, note) }
  }

  /** What a journal showed by itself stays: only the result of one that seemed sound is another now. */
  #spoil(run: JudgedRun, parent: JudgedRun | null): void {
    const note = `${parent === null ? '' : `begun by run ${parent.run_id}: `}${run.problems.join('; ')}`
    const at = this.#places.get(run.run_id)
    const known = at === undefined ? undefined : this.all[at]
    if (at === undefined || known === undefined) {
      this.#places.set(run.run_id, this.all.length)
      this.all.push({ ...findingOf(run), code: 'EVIDENCE_INVALID', note })
    } else if (known.result !== 'invalid' && known.result !== 'missing') {
      this.all[at] = { ...known, result: run.result, code: 'EVIDENCE_INVALID', note: joined(known.note, note) }
    }
  }
}

function findingOf({ path, run_id, agent_id, result, report }: JudgedRun): Finding {
  return {
    journal: basename(path),
    run_id,
    agent_id,
    records: report?.verified_records ?? 0,
    bytes: report?.verified_bytes ?? 0,
    ending: report === null || report.terminal_reason === null ? null : endingOf(report.terminal_reason),
    result,
    unknown: report === null ? 0 : unknownIn(report),
    code: null,
    note: null,
  }
}

function joined(before: string | null, note: string): string {
  return before === null ? note : `${before}; ${note}`
}
