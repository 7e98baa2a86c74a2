/** Which run an inference belongs to, as far as an observer can tell: its subject leads to a request, an id, and a claim. */
import type { EventOf } from '../../../events/index.ts'
import { claimKey, type Evidence, SCOPE_OF } from './evidence.ts'
import type { Scenario } from './law.ts'
import { factsOf } from './run-facts.ts'
import type { Seen } from './seen.ts'

export interface OpenReservation {
  readonly id: string
  readonly hash: string
  /** The run that asks, and the one whose journal counts its tokens. */
  readonly runId: string
  readonly rootId: string
}

export class AskedRuns {
  readonly #ids = new Map<string, string>()
  readonly #requestOf: Scenario['requestOf']

  constructor({ requestOf }: Pick<Scenario, 'requestOf'>) {
    this.#requestOf = requestOf
  }

  /** Takes in what clients asked for. */
  see(seen: Seen): void {
    if (seen.kind === 'Asked' && seen.surface === 'chat' && seen.id !== null) this.#ids.set(seen.request, seen.id)
  }

  /** The run that a request is answered by; null where nobody asked for it, or no claim names one. */
  rootOf(subject: string, { claims }: Evidence): string | null {
    const id = this.#ids.get(this.#requestOf(subject) ?? '')
    return id === undefined ? null : (claims.get(claimKey(SCOPE_OF.chat ?? '', id))?.runId ?? null)
  }

  /** The open reservations that this inference may have been made with. */
  reservationsFor(
    { subject, requestHash }: Extract<Seen, { kind: 'InferenceBegan' }>,
    evidence: Evidence,
  ): readonly OpenReservation[] {
    const rootId = this.rootOf(subject, evidence)
    const isRoot = this.#requestOf(subject) === subject
    return openReservations(evidence).filter((open) => {
      if (requestHash !== undefined && open.hash !== requestHash) return false
      return rootId === null || (open.rootId === rootId && (open.runId === rootId) === isRoot)
    })
  }
}

function openReservations({ journals }: Evidence): readonly OpenReservation[] {
  return [...journals.values()].flatMap((journal) =>
    factsOf(journal).openReservations.map((reservation) => shown(reservation, journal.runId)),
  )
}

type Reservation = EventOf<'BudgetReservationStarted'>['reservation']

function shown({ id, request_hash, audit }: Reservation, rootId: string): OpenReservation {
  return { id, hash: request_hash, runId: audit?.run_id ?? rootId, rootId }
}
