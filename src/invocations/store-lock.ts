/**
 * The lock of the whole store. It is held for an exclusive creation and for taking a claim lock, nothing longer, so that
 * nobody meets a claim between its creation and its locking.
 *
 * Callers of one process queue in memory and take the file's lock one after another: polling against each other would
 * make them wait for nothing. All waiting counts against the same two seconds.
 */
import { takeLock } from '../store/index.ts'
import type { World } from '../world/index.ts'

const WAIT_MS = 2000

export class StoreLock {
  readonly #world: World
  #last: Promise<unknown> = Promise.resolve()

  constructor(world: World) {
    this.#world = world
  }

  /** Runs `work` under the lock, or throws `STORAGE_BUSY`; the same id may be tried again later. */
  async hold<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const deadlineMs = this.#world.clock.monotonicMs() + WAIT_MS
    const mine = this.#last.then(async () => {
      signal.throwIfAborted()
      const leftMs = Math.max(0, Math.ceil(deadlineMs - this.#world.clock.monotonicMs()))
      await using _lock = await takeLock(this.#world, path, 'lock of the invocation store', leftMs, signal)
      return await work()
    })
    this.#last = mine.catch(() => undefined) // the next in line does not fail with us
    return await mine
  }
}
