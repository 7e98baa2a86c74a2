/**
 * One reservation: tokens held back for one inference, from the moment they are counted until their use is known.
 *
 * Owns the order: the start is durable in the root's journal before the provider may be asked (law 1), and the settlement
 * is staged there once the answer is in. Leaves the arithmetic to the ledger and the verdict to `settlement.ts`.
 * What cannot be proved stays charged (law 3): an abort, a drop or a lost write never gives a token back.
 */
import { assert, isFault } from '../core/index.ts'
import { type InferenceReservation, NO_USAGE, type Recorder, type Usage } from '../events/index.ts'
import type { Ledger } from './ledger.ts'
import { closed, exceeded, givenUp } from './refusals.ts'
import { amountOf, chargeOf, outcomeOf, recordableUsage, type SettlementOutcome } from './settlement.ts'

export interface Reservation {
  readonly record: InferenceReservation
  /** What the model may write at most: asked for, or less where less is available. */
  readonly outputTokens: number
  /**
   * Commits `BudgetReservationStarted` together with everything staged on the root's recorder; the provider may be asked
   * only after this resolved. When the write fails or is refused, all ancestors are closed and the failure is thrown. An
   * abort during the write throws its reason at once, and the charge stays uncertain [B2].
   */
  begin(signal: AbortSignal): Promise<void>
  /**
   * Stages `BudgetReservationFinished` on the root's recorder. Throws `BUDGET_CLOSED` when the response must be refused:
   * the report exceeds the reservation, an ancestor is closed, or the journal is lost. After the abort of the signal given
   * to `begin` it writes nothing and throws the reason. An entry that is lost later closes all ancestors, and the full
   * amount becomes uncertain [B3].
   */
  settle(usage: Usage): 'confirmed' | 'unknown'
  /** Gives the reservation up. Never asked: refunded; otherwise uncertain. Writes nothing, and is safe to call at any time. */
  release(): void
}

/**
 * held      only in memory
 * starting  the start is being written
 * asked     the start is durable: the provider may have been asked
 * doubtful  given up after the write began: uncertain, and no settlement stands in the journal
 * over      settled, refunded, or without a start that could be settled
 */
type State = 'held' | 'starting' | 'asked' | 'doubtful' | 'over'

export interface ReservationParts {
  readonly ledger: Ledger
  readonly recorder: Recorder
  readonly scope: number
  readonly record: InferenceReservation
  /** Told once, when nothing is left to settle. */
  readonly over: (reservation: HeldReservation) => void
}

export class HeldReservation implements Reservation {
  readonly record: InferenceReservation
  readonly outputTokens: number
  readonly #ledger: Ledger
  readonly #recorder: Recorder
  readonly #scope: number
  readonly #amount: number
  readonly #over: (reservation: HeldReservation) => void
  readonly #drop = (): void => this.release()
  #state: State = 'held'
  #signal: AbortSignal | null = null
  #start: Promise<void> | null = null
  #durable = false
  #abandoned = false

  /** Holds the amount; the caller has checked that it is available. */
  constructor(parts: ReservationParts) {
    this.record = parts.record
    this.outputTokens = parts.record.output_tokens
    this.#ledger = parts.ledger
    this.#recorder = parts.recorder
    this.#scope = parts.scope
    this.#amount = amountOf(parts.record)
    this.#over = parts.over
    this.#ledger.hold(this.#scope, this.#amount)
  }

