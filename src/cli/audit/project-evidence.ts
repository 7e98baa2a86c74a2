/** All evidence of a project, or of a folder: every journal there is, and every journal that a claim says there must be. */
import { join } from 'node:path'
import { isFault, messageOf } from '../../core/index.ts'
import type { TerminationReason } from '../../events/index.ts'
import { type Reading, runFacts } from '../../journal/index.ts'
import type { PublicKey } from '../../keys/index.ts'
import type { World } from '../../world/index.ts'
import type { Claims } from './claims.ts'
import { type JournalFile, readName } from './find-journal.ts'
import { hasLinks, isEmptyJournal, readLegacy, readRun } from './read-run.ts'

/**
 * `verified` is a whole run; `incomplete` a sound beginning; `empty` holds nothing; `missing` is only named by a claim or a
 * link; `mismatch` verifies, and contradicts the journal of another run.
 */
export type Result = 'verified' | 'incomplete' | 'empty' | 'missing' | 'invalid' | 'mismatch'

export interface Finding {
  readonly journal: string
  readonly run_id: string | null
  readonly agent_id: string | null
  readonly records: number
  readonly bytes: number
  /** How the run ended; null when it did not, or nobody knows. */
  readonly ending: string | null
  readonly result: Result
  /** Effects whose outcome is unknown, and approved calls that nothing followed. */
  readonly unknown: number
  readonly code: string | null
  readonly note: string | null
}

/** Names of journals in the order of their last change, and those that exist only in a claim. */
export async function journalNames(world: World, folder: string, claims: Claims): Promise<readonly string[]> {
  const present: { readonly name: string; readonly modifiedNs: bigint }[] = []
  for (const name of (await world.files.list(folder)) ?? []) {
    if (!name.endsWith('.jsonl')) continue
    const facts = await world.files.lstat(join(folder, name))
    if (facts !== null) present.push({ name, modifiedNs: facts.modifiedNs })
  }
  present.sort((left, right) => (left.modifiedNs < right.modifiedNs ? -1 : left.modifiedNs > right.modifiedNs ? 1 : 0))
  const names = new Set(present.map(({ name }) => name))
  const claimed = [...claims.values()].map(({ journal }) => journal).filter((name) => !names.has(name))
  return [...names, ...new Set(claimed)]
}

export interface Watch {
  readonly progress?: (bytesDone: number, bytesAll: number) => void
  /** Told of a run that began others or was begun by one, with all that judging its links needs. */
  readonly onLinked?: (path: string, reading: Reading) => void
}

/** Judges one journal. Never throws for what it finds. */
export async function judgeJournal(
  world: World,
  file: JournalFile,
  key: PublicKey,
  claims: Claims,
  watch: Watch = {},
): Promise<Finding> {
  const nothing = {
    journal: file.name,
    run_id: file.runId,
    agent_id: file.agentId,
    records: 0,
    bytes: 0,
    ending: null,
    unknown: 0,
    code: null,
    note: null,
  }
  const claim = file.runId === null ? undefined : claims.get(file.runId)
  if ((await world.files.lstat(file.path).catch(() => undefined)) === null) {
    const note = claim === undefined ? 'there is no such file' : 'a claim names this journal, and it is gone'
    return { ...nothing, result: 'missing', code: 'EVIDENCE_INVALID', note }
  }
  try {
    const found =
      file.runId === null ? await judgeLegacy(world, file, key, watch) : await judgeRun(world, file, key, watch)
    return contradicted({ ...nothing, ...found }, claim?.recorded === true)
  } catch (error) {
    if (isEmptyJournal(error)) {
      const note = 'it is empty: its run never began'
      return contradicted({ ...nothing, result: 'empty', note }, claim?.recorded === true)
    }
    if (!isFault(error)) throw error
    if (error.code === 'EVIDENCE_CHANGING') {
      const note = 'it changes while it is read: its run is at work'
      return contradicted({ ...nothing, result: 'incomplete', code: error.code, note }, claim?.recorded === true)
    }
    return { ...nothing, result: 'invalid', code: error.code, note: reasonIn(messageOf(error)) }
  }
}

async function judgeRun(
  world: World,
  file: JournalFile,
  key: PublicKey,
  watch: Watch,
): Promise<Partial<Finding> & Pick<Finding, 'result'>> {
  const { prefix, report } = await readRun(world, file, key, watch)
  if (hasLinks(prefix)) {
    watch.onLinked?.(file.path, { kind: 'read', run: runFacts(prefix), report: { ...report, effects: [] } })
  }
  const unknown = report.effects.filter(({ outcome }) => outcome === 'unknown').length + report.untracked_tool_approvals
  return {
    agent_id: report.agent_id,
    records: report.verified_records,
    bytes: report.verified_bytes,
    ending: report.terminal_reason === null ? null : endingOf(report.terminal_reason),
    result: report.journal_complete ? 'verified' : 'incomplete',
    unknown,
    note: report.journal_complete
      ? null
      : incompleteNote(report.unverified_tail_bytes, report.terminal_reason === null),
  }
}

function incompleteNote(tailBytes: number, endless: boolean): string {
  const parts = [
    ...(endless ? ['no end of the run: it was interrupted, or is at work'] : []),
    ...(tailBytes > 0 ? [`${tailBytes} bytes of an unfinished last line are left out`] : []),
  ]
  return `the beginning is verified; ${parts.join('; ')}`
}

async function judgeLegacy(
  world: World,
  file: JournalFile,
  key: PublicKey,
  watch: Watch,
): Promise<Partial<Finding> & Pick<Finding, 'result'>> {
  const entries = await readLegacy(world, file, key, watch)
  const last = entries.at(-1)?.event
  const ending = last?.kind === 'Terminated' ? endingOf(last.reason) : null
  return {
    records: entries.length,
    ending,
    result: ending === null ? 'incomplete' : 'verified',
    note: ending === null ? incompleteNote(0, true) : 'legacy format',
  }
}

/** The record of a result was written behind the end of the journal: without that end, records were lost. */
function contradicted(finding: Finding, recorded: boolean): Finding {
  if (!recorded || finding.result === 'verified') return finding
  return {
    ...finding,
    result: 'invalid',
    code: 'EVIDENCE_INVALID',
    note: `its claim has a recorded result, so the end of this journal was cut off (${finding.note ?? finding.result})`,
  }
}

export function endingOf(reason: TerminationReason): string {
  return typeof reason === 'string' ? reason : (Object.keys(reason)[0] ?? 'unknown')
}

/** "Cannot verify the journal …: ‹state›" is a row of a table that says so already. */
function reasonIn(message: string): string {
  return message.replace(/^Cannot (?:verify|accept) the (?:journal|evidence)(?: "[^"]*")?: /, '')
}

/** A journal of a folder by its name; null for a name that is none of ours. */
export function fileNamed(folder: string, name: string): JournalFile | null {
  const said = readName(name)
  return said === null ? null : { path: join(folder, name), name, ...said }
}
