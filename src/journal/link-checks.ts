/**
 * A link between two journals, judged: what the parent recorded of the run that it began, against what that run recorded of
 * itself (10.4, 10.6). Two signed journals that both verify can still belong to different stories; this is where it shows.
 *
 * Says only what no crash can explain. A beginning without its end, on either side, is no contradiction: a process may die
 * between any two entries (law 3 calls the outcome unknown). But what one journal says only after the other has said
 * something, proves that the other said it.
 */
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { instantOf, isJsonObject, type Json, type JsonObject, type Timestamp } from '../core/index.ts'
import type { TerminationReason } from '../events/index.ts'
import type { PublicKey } from '../keys/index.ts'
import type { Delegation, DelegationLink, RunFacts } from './run-facts.ts'
import { journalName } from './writer.ts'

/** Wrong whatever the journal of the run holds. In words that follow the name of the run. */
export function strangeLink({ link, finished }: Delegation, key: PublicKey): readonly string[] {
  const { audit, child_agent_id } = link
  const problems: string[] = []
  if (audit.public_key !== key.hex) problems.push('its link names another public key than the trusted one')
  if (basename(audit.path) !== journalName(child_agent_id, audit.run_id)) {
    problems.push('its link gives its journal a name that the runtime would not give it')
  }
  if (finished !== null && !isDeepStrictEqual(finished.audit, audit)) {
    problems.push('its parent recorded the end of another journal than it had begun')
  }
  return problems
}

/** What contradicts between a run and the run that began it. `child` is null when nothing of its journal is complete. */
export function linkProblems(
  delegation: Delegation,
  parent: RunFacts,
  child: RunFacts | null,
  key: PublicKey,
): readonly string[] {
  return [
    ...strangeLink(delegation, key),
    ...(child === null ? [] : originProblems(delegation, parent, child, key)),
    ...endProblems(delegation, parent, child),
  ]
}

function originProblems(delegation: Delegation, parent: RunFacts, child: RunFacts, key: PublicKey): readonly string[] {
  const { link, timestamp } = delegation
  if (child.agent_id !== link.child_agent_id) return ['its records are of another agent than its link says']
  if (child.start === null) return ['its journal does not begin with the start of a run']
  const problems: string[] = []
  const said = child.start.context.delegation
  if (!isJsonObject(said)) problems.push('its journal does not say that it was delegated')
  else {
    const members = differences(said, link, parent, key)
    if (members.length > 0) problems.push(`its journal tells ${list(members)} differently than the link of its parent`)
  }
  if (isBefore(child.start.timestamp, timestamp)) problems.push('it began before its parent had recorded the intent')
  return problems
}

/** Names of the members in which the child's record of the link differs from what its parent wrote, and from who that is. */
function differences(said: JsonObject, link: DelegationLink, parent: RunFacts, key: PublicKey): readonly string[] {
  const { parent_agent_id, parent_audit, ...repeated } = said
  const written = link as unknown as JsonObject
  const names = new Set([...Object.keys(written), ...Object.keys(repeated)])
  const different = [...names].filter((name) => !isDeepStrictEqual(repeated[name], written[name]))
  if (parent_agent_id !== parent.agent_id) different.push('parent_agent_id')
  return [...different, ...parentDifferences(parent_audit, parent, key)]
}

/** The parent's journal may have been moved since, so its path is compared with the one that the parent itself recorded. */
function parentDifferences(audit: Json | undefined, parent: RunFacts, key: PublicKey): readonly string[] {
  if (!isJsonObject(audit)) return ['parent_audit'] // whoever has a journal on disk has a reference to it
  const { run_id, public_key, path, ...others } = audit
  const different: string[] = []
  if (run_id !== parent.run_id) different.push('parent_audit.run_id')
  if (public_key !== key.hex) different.push('parent_audit.public_key')
  if (!isPathOf(path, parent)) different.push('parent_audit.path')
  if (Object.keys(others).length > 0) different.push('parent_audit')
  return different
}

/** Text against text: a recorded path is evidence of what was written, not of where a file lies today. */
export function isPathOf(path: Json | undefined, { agent_id, run_id, recordedPath }: RunFacts): boolean {
  if (typeof path !== 'string') return false
  return recordedPath === null ? basename(path) === journalName(agent_id, run_id) : path === recordedPath
}

function endProblems({ finished, timestamp }: Delegation, parent: RunFacts, child: RunFacts | null): readonly string[] {
  const end = child?.end ?? null
  if (finished === null) return end === null ? [] : orphanedEnd(parent, end.timestamp)
  const problems: string[] = []
  const { reason } = finished
  if (end === null) problems.push(`its parent recorded that it ended ${nameOf(reason)}, and its journal has no end`)
  else {
    if (!isDeepStrictEqual(end.reason, reason)) {
      const says = nameOf(end.reason) === nameOf(reason) ? 'gives another message' : `says ${nameOf(end.reason)}`
      problems.push(`its parent recorded that it ended ${nameOf(reason)}, and its journal ${says}`)
    } else if (reason === 'Completed' && isOtherOutput(finished.output_hash, child)) {
      problems.push('its parent recorded another output than its journal')
    }
    if (isBefore(finished.timestamp, end.timestamp)) problems.push('it ended after its parent had recorded its end')
  }
  if (isBefore(finished.timestamp, timestamp)) problems.push('its parent recorded its end before its beginning')
  if (parent.end !== null && isBefore(parent.end.timestamp, finished.timestamp)) {
    problems.push('its parent ended before it recorded the end of it')
  }
  return problems
}

/** A parent waits for its children; only one that gave up waiting, and says so, may end before them. */
function orphanedEnd({ end }: RunFacts, childEnd: Timestamp): readonly string[] {
  if (end === null || !isBefore(end.timestamp, childEnd)) return []
  return typeof end.reason === 'object' && 'Error' in end.reason ? [] : ['it ended after its parent']
}

/** A run that ended Completed has approved its answer; one whose approvals cannot be read is not judged by them. */
function isOtherOutput(hash: string, child: RunFacts | null): boolean {
  const known: readonly string[] = child?.outputHashes ?? []
  return known.length > 0 && !known.includes(hash)
}

function isBefore(left: Timestamp, right: Timestamp): boolean {
  return instantOf(left) < instantOf(right)
}

function nameOf(reason: TerminationReason): string {
  if (typeof reason === 'string') return reason
  return 'Error' in reason ? 'Error' : 'PolicyDenial'
}

function list(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ')
}
