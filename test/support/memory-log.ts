/**
 * An EventLog in memory whose failures are scripted: it can fail or refuse at the n-th entry, and a latch can hold an
 * append open for as long as a test needs. Appends are serialised, as they are in a journal.
 */
import { Fault } from '../../src/core/index.ts'
import type { AuditReference, Event, EventKind, EventLog, EventOf, NewEntry } from '../../src/events/index.ts'

export class MemoryLog implements EventLog {
  readonly audit: AuditReference | null
  /** Acknowledged entries, in order. */
  readonly entries: NewEntry[] = []
  /** How many entries each append brought: one sync each. */
  readonly appends: number[] = []
  #failure: { readonly at: number; readonly error: Error; readonly permanent: boolean } | null = null
  #dead: Error | null = null
  #tail: Promise<unknown> = Promise.resolve()
  #gate: Promise<void> = Promise.resolve()

  constructor(audit: AuditReference | null = null) {
    this.audit = audit
  }

  get events(): readonly Event[] {
    return this.entries.map(({ event }) => event)
  }

  kinds(): readonly EventKind[] {
    return this.events.map(({ kind }) => kind)
  }

  all<K extends EventKind>(kind: K): readonly EventOf<K>[] {
    return this.events.filter((event): event is EventOf<K> => event.kind === kind)
  }

  /** The append that brings the entry with this index (from 0) fails, and so does every later one. */
  failAt(index: number, error: Error = new Fault('STORAGE_FAILED', { message: 'Cannot write: scripted' })): void {
    this.#failure = { at: index, error, permanent: true }
  }

  /** The append that brings this entry is refused by rule, once: nothing is written, later ones are accepted. */
  refuseAt(index: number, code: 'RECONCILIATION_REQUIRED' | 'JOURNAL_REFUSED' = 'RECONCILIATION_REQUIRED'): void {
    this.#failure = { at: index, error: new Fault(code, { message: 'Cannot write: refused' }), permanent: false }
  }

  /** Holds appends open from now on until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = latch()
    this.#gate = promise
    return resolve
  }

  append(entries: readonly NewEntry[]): Promise<void> {
    const gate = this.#gate
    const turn = this.#tail.then(async () => {
      await gate
      this.#write(entries)
    })
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  #write(entries: readonly NewEntry[]): void {
    if (this.#dead !== null) throw new Fault('JOURNAL_FAILED', { message: 'Cannot write: an earlier write failed' })
    const failure = this.#failure
    if (failure !== null && failure.at < this.entries.length + entries.length) {
      this.#failure = null
      if (failure.permanent) this.#dead = failure.error
      throw failure.error
    }
    this.entries.push(...entries)
    this.appends.push(entries.length)
  }
}

function latch(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
