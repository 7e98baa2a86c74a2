/**
 * The two other writers. A buffered log keeps the newest entries in memory, for tests and displays only: it is no
 * evidence. A streaming log shows entries to a live observer, never before they are durable, and possibly with gaps.
 */
import { assert } from '../core/index.ts'
import type { AuditReference, Entry, EventLog, NewEntry } from '../events/index.ts'

export interface BufferedLog extends EventLog {
  /** Takes the kept entries out, oldest first. Numbers go on counting. */
  drain(): readonly Entry[]
  readonly entries: readonly Entry[]
}

export function bufferedLog(capacity = 1000): BufferedLog {
  assert(Number.isSafeInteger(capacity) && capacity > 0, 'a buffered log holds at least one entry')
  let kept: Entry[] = []
  let sequence = 0
  return {
    audit: null,
    append: async (entries) => {
      for (const entry of entries) kept.push({ ...entry, sequence: sequence++ })
      if (kept.length > capacity) kept = kept.slice(kept.length - capacity)
    },
    drain: () => {
      const taken = kept
      kept = []
      return taken
    },
    get entries() {
      return kept
    },
  }
}

/** `offer` puts an entry on a bounded channel and must not wait: an observer that cannot take it, or throws, loses it. */
export function streamingLog(inner: EventLog, offer: (entry: NewEntry) => void): EventLog {
  return {
    get audit(): AuditReference | null {
      return inner.audit
    },
    append: async (entries) => {
      await inner.append(entries) // law 1: nobody hears of what is not durable
      for (const entry of entries) {
        try {
          offer(entry)
        } catch {
          // Law 3 the other way round: what is durable is not turned into a failure by somebody who only watches.
        }
      }
    },
  }
}
