/**
 * EventLog: the port through which every floor writes evidence. A journal (floor 3) is the durable maker; the buffered and
 * streaming writers and the phases of an invocation wrap it, and a run writes to it through its recorder.
 */
import type { AgentId, Timestamp } from '../core/index.ts'
import type { Event } from './catalogue.ts'
import type { AuditReference } from './data.ts'

/** An entry before its writer gave it a sequence number. */
export interface NewEntry {
  readonly timestamp: Timestamp
  readonly agent_id: AgentId
  readonly iteration: number
  readonly event: Event
}

export interface EventLog {
  /**
   * Writes the entries in order with one sync, and resolves when all of them are durable. A refusal by rule
   * (`RECONCILIATION_REQUIRED`, `JOURNAL_REFUSED`) writes nothing and changes nothing; any other failure is permanent.
   * A started write completes or fails on its own, whoever stops waiting for it.
   */
  append(entries: readonly NewEntry[]): Promise<void>
  /** Where the evidence lies, or null for a log that keeps none. */
  readonly audit: AuditReference | null
}
