/**
 * The signature checks of one verification: nine tenths of its cost. They run here, or in threads beside this one where
 * enough of them are left to pay for threads. Answers are taken in the order of the records, so the first bad record is the
 * one that is told.
 */
import { type PublicKey, SignatureThreads } from '../keys/index.ts'
import type { World } from '../world/index.ts'
import { invalidRecord, type SignedPayload } from './record.ts'

/** Checks that take longer than a thread needs to come up. */
const RECORDS_A_THREAD = 400
/** This thread reads what they check, and cannot feed more. */
const THREADS_MAX = 8

/** Checks made here between two turns for others: some milliseconds. */
const AT_ONCE = 32

interface Run {
  readonly first: number
  readonly records: readonly SignedPayload[]
  /** Null where this thread is to check. */
  readonly answers: Promise<readonly boolean[]> | null
}

export class Signatures implements Disposable {
  readonly #world: World
  readonly #key: PublicKey
  readonly #threadsMax: number
  #threads: SignatureThreads | null = null
  #runs: Run[] = []

  /** With 1, all work stays on this thread. */
  constructor(world: World, key: PublicKey, threads = world.threads.spare + 1) {
    this.#world = world
    this.#key = key
    this.#threadsMax = Math.min(threads, THREADS_MAX)
  }

  /** Told how many records seem to be left. */
  expect(records: number): void {
    const count = Math.min(this.#threadsMax, Math.floor(records / RECORDS_A_THREAD))
    if (count > 1) this.#threads ??= new SignatureThreads(this.#world.threads, this.#key, count)
  }

  /** Asks about a run of records. Many in a row, because each change between parsing and curve arithmetic costs. */
  ask(records: readonly SignedPayload[], first: number): void {
    this.#runs.push({ first, records, answers: this.#threads?.take(records) ?? null })
  }

  /** Records before this one are to be settled now: of the runs behind them the threads can take one more. */
  get due(): number {
    const out = Math.max(0, (this.#threads?.room ?? 0) - 1)
    return this.#runs.at(Math.max(0, this.#runs.length - out))?.first ?? Number.POSITIVE_INFINITY
  }

  /** Waits for the answers about all records before this one. Throws `EVIDENCE_INVALID` for the first that is bad. */
  async settle(end: number): Promise<void> {
    for (let run = this.#runs[0]; run !== undefined && run.first < end; run = this.#runs[0]) {
      this.#runs.shift()
      const { first, records, answers } = run
      const due = records.slice(0, end - first)
      const bad = answers === null ? await this.#firstBad(due) : (await answers).indexOf(false)
      if (bad === -1 || bad >= due.length) continue
      throw invalidRecord(first + bad, 'its signature does not fit the payload and the given key')
    }
  }

  [Symbol.dispose](): void {
    this.#threads?.stop()
  }

  async #firstBad(records: readonly SignedPayload[]): Promise<number> {
    for (const [index, { payload, signature }] of records.entries()) {
      if (index > 0 && index % AT_ONCE === 0) await this.#world.clock.yield()
      if (!this.#key.verifies(payload, signature)) return index
    }
    return -1
  }
}
