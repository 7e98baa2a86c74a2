/**
 * Every journal is what a stranger with the public key accepts, at every crash and in the end: signed, chained, and whole but
 * for a torn tail; and what one record says of another is true. The one law that also asks the runtime: its own verifier and its own report must agree with this reader.
 */
import { messageOf } from '../../../core/index.ts'
import { type PublicKey, type RunId, recoveryReport, verifyPrefixBytes } from '../../../journal/index.ts'
import { nodeWorld } from '../../../world/index.ts'
import { whyMisquoted, whyOtherCall } from './cross-references.ts'
import { type Evidence, type EvidenceReader, GOVERNED } from './evidence.ts'
import { isJournalName, type ReadJournal } from './journal-reader.ts'
import type { Law, Life } from './law.ts'
import { whyOpen } from './proven-done.ts'
import { factsOf } from './run-facts.ts'

export function evidenceVerifies(reader: EvidenceReader): Law {
  return {
    name: 'evidence verifies',
    watch: (seen, disk) => (seen.kind === 'Crashed' || seen.kind === 'Closed' ? whyWrong(reader.at(seen, disk)) : null),
    settle: async (life) => {
      const evidence = reader.at(life.seen, life.disk)
      const wrong = whyWrong(evidence) ?? whyOtherCall(evidence.journals) ?? whyWrongKey(life, evidence)
      if (wrong !== null) return wrong
      if (evidence.key === null) return null
      const key = believing(evidence.key.publicHex)
      for (const journal of evidence.journals.values()) {
        const reason = await whyRefused(journal, key)
        if (reason !== null) return reason
      }
      return null
    },
  }
}

function whyWrong({ journals, files }: Evidence): string | null {
  for (const journal of journals.values()) {
    const reason = journal.wrong === null ? whyMisquoted(journal) : `${journal.name}: ${journal.wrong}`
    if (reason !== null) return reason
  }
  for (const path of files.keys()) {
    const name = path.slice(GOVERNED.length + 1)
    if (path.startsWith(`${GOVERNED}/`) && name.endsWith('.jsonl') && !isJournalName(name))
      return `${name} is no name of a journal`
  }
  return null
}

function whyWrongKey({ publicKey }: Life, { key, journals }: Evidence): string | null {
  if (journals.size === 0 && key === null) return null
  if (key === null) return 'There are journals, and no key that they were signed with'
  return publicKey === null || publicKey === key.publicHex
    ? null
    : `The key is ${key.publicHex}, and ${publicKey} was shown`
}

const world = nodeWorld()

/** Each signature was checked by the reader of the laws, and to check it again would be a tenth of what a life costs. */
function believing(hex: string): PublicKey {
  return { hex, verifies: () => true }
}

async function whyRefused(journal: ReadJournal, key: PublicKey): Promise<string | null> {
  const { name, bytes, entries, tailBytes, runId } = journal
  if (entries.length === 0) return null // an empty journal proves nothing, and its run did nothing
  try {
    const prefix = await verifyPrefixBytes(world, bytes, key, runId as RunId, { threads: 1 })
    if (prefix.entries.length !== entries.length || prefix.unverified_tail_bytes !== tailBytes) {
      const theirs = `${prefix.entries.length} entries and ${prefix.unverified_tail_bytes} bytes behind them`
      return `${name}: the runtime's verifier finds ${theirs}, and there are ${entries.length} and ${tailBytes}`
    }
    const report = recoveryReport(prefix)
    const settled = factsOf(journal).end !== null && tailBytes === 0 && whyOpen(journal) === null
    if (report.requires_reconciliation !== settled) return null
    return `${name}: the runtime reports that it ${settled ? 'needs' : 'needs no'} reconciliation`
  } catch (error) {
    return `${name}: the runtime refuses its own journal: ${messageOf(error)}`
  }
}
