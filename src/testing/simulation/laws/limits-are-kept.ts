/**
 * Limits are kept: no run takes more steps, delegates deeper or goes on for longer than its first entry says that it may, and no
 * session makes more calls.
 */
import type { EvidenceReader } from './evidence.ts'
import type { Law } from './law.ts'
import { inferencesOf, whyTooDeep, whyTooMuch } from './limits-in-number.ts'
import { lapsesOf, whyTooLate } from './limits-in-time.ts'

/** A journal keeps what it held once, or another law objects: so all of it is looked at in the end. */
export function limitsAreKept(reader: EvidenceReader): Law {
  return {
    name: 'limits are kept',
    settle: (life) => {
      const evidence = reader.at(life.seen, life.disk)
      const inferences = inferencesOf(evidence)
      const lapses = lapsesOf(evidence)
      for (const journal of evidence.journals.values()) {
        const reason =
          whyTooMuch(journal, inferences.get(journal.runId) ?? 0) ??
          whyTooDeep(journal, evidence) ??
          whyTooLate(journal, lapses)
        if (reason !== null) return reason
      }
      return null
    },
  }
}
