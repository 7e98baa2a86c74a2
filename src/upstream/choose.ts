/** Which tools of a list may be used: those that the operator exposed, that can be ours, and that look as they were pinned. */

import type { Hash } from '../core/index.ts'
import type { Definition, Listing } from './listing.ts'
import { pinnedDigest, type ServerPins } from './pins.ts'
import type { UpstreamServer } from './server-entry.ts'
import { nameMisfit, schemaJudge } from './upstream-tool.ts'

export const CHANGED = 'its description or its schema is not the one that was pinned'
export const ADDED = 'the server added it after its tools were pinned'

export interface Chosen {
  readonly definition: Definition
  readonly digest: Hash
}

export interface Choice {
  readonly usable: readonly Chosen[]
  /** Of those, the ones that are seen for the first time. */
  readonly fresh: readonly Definition[]
  /** Tool to why it cannot be used. */
  readonly refused: ReadonlyMap<string, string>
}

export function exposedTools(server: UpstreamServer, listing: Listing): readonly string[] {
  return server.expose === '*' ? [...listing.keys()] : server.expose
}

export function choose(server: UpstreamServer, listing: Listing, pins: ServerPins, taken: ReadonlySet<string>): Choice {
  const usable: Chosen[] = []
  const fresh: Definition[] = []
  const refused = new Map<string, string>()
  const schemaMisfit = schemaJudge(server.name)
  // "All of them" was said of the list as it was: what a known server adds later is looked at first.
  const trustsNew = server.expose !== '*' || Object.keys(pins).length === 0
  for (const tool of exposedTools(server, listing)) {
    const listed = listing.get(tool)
    if (listed === undefined) {
      refused.set(tool, 'the server does not offer it')
      continue
    }
    const misfit =
      listed.kind === 'Unusable'
        ? listed.reason
        : (nameMisfit(server.name, tool, taken) ?? schemaMisfit(listed.definition))
    const pinned = pinnedDigest(pins, tool)
    if (listed.kind === 'Unusable' || misfit !== null) refused.set(tool, misfit ?? 'it cannot be used')
    else if (pinned === null && !trustsNew) refused.set(tool, ADDED)
    else if (pinned !== null && pinned !== listed.digest) refused.set(tool, CHANGED)
    else {
      usable.push(listed)
      if (pinned === null) fresh.push(listed.definition)
    }
  }
  return { usable, fresh, refused }
}
