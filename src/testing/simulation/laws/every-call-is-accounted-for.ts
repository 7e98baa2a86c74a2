/**
 * Every call is accounted for: nothing begins that nobody asked for; what was proposed is decided once, only what was allowed begins, and once; everybody is told of
 * everything, of denials too and as denials; and behind the receipt of a call nothing more of it stands.
 */
import { AskedCalls } from './asked-calls.ts'
import { whyUnaccounted } from './call-accounts.ts'
import type { EvidenceReader } from './evidence.ts'
import type { Law, Scenario } from './law.ts'

/** A journal keeps what it held once, or another law objects: so all of it is looked at in the end. */
export function everyCallIsAccountedFor(reader: EvidenceReader, { requestOf }: Pick<Scenario, 'requestOf'>): Law {
  const asked = new AskedCalls(requestOf)
  return {
    name: 'every call is accounted for',
    watch: (seen) => asked.whyUnasked(seen),
    settle: (life) => {
      for (const journal of reader.at(life.seen, life.disk).journals.values()) {
        const reason = whyUnaccounted(journal)
        if (reason !== null) return reason
      }
      return null
    },
  }
}
