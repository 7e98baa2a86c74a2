/**
 * What every verifier says of a mangled journal, and the judge over them: a naive model that looks at the bytes alone. It
 * knows the honest journal, so it can say exactly what may be believed: the lines that stand at the front unchanged, when
 * nothing follows them that ends in a newline, or what follows begins with sectors that never reached the disk.
 *
 * Refused is always right for whatever is not that. Believed otherwise, more, or surer than the honest journal is accepted:
 * a fault of the runtime.
 */
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isFault } from '../../../src/core/index.ts'
import type { Entry } from '../../../src/events/index.ts'
import {
  type RecoveryReport,
  type RunResult,
  type RunTree,
  recoveryReport,
  runsOf,
  treeHolds,
  type VerifiedPrefix,
  verify,
  verifyRun,
  verifyRunPrefix,
  verifyTree,
} from '../../../src/journal/index.ts'
import { isHoled } from '../../../src/testing/simulation/laws/journal-reader.ts'
import { type Evidence, type HonestJournal, topOf } from './evidence.ts'
import type { Believed, Reported } from './expected.ts'
import type { Shelf } from './shelf.ts'

/** Signatures are looked up, and not sent to other threads. */
const here = { threads: 1 }

export interface Said {
  readonly anyRun: Believed | 'another run'
  readonly run: Believed | 'another run'
  readonly prefix: Believed | 'another run'
  readonly report: Reported
  /** Of the mangled run, in its tree. `not reached` when no link leads to it any more. */
  readonly tree: RunResult | 'not reached'
  /** What was accepted; empty when all is well. */
  readonly accepted: readonly string[]
}

export interface Modelled {
  /** Lines at the front that are those of the honest journal. */
  readonly count: number
  readonly run: Believed
  readonly prefix: Believed
}

/** What may be believed, by the bytes alone. */
export function modelled({ lines }: HonestJournal, bytes: Buffer): Modelled {
  let count = 0
  let at = 0
  for (const line of lines) {
    if (!bytes.subarray(at, at + line.length).equals(line)) break
    at += line.length
    count += 1
  }
  const tail = bytes.subarray(at)
  const newline = tail.indexOf(0x0a)
  const isUnwritten = newline !== -1 && tail.subarray(0, newline).includes(0) && isHoled(bytes, at)
  if (count === 0 || (newline !== -1 && !isUnwritten)) return { count: 0, run: 'refused', prefix: 'refused' }
  const much = count === lines.length ? 'whole' : 'beginning'
  return tail.length === 0 ? { count, run: much, prefix: much } : { count, run: 'refused', prefix: `${much} + tail` }
}

/** Replaces one journal on a shelf on which all the others lie as they were, and puts it back. */
export async function saidOf(
  evidence: Evidence,
  honest: HonestJournal,
  bytes: Buffer,
  { world, folder, put }: Shelf,
): Promise<Said> {
  const path = join(folder, honest.file)
  put(honest.file, bytes)
  const model = modelled(honest, bytes)
  const accepted: string[] = []
  const object = (what: string): void => void accepted.push(what)

  const { key } = evidence
  const whole = async (read: Promise<readonly Entry[]>): Promise<Proven> => ({ entries: await read, tailBytes: 0 })
  const any = await believed(() => whole(verify(world, path, key, here)))
  const one = await believed(() => whole(verifyRun(world, path, key, honest.runId, here)))
  let prefix: VerifiedPrefix | null = null
  const front = await believed(async () => {
    prefix = await verifyRunPrefix(world, path, key, honest.runId, here)
    return { entries: prefix.entries, tailBytes: prefix.unverified_tail_bytes }
  })
  const named = (proven: Proven | null): Believed | 'another run' => {
    if (proven === null) return 'refused'
    const isOf = ({ entries }: HonestJournal): boolean =>
      isDeepStrictEqual(proven.entries, entries.slice(0, proven.entries.length))
    if (isOf(honest)) {
      const much = proven.entries.length === honest.entries.length ? 'whole' : 'beginning'
      return proven.tailBytes > 0 ? `${much} + tail` : much
    }
    if (!evidence.journals.some(isOf)) object('entries were believed that no run has written')
    return 'another run'
  }
  const [anyRun, run, found] = [named(any), named(one), named(front)]
  if (run !== model.run) object(`verifyRun says "${run}", and the bytes say "${model.run}"`)
  if (anyRun !== model.run && anyRun !== 'another run')
    object(`verify says "${anyRun}", and the bytes say "${model.run}"`)
  if (found !== model.prefix) object(`verifyRunPrefix says "${found}", and the bytes say "${model.prefix}"`)
  const report = reported(honest, prefix, object)
  const top = topOf(evidence, honest)
  const tree = await verifyTree(world, { ...top, path: join(folder, top.file), key: evidence.key })
  put(honest.file, honest.bytes)
  return { anyRun, run, prefix: found, report, tree: inTree(evidence, honest, bytes, tree, object), accepted }
}

interface Proven {
  readonly entries: readonly Entry[]
  readonly tailBytes: number
}

async function believed(judge: () => Promise<Proven>): Promise<Proven | null> {
  try {
    return await judge()
  } catch (error) {
    if (isFault(error, 'EVIDENCE_INVALID')) return null
    throw error
  }
}

/** A report may know less than that of the honest journal, and then it says so. It never knows more. */
function reported(honest: HonestJournal, prefix: VerifiedPrefix | null, object: (what: string) => void): Reported {
  if (prefix === null) return 'refused'
  let report: RecoveryReport
  try {
    report = recoveryReport(prefix)
  } catch (error) {
    if (!isFault(error, 'EVIDENCE_INVALID')) throw error
    return 'refused'
  }
  if (isDeepStrictEqual(report, honest.report)) return 'as it was'
  if (!report.requires_reconciliation || report.journal_complete)
    object('the report needs nobody, and lines are missing')
  for (const effect of report.effects) {
    const known = honest.report.effects.find(({ identity }) => isDeepStrictEqual(identity, effect.identity))
    if (known === undefined) object('the report tells of an effect that never was')
    else if (effect.outcome === 'result_recorded' && !isDeepStrictEqual(effect, known))
      object('the report knows of an effect what the honest one does not')
  }
  return 'to reconcile'
}

function inTree(
  { journals }: Evidence,
  honest: HonestJournal,
  bytes: Buffer,
  tree: RunTree,
  object: (what: string) => void,
): Said['tree'] {
  const { prefix, count } = modelled(honest, bytes)
  for (const { node } of runsOf(tree.root)) {
    if (node.run_id === honest.runId || node.report === null) continue
    const whole = journals.find(({ runId }) => runId === node.run_id)?.report
    if (!isDeepStrictEqual(node.report, whole)) object('a tree tells of another run what its journal does not')
  }
  const mangled = runsOf(tree.root).find(({ node }) => node.run_id === honest.runId)?.node
  if (mangled === undefined) return 'not reached'
  const { result, report } = mangled
  const isSound = result === 'verified' || result === 'incomplete'
  if (treeHolds(tree) && !isSound) object('a tree holds, and the mangled run in it does not')
  if (result === 'verified' && !bytes.equals(honest.bytes)) object('a tree calls a mangled run verified')
  if (result === 'incomplete' && prefix === 'refused' && bytes.includes(0x0a)) object('a tree takes refused lines')
  if (isSound && report !== null && report.verified_records !== count) object('a tree counts other records')
  return result
}
