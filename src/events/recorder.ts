/**
 * The recorder that a run writes with. It knows which entries may legally wait: receipts and bookkeeping are staged, an
 * intent is committed together with all that was staged before it, in order, in one write and one sync (laws 1 and 3).
 */
import { type AgentId, Fault, isFault, type Timestamp } from '../core/index.ts'
import type { Event } from './catalogue.ts'
import type { AuditReference } from './data.ts'
import type { EventLog, NewEntry } from './event-log.ts'

/** Called once when a staged entry became durable, or when it never will. */
export type StageOutcome = (outcome: 'durable' | 'lost') => void

export class Recorder {
  readonly #log: EventLog
  readonly #now: () => Timestamp
  readonly principal: AgentId
  /** The loop iteration that new entries belong to. */
  iteration = 0
  #staged: { readonly entry: NewEntry; readonly told: StageOutcome | undefined }[] = []
  #lost = false
  #sealed = false

  constructor(log: EventLog, principal: AgentId, now: () => Timestamp) {
    this.#log = log
    this.principal = principal
    this.#now = now
  }

  get audit(): AuditReference | null {
    return this.#log.audit
  }

  /** Nothing more can be written: a write failed. The run is not a success (law 6). */
  get lost(): boolean {
    return this.#lost
  }

  /**
   * Ends this recorder and gives what it staged to a successor. The loser of a race still holds this one, and from now
   * on it writes nothing (0.4): only the successor can add the terminal record.
   */
  handOver(): Recorder {
    const next = new Recorder(this.#log, this.principal, this.#now)
    next.iteration = this.iteration
    next.#staged = this.#staged
    next.#lost = this.#lost
    this.#staged = []
    this.#sealed = true
    return next
  }

  /** Adds an entry that the next commit makes durable. Use it for receipts and bookkeeping, never for an intent. */
  stage(event: Event, told?: StageOutcome): void {
    if (this.#lost || this.#sealed) {
      told?.('lost')
      return
    }
    this.#staged.push({
      entry: { timestamp: this.#now(), agent_id: this.principal, iteration: this.iteration, event },
      told,
    })
  }

  /**
   * Makes all staged entries and these events durable, or throws; then nothing that depended on them may go on. After a
   * refusal by rule the staged entries stay staged, so that receipts and the terminal record can still be written.
   */
  async commit(...events: readonly Event[]): Promise<void> {
    if (this.#lost || this.#sealed) {
      throw new Fault('JOURNAL_FAILED', {
        message: this.#sealed
          ? 'Cannot write to the journal: its run has ended'
          : 'Cannot write to the journal: an earlier write of this run failed',
        hint: 'Inspect the journal with "symbi audit inspect"; it is kept as evidence',
      })
    }
    for (const event of events) this.stage(event)
    const batch = this.#staged
    this.#staged = []
    if (batch.length === 0) return
    try {
      await this.#log.append(batch.map(({ entry }) => entry))
    } catch (error) {
      if (isFault(error, 'RECONCILIATION_REQUIRED', 'JOURNAL_REFUSED')) {
        this.#staged = [...batch.slice(0, batch.length - events.length), ...this.#staged]
      } else {
        this.#lost = true
        this.#staged = [...batch, ...this.#staged] // what was staged meanwhile is lost with it
      }
      if (this.#lost || this.#sealed) this.#tellLost()
      throw error
    }
    for (const { told } of batch) told?.('durable')
  }

  #tellLost(): void {
    const never = this.#staged
    this.#staged = []
    for (const { told } of never) told?.('lost')
  }
}
