/**
 * One journal of a tree of runs: where it lies, and what it proves. Never throws for what it finds, except when the file
 * changes while it is read: then nobody can judge yet.
 */
import { basename, dirname, isAbsolute, join } from 'node:path'
import { type AgentId, isFault, messageOf, type RunId } from '../core/index.ts'
import type { PublicKey } from '../keys/index.ts'
import type { FileFacts, World } from '../world/index.ts'
import { LINE_BYTES_MAX } from './record.ts'
import { type RecoveryReport, recoveryReport } from './recovery.ts'
import { type RunFacts, runFacts } from './run-facts.ts'
import { readEvidence, verifyPrefixBytes } from './verify.ts'
import { journalName } from './writer.ts'

/** A journal as a link names it. */
export interface NamedJournal {
  readonly agentId: AgentId
  readonly runId: RunId
  /** Where it lay when the link was written. */
  readonly recordedPath: string
}

export type Reading =
  | { readonly kind: 'read'; readonly run: RunFacts; readonly report: RecoveryReport }
  /** The file is there and no line of it is complete: the run never began. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid'; readonly reason: string }

export async function readLinked(world: World, path: string, key: PublicKey, runId: RunId): Promise<Reading> {
  try {
    if ((await world.files.lstat(path)) === null) return { kind: 'missing' }
    const bytes = await readEvidence(world, path)
    if (bytes.indexOf(0x0a) === -1 && bytes.length <= LINE_BYTES_MAX) return { kind: 'nothing' }
    const prefix = await verifyPrefixBytes(world, bytes, key, runId)
    return { kind: 'read', run: runFacts(prefix), report: recoveryReport(prefix) }
  } catch (error) {
    if (!isFault(error) || error.code === 'EVIDENCE_CHANGING') throw error
    if (error.code === 'EVIDENCE_INVALID') return { kind: 'invalid', reason: reasonIn(messageOf(error)) }
    const told = typeof error.facts.errno === 'string' ? ` (${error.facts.errno})` : ''
    return { kind: 'invalid', reason: `it cannot be read${told}` }
  }
}

/** "Cannot verify the journal: ‹state›" stands in a list of problems, which says so already. */
function reasonIn(message: string): string {
  return message.replace(/^Cannot (?:verify|accept) the (?:journal|evidence): /, '')
}

export interface Located {
  readonly path: string
  /** Null when it lies where it belongs: next to the journal that links to it. */
  readonly note: string | null
}

/**
 * Next to the journal that links to it, under the name that the runtime gives it. Evidence is copied and moved as a folder,
 * so the recorded path is only a hint: it is followed when nothing lies next to the link, when it ends in that same name and
 * leads to a regular file, and never without a note.
 */
export async function locateJournal(world: World, linkingPath: string, named: NamedJournal): Promise<Located> {
  const { agentId, runId, recordedPath } = named
  const name = journalName(agentId, runId)
  const beside = join(dirname(linkingPath), name)
  if ((await factsOf(world, beside)) !== null) return { path: beside, note: null }
  const usable = isAbsolute(recordedPath) && basename(recordedPath) === name && !recordedPath.includes('\0')
  if (!usable || (await factsOf(world, recordedPath))?.kind !== 'file') return { path: beside, note: null }
  return { path: recordedPath, note: 'it does not lie next to the journal that links to it: read where the link says' }
}

/** A place that cannot be looked at holds nothing that we could read. */
export async function factsOf({ files }: World, path: string): Promise<FileFacts | null> {
  try {
    return await files.lstat(path)
  } catch (error) {
    if (isFault(error)) return null
    throw error
  }
}
