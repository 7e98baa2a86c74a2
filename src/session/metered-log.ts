/**
 * The session's journal, metered: an untrusted client decides how much is written, so each entry and all of them together
 * have a bound, and one entry's room is kept for the end (12.7). It is also the last fence: behind the terminal record
 * nobody writes, whatever comes back late (12.9).
 *
 * Durability is the inner log's. A refusal here is a failed write for whoever wanted it, and leaves the inner log usable.
 */
import { Fault } from '../core/index.ts'
import { type AuditReference, type EventLog, keepEventText, type NewEntry } from '../events/index.ts'

const MIB = 1024 * 1024
export const ENTRY_BYTES_MAX = MIB
export const ORDINARY_BYTES_MAX = 63 * MIB
export const SESSION_BYTES_MAX = 64 * MIB

export class MeteredLog implements EventLog {
  readonly #inner: EventLog
  #bytes = 0
  #entries = 0
  #ended = false

  constructor(inner: EventLog) {
    this.#inner = inner
  }

  get audit(): AuditReference | null {
    return this.#inner.audit
  }

  /** Nothing more is written: the end was handed over, or there is no session. */
  end(): void {
    this.#ended = true
  }

  /** Counts before it writes, and what failed afterwards stays counted: the file may hold it. */
  async append(entries: readonly NewEntry[]): Promise<void> {
    if (this.#ended) throw refused('JOURNAL_REFUSED', 'the session has ended')
    let bytes = this.#bytes
    for (const [index, entry] of entries.entries()) {
      const size = sizeOf(entry, this.#entries + index)
      const isEnd = entry.event.kind === 'Terminated'
      bytes += size
      if (size > ENTRY_BYTES_MAX) throw refused('JOURNAL_LIMIT', `an entry holds ${size} bytes`)
      if (bytes > (isEnd ? SESSION_BYTES_MAX : ORDINARY_BYTES_MAX))
        throw refused('JOURNAL_LIMIT', 'its room is used up')
    }
    this.#bytes = bytes
    this.#entries += entries.length
    if (entries.at(-1)?.event.kind === 'Terminated') this.end()
    await this.#inner.append(entries)
  }
}

const FRAME_BYTES = '{"agent_id":"","event":,"iteration":,"sequence":,"timestamp":""}'.length

/** Of the entry as it is signed. Ids, times and numbers are plain ASCII. */
function sizeOf({ timestamp, agent_id, iteration, event }: NewEntry, sequence: number): number {
  return FRAME_BYTES + `${agent_id}${iteration}${sequence}${timestamp}`.length + bytesOf(event)
}

/** Of its canonical text, which the writer behind needs as well. What has none is counted, and is the writer's to refuse. */
function bytesOf(event: NewEntry['event']): number {
  try {
    return Buffer.byteLength(keepEventText(event))
  } catch {
    return Buffer.byteLength(JSON.stringify(event))
  }
}

function refused(code: 'JOURNAL_LIMIT' | 'JOURNAL_REFUSED', reason: string): Fault {
  return new Fault(code, {
    message: `Cannot write to the journal of the session: ${reason}`,
    hint: 'Open a new session; let tools return less in one answer',
  })
}
