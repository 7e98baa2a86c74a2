/**
 * What a session is while it lives, for the steps that act on it: what it was opened with, where it stands, and how it stops.
 * Poison is permanent, and the first diagnostic is the one that is kept (12.5).
 */
import { type RunContext, runKeyOf, sessionBinding, type Toolbox } from '../calls/index.ts'
import { Fault, type Hash, millisecondsOf } from '../core/index.ts'
import { type LoopConfig, Recorder, type TerminationReason } from '../events/index.ts'
import { raceDeadline } from '../world/index.ts'
import { MeteredLog } from './metered-log.ts'
import { DEADLINE_PASSED } from './refusals.ts'
import type { SessionSetup } from './session.ts'
import { type CheckedSetup, checkSetup } from './start-checks.ts'
import { Turns } from './turns.ts'

export class SessionState {
  readonly setup: SessionSetup
  readonly checked: CheckedSetup
  readonly log: MeteredLog
  readonly context: RunContext
  readonly runKey: string
  /** The session as approvals know it: the same for all of its calls. */
  readonly binding: Hash
  readonly startedMs: number
  /** Monotonic. */
  readonly deadlineMs: number
  readonly turns = new Turns()
  readonly #stopping = new AbortController()
  readonly #listeners = new Set<() => void>()
  #poisoned = false
  #reason: string | null = null
  /** Calls that were attempted, refused ones included. */
  attempts = 0
  /** Of entries outside a call: the given one, later that of the last call that reached the dispatcher. */
  iteration: number
  readonly seen = new Set<string>()
  /** From the moment in which `close` has its turn. */
  closing = false
  /** What the host brought for its one action, from its admission on. */
  host: Toolbox | null = null
  /** Settles when the action of the host is over; null when none is active. */
  hostAction: Promise<void> | null = null
  /** Effects of the host outside the dispatcher that are neither completed nor given up. */
  readonly hostEffects = new Set<object>()
  /** What interrupted calls had staged. They cannot write any more, and what they knew is written with the end. */
  readonly leftovers: Recorder[] = []
  /** How the session ended, once that is durable. */
  termination: TerminationReason | null = null

  constructor(setup: SessionSetup) {
    const { world, principal, ageMs = 0 } = setup
    this.setup = setup
    this.checked = checkSetup(setup)
    const { config, trustedContext } = this.checked
    this.startedMs = world.clock.monotonicMs()
    this.deadlineMs = this.startedMs + millisecondsOf(config.timeout) - ageMs
    this.iteration = setup.iteration ?? 0
    this.log = new MeteredLog(setup.log)
    this.context = Object.freeze({
      agent_id: principal,
      started_at: world.clock.wall(),
      iteration: this.iteration,
      trusted_context: trustedContext,
      config,
    })
    this.runKey = runKeyOf(this.context)
    this.binding = sessionBinding(this.context)
  }

  get config(): LoopConfig {
    return this.checked.config
  }

  /** Aborted when the session is cancelled, poisoned or closed. */
  get stopped(): AbortSignal {
    return this.#stopping.signal
  }

  get poisoned(): boolean {
    return this.#poisoned
  }

  get failureReason(): string | null {
    return this.#reason
  }

  /** Calls back once when the session is stopped. Everybody who waits listens, and the platform warns of many on one signal. */
  onStop(listener: () => void): () => void {
    if (this.stopped.aborted) listener()
    else this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  isLate(): boolean {
    return this.setup.world.clock.monotonicMs() >= this.deadlineMs
  }

  /** What a call of this iteration is judged and bound by. */
  contextNow(config = this.config): RunContext {
    return Object.freeze({ ...this.context, iteration: this.iteration, config })
  }

  /** Every call writes through a recorder of its own, so that one that is interrupted can be fenced alone. */
  recorder(): Recorder {
    const { principal, world } = this.setup
    const recorder = new Recorder(this.log, principal, () => world.clock.wall())
    recorder.iteration = this.iteration
    return recorder
  }

  /** From here on whoever holds this recorder writes nothing, however late it comes back (12.9). */
  fence(recorder: Recorder): void {
    this.leftovers.push(recorder.handOver())
  }

  cancel(): void {
    if (this.isLate()) this.#reason ??= DEADLINE_PASSED
    this.#poisoned = true
    this.stop()
  }

  cancelWithReason(reason: string): void {
    this.#reason ??= reason
    this.cancel()
  }

  /** Tells everybody to stop, and poisons nothing by itself. Tools that fail to hear it are waited for by `close`. */
  stop(): void {
    this.#stopping.abort(new Fault('RUN_CANCELLED', { message: 'The tool session was stopped' }))
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
    for (const toolbox of [this.setup.toolbox, this.host]) {
      try {
        toolbox?.cancelRun(this.runKey, this.deadlineMs)
      } catch {
        // a cancellation reaches the other tools all the same
      }
    }
  }

  /**
   * Races work against the end of the session: stopped, then late, then done, and the earlier one wins a tie. Rejects with
   * what the work threw, or with the caller's reason when the caller went away.
   */
  async race<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<Raced<T>> {
    const { clock } = this.setup.world
    let late: Fault | null = null
    const tooLate = (): Fault => {
      late = new Fault('RUN_TIMEOUT', { message: 'The tool session reached its time limit' })
      return late
    }
    const stop = new AbortController()
    const deaf = this.onStop(() => stop.abort(this.stopped.reason))
    try {
      stop.signal.throwIfAborted()
      const race = { clock, deadlineMs: this.deadlineMs, late: tooLate, stop, long: true } as const
      const value = await raceDeadline(race, signal, work)
      if (this.stopped.aborted) return { kind: 'Stopped' }
      return this.isLate() ? { kind: 'Late' } : { kind: 'Done', value }
    } catch (error) {
      if (this.stopped.aborted) return { kind: 'Stopped' }
      signal.throwIfAborted()
      if (late !== null && error === late) return { kind: 'Late' }
      throw error
    } finally {
      deaf()
    }
  }
}

export type Raced<T> =
  | { readonly kind: 'Done'; readonly value: T }
  /** The session was cancelled or closed. */
  | { readonly kind: 'Stopped' }
  | { readonly kind: 'Late' }
