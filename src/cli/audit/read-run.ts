/**
 * One journal, verified and understood. What cannot be opened, read or believed is `EVIDENCE_INVALID`; a journal whose
 * run is at work is read again until it holds still for a moment.
 */
import { Fault, isFault, type RunId } from '../../core/index.ts'
import type { Entry } from '../../events/index.ts'
import {
  type RecoveryReport,
  recoveryReport,
  type VerifiedPrefix,
  type VerifyOptions,
  verifyLegacy,
  verifyRunPrefix,
} from '../../journal/index.ts'
import type { PublicKey } from '../../keys/index.ts'
import type { World } from '../../world/index.ts'
import type { JournalFile } from './find-journal.ts'

const TRIES_MAX = 6
const RETRY_MS = 100

export interface VerifiedRun {
  readonly prefix: VerifiedPrefix
  readonly report: RecoveryReport
}

export function readRun(
  world: World,
  file: JournalFile,
  key: PublicKey,
  options: VerifyOptions = {},
): Promise<VerifiedRun> {
  return judged(world, file, async () => {
    const prefix = await verifyRunPrefix(world, file.path, key, requireRunId(file), options)
    requireAgent(file, prefix.agent_id)
    return { prefix, report: recoveryReport(prefix) }
  })
}

export function requireRunId(file: JournalFile): RunId {
  if (file.runId !== null) return file.runId
  throw refused(file, 'it is of the legacy format, which names no run', 'Only "audit verify" reads that format')
}

/** Whether the run began another, or was begun by one. */
export function hasLinks({ entries }: VerifiedPrefix): boolean {
  return entries.some(
    ({ event }) =>
      event.kind === 'DelegationStarted' ||
      (event.kind === 'Started' && event.execution_context?.delegation !== undefined),
  )
}

/**
 * The legacy format: complete lines, no run id, no recovery report. A journal of a run under such a name was renamed, and with its
 * run it would have lost its links and what its claim says of it.
 */
export function readLegacy(
  world: World,
  file: JournalFile,
  key: PublicKey,
  options: VerifyOptions = {},
): Promise<readonly Entry[]> {
  return judged(world, file, async () => {
    const entries = await verifyLegacy(world, file.path, key, options)
    requireAgent(file, entries[0]?.agent_id)
    return entries
  })
}

/** A journal that was renamed, or put in place of another, proves nothing about the one that was asked for. */
export function requireAgent(file: JournalFile, agent: string | undefined): void {
  if (file.agentId === null || file.agentId === agent) return
  throw refused(file, 'its records are of another agent than its name', 'It was renamed, or put in place of another')
}

/** What `judge` says of the file, once it holds still for long enough; its faults in the words of this command. */
export async function judged<T>(world: World, file: JournalFile, judge: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const facts = await world.files.lstat(file.path)
      if (facts?.kind === 'file' && facts.size === 0) throw emptyJournal(file)
      return await judge()
    } catch (error) {
      if (isFault(error, 'STORAGE_FAILED', 'STORAGE_UNSAFE')) {
        const told = typeof error.facts.errno === 'string' ? ` (${error.facts.errno})` : ''
        throw refused(file, `it cannot be read${told}`, 'Read it as a user who may, or from a copy', error)
      }
      if (!isFault(error, 'EVIDENCE_CHANGING') || attempt >= TRIES_MAX) throw error
      await world.clock.sleep(RETRY_MS, new AbortController().signal)
    }
  }
}

export function isEmptyJournal(error: unknown): boolean {
  return isFault(error, 'EVIDENCE_INVALID') && error.facts.empty === true
}

function emptyJournal({ name }: JournalFile): Fault {
  return new Fault('EVIDENCE_INVALID', {
    message: `Cannot verify the journal "${name}": it is empty`,
    hint: 'Its run was queued and never began, or the file was emptied; "symbi invocation inspect" knows more',
    facts: { empty: true },
  })
}

function refused({ name }: JournalFile, state: string, hint: string, cause?: unknown): Fault {
  return new Fault('EVIDENCE_INVALID', { message: `Cannot verify the journal "${name}": ${state}`, hint, cause })
}
