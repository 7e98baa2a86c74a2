/**
 * Where a claim, its receipt and its journal lie, by name alone: nothing is read or made here. A claim's file is named by
 * the digest of scope and id, so neither becomes part of a path.
 */
import { join } from 'node:path'
import { type AgentId, digest, type RunId } from '../core/index.ts'
import { journalName } from '../journal/index.ts'
import type { Name } from './identity.ts'

/** Where the claims of a project lie, and its journals. */
export interface Place {
  readonly project: string
  readonly governed: string
  readonly store: string
  readonly storeLock: string
}

export function placeOf(project: string): Place {
  const hidden = join(project, '.symbiont')
  const store = join(hidden, 'invocations')
  return { project, governed: join(hidden, 'governed'), store, storeLock: join(store, 'store.lock') }
}

export interface ClaimPlace extends Place {
  readonly claim: string
  readonly receipt: string
  readonly receiptName: string
}

export function claimPlace(place: Place, { scope, id }: Name): ClaimPlace {
  const hex = digest([scope, id]).slice('sha256:'.length)
  const receiptName = `${hex}.resolved.json`
  return { ...place, claim: join(place.store, `${hex}.jsonl`), receipt: join(place.store, receiptName), receiptName }
}

/** The only place where the journal of a claim may lie: a claim that names another is not ours. */
export function auditPath({ governed }: Place, principal: AgentId, runId: RunId): string {
  return join(governed, journalName(principal, runId))
}
