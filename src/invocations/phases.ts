/**
 * The phases of an invocation's journal: one `Started`, then anything, then `Terminated`, and nothing behind it. `Started`
 * gains the invocation it belongs to, so that the evidence names its claim (a caller cannot: law 9).
 *
 * A refusal by phase changes nothing. Any append that the journal itself refuses or fails closes the log for good.
 */
import { Fault } from '../core/index.ts'
import type { AuditReference, Event, EventLog, NewEntry } from '../events/index.ts'
import type { Identity } from './identity.ts'

export type Phase = 'Ready' | 'Running' | 'Closed'

export function next(phase: Phase, event: Event): Phase {
  if (phase === 'Ready' && event.kind === 'Started') return 'Running'
  if (phase === 'Running' && event.kind !== 'Started') return event.kind === 'Terminated' ? 'Closed' : 'Running'
  throw new Fault('JOURNAL_REFUSED', {
    message: `Cannot write "${event.kind}" to the journal of this invocation: ${REASONS[phase]}`,
    hint: 'An invocation has one run: "Started" first and once, "Terminated" last',
  })
}

const REASONS: Readonly<Record<Phase, string>> = {
  Ready: 'its run has not started',
  Running: 'its run has started',
  Closed: 'its run has ended',
}

export interface InvocationLog extends EventLog {
  /** True once an append failed: what the file holds was not acknowledged, and is no ground for a result. */
  readonly failed: boolean
}

export function invocationLog(inner: EventLog, identity: Identity): InvocationLog {
  return new PhasedLog(inner, identity)
}

class PhasedLog implements InvocationLog {
  readonly #inner: EventLog
  readonly #identity: Identity
  #phase: Phase = 'Ready'
  #failure: { readonly cause: unknown } | null = null

  constructor(inner: EventLog, identity: Identity) {
    this.#inner = inner
    this.#identity = identity
  }

  get audit(): AuditReference | null {
    return this.#inner.audit
  }

  get failed(): boolean {
    return this.#failure !== null
  }

  async append(entries: readonly NewEntry[]): Promise<void> {
    if (this.#failure !== null) {
      throw new Fault('JOURNAL_FAILED', {
        message: 'Cannot write to the journal of this invocation: an earlier append failed',
        hint: 'Keep the journal as evidence; the invocation stays unresolved',
        cause: this.#failure.cause,
      })
    }
    let phase = this.#phase
    for (const { event } of entries) phase = next(phase, event)
    this.#phase = phase // the journal keeps the order of its callers, so the next list is judged behind this one
    try {
      await this.#inner.append(entries.map((entry) => this.#bound(entry)))
    } catch (cause) {
      this.#phase = 'Closed'
      this.#failure = { cause }
      throw cause
    }
  }

  #bound(entry: NewEntry): NewEntry {
    const { event } = entry
    if (event.kind !== 'Started') return entry
    const { id, scope, request_hash } = this.#identity
    const execution_context = { ...event.execution_context, invocation: { id, scope, request_hash } }
    return { ...entry, event: { ...event, execution_context } }
  }
}