  async begin(signal: AbortSignal): Promise<void> {
    assert(this.#signal === null, 'a reservation begins once')
    if (this.#state !== 'held') throw givenUp('ask the model')
    if (signal.aborted || this.#ledger.closed(this.#scope)) {
      this.release() // nobody will ask with it, and a balance must not name what no journal holds
      throw signal.aborted ? signal.reason : closed('ask the model')
    }
    this.#signal = signal
    this.#state = 'starting'
    const start = this.#writeStart()
    this.#start = start
    signal.addEventListener('abort', this.#drop, { once: true })
    await unlessAborted(start, signal)
    if (this.#stateNow() !== 'asked') throw givenUp('ask the model')
    if (this.#ledger.closed(this.#scope)) {
      this.#finish(NO_USAGE, 'unknown') // closed during the write and never asked: a conclusion, so the run needs no review
      throw closed('ask the model')
    }
  }

  settle(usage: Usage): 'confirmed' | 'unknown' {
    if (this.#signal?.aborted === true) throw this.#signal.reason // fenced: the run no longer waits for this answer
    if (this.#abandoned || this.#state === 'doubtful') throw givenUp('use the reply of the model')
    assert(this.#state === 'asked', 'a reservation is settled once, after it began')
    const reported = recordableUsage(usage)
    const outcome = outcomeOf(this.record, reported)
    this.#finish(reported, outcome)
    if (outcome === 'exceeded') throw exceeded(this.record, reported)
    if (this.#ledger.closed(this.#scope)) throw closed('use the reply of the model')
    return outcome
  }

  release(): void {
    if (this.#state === 'held') {
      this.#ledger.refund(this.#scope, this.#amount)
      this.#end()
    } else if (this.#state === 'starting' || this.#state === 'asked') {
      this.#ledger.doubt(this.#scope, this.#amount)
      this.#state = 'doubtful'
    }
  }

  /**
   * The run reached its time limit: an open start is settled as `unknown`. Where the start is still being written this
   * happens after the write, because a settlement without its start would spoil the evidence.
   */
  async abandon(): Promise<void> {
    this.#abandoned = true
    this.release()
    if (this.#durable) this.#settleAbandoned()
    await Promise.allSettled([this.#start])
  }

  async #writeStart(): Promise<void> {
    try {
      await this.#recorder.commit({ kind: 'BudgetReservationStarted', reservation: this.record })
    } catch (error) {
      this.#ledger.close(this.#scope)
      if (this.#state === 'starting') {
        const nothingWritten = isFault(error, 'RECONCILIATION_REQUIRED', 'JOURNAL_REFUSED')
        if (nothingWritten) this.#ledger.refund(this.#scope, this.#amount)
        else this.#ledger.doubt(this.#scope, this.#amount) // a failed sync may have left the entry in the file
      }
      this.#end()
      throw error
    }
    this.#durable = true
    if (this.#state === 'starting') this.#state = 'asked'
    if (this.#abandoned) this.#settleAbandoned()
  }

  #settleAbandoned(): void {
    if (this.#state === 'doubtful') this.#finish(NO_USAGE, 'unknown')
  }

  /** Books the outcome and stages its entry. A charge that became uncertain before stays so. */
  #finish(usage: Usage, outcome: SettlementOutcome): void {
    const charge = chargeOf(usage)
    if (outcome !== 'unknown') this.#ledger.charge(this.#scope, this.#amount, charge)
    else if (this.#state === 'asked') this.#ledger.doubt(this.#scope, this.#amount)
    if (outcome === 'exceeded') this.#ledger.close(this.#scope)
    this.#end()
    const { root_id, id: reservation_id } = this.record
    this.#recorder.stage({ kind: 'BudgetReservationFinished', root_id, reservation_id, usage, outcome }, (fate) => {
      if (fate === 'durable') return
      if (outcome !== 'unknown') this.#ledger.retract(this.#scope, this.#amount, charge)
      this.#ledger.close(this.#scope)
    })
  }

  #end(): void {
    this.#state = 'over'
    this.#signal?.removeEventListener('abort', this.#drop)
    this.#over(this)
  }

  /** The state as it is after an await, where the compiler still believes what it saw before. */
  #stateNow(): State {
    return this.#state
  }
}

/** Waits for the work until the signal aborts, and throws its reason then. The work goes on by itself (0.4). */
function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    const settled = (): void => signal.removeEventListener('abort', stop)
    void work.then(resolve, reject).then(settled)
  })
}
