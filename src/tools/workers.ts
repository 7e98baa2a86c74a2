/**
 * Workers: the tool calls that are at work, by run. A call whose signal fires is given up at once and its late answer is
 * swallowed, because a tool may ignore its signal; but it stays listed until it is really gone, so that cleaning up a run
 * waits for it (the caller of `cleanUp` sets the bound).
 */
import { assert, Fault } from '../core/index.ts'
import { endsSoon } from '../world/index.ts'

export type WorkOutcome<T> =
  | { readonly kind: 'Done'; readonly value: T }
  | { readonly kind: 'Threw'; readonly error: unknown }
  /** The signal fired, or the run was cancelled: nobody knows what the work did. */
  | { readonly kind: 'Stopped'; readonly reason: unknown }

type Worker = { readonly stop: AbortController; readonly gone: Promise<unknown> }

export class Workers {
  readonly #runs = new Map<string, Set<Worker>>()

  async perform<T>(
    runKey: string,
    work: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<WorkOutcome<T>> {
    assert(!signal.aborted, 'work starts only while its signal is silent')
    const stop = new AbortController()
    const forward = (): void => stop.abort(signal.reason)
    const finished = outcomeOf(work, stop.signal)
    this.#list(runKey, { stop, gone: finished })
    const soon = await endsSoon(finished) // then nobody needs to listen
    if (signal.aborted) forward()
    if (stop.signal.aborted) return { kind: 'Stopped', reason: stop.signal.reason }
    if (soon) return await finished
    const stopped = new Promise<WorkOutcome<T>>((resolve) => {
      stop.signal.addEventListener('abort', () => resolve({ kind: 'Stopped', reason: stop.signal.reason }), {
        once: true,
      })
    })
    signal.addEventListener('abort', forward, { once: true })
    try {
      return await Promise.race([stopped, finished])
    } finally {
      signal.removeEventListener('abort', forward)
    }
  }

  /** Tells every worker of the run to stop, and waits for none. */
  cancel(runKey: string): void {
    const reason = new Fault('RUN_CANCELLED', { message: 'Cannot go on with the call: its run was cancelled' })
    for (const { stop } of this.#runs.get(runKey) ?? []) stop.abort(reason)
  }

  /** Waits until no worker of the run is left. */
  async cleanUp(runKey: string): Promise<void> {
    for (let workers = this.#runs.get(runKey); workers !== undefined; workers = this.#runs.get(runKey)) {
      await Promise.all([...workers].map(({ gone }) => gone))
    }
  }

  #list(runKey: string, worker: Worker): void {
    const workers = this.#runs.get(runKey) ?? new Set()
    this.#runs.set(runKey, workers.add(worker))
    void worker.gone.then(() => {
      workers.delete(worker)
      if (workers.size === 0) this.#runs.delete(runKey)
    })
  }
}

/** Never rejects, so that work nobody waits for any more cannot become an unhandled rejection. */
async function outcomeOf<T>(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<WorkOutcome<T>> {
  try {
    return { kind: 'Done', value: await work(signal) }
  } catch (error) {
    return { kind: 'Threw', error }
  }
}
