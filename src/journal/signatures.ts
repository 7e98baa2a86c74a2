/**
 * The signature checks of one verification: nine tenths of its cost. They run here, and where enough of them are left to pay for
 * threads, in threads beside this one as well: what no thread has room for is checked here at once, so that nobody waits for the
 * other. Answers are taken in the order of the records, so the first bad record is the one that is told.
 */
import { type PublicKey, SignatureThreads } from '../keys/index.ts'
import type { World } from '../world/index.ts'
import { invalidRecord, type SignedPayload } from './record.ts'

/** Checks that take longer than a thread needs to come up. */
const RECORDS_A_THREAD = 400
/** This one among them: it reads what they check, and cannot feed more. */
const THREADS_MAX = 8
/** Runs that wait here behind one that a thread holds back, for each that the threads have room for. */
const BEHIND_MAX = 4

/** Checks made here behind a turn for others: some milliseconds. */
const AT_ONCE = 32

interface Run {
  readonly first: number
  readonly records: readonly SignedPayload[]
  /** Null where this thread is to check. */
  readonly answers: Promise<readonly boolean[]> | null
  /** The place of the first bad one, -1 where all are good; null while nobody knows. */
  firstBad: number | null
}

export class Signatures implements Disposable {
  readonly #world: World
  readonly #key: PublicKey
  readonly #threadsMax: number
  #threads: SignatureThreads | null = null
  readonly #runs: Run[] = []

  /** With 1, all work stays on this thread. */
  constructor(world: World, key: PublicKey, threads = world.threads.spare + 1) {
    this.#world = world
    this.#key = key
    this.#threadsMax = Math.min(threads, THREADS_MAX)
  }

  /** Told how many records seem to be left. */
  expect(records: number): void {
    const count = Math.min(this.#threadsMax, Math.floor(records / RECORDS_A_THREAD))
    if (count > 1) this.#threads ??= new SignatureThreads(this.#world.threads, this.#key, count - 1)
  }

  /** Asks about a run of records. Many in a row, because each change between parsing and curve arithmetic costs. */
  ask(records: readonly SignedPayload[], first: number): void {
    const answers = this.#threads?.take(records) ?? null
    const run: Run = { first, records, answers, firstBad: null }
    this.#runs.push(run)
    void answers?.then((fits) => {
      run.firstBad = fits.indexOf(false)
    })
  }

  /**
   * Checks the newest run here if no thread took it, and settles what is known then. Gives the first record that is not settled,
   * infinity where all are. Throws as `settle`.
   */
  async advance(): Promise<number> {
    const newest = this.#runs.at(-1)
    if (newest?.answers === null) newest.firstBad ??= await this.#firstBadOf(newest.records)
    const behindMax = BEHIND_MAX * (this.#threads?.room ?? 0)
    for (let run = this.#runs[0]; run !== undefined; run = this.#runs[0]) {
      if (run.firstBad === null && this.#runs.length <= behindMax) return run.first
      await this.settle(run.first + run.records.length)
    }
    return Number.POSITIVE_INFINITY
  }

  /** Waits for the answers about all records before this one. Throws `EVIDENCE_INVALID` for the first that is bad. */
  async settle(end: number): Promise<void> {
    for (let run = this.#runs[0]; run !== undefined && run.first < end; run = this.#runs[0]) {
      this.#runs.shift()
      const { first, records, answers } = run
      const due = records.slice(0, end - first)
      const bad = run.firstBad ?? (answers === null ? await this.#firstBadOf(due) : (await answers).indexOf(false))
      if (bad === -1 || bad >= due.length) continue
      throw invalidRecord(first + bad, 'its signature does not fit the payload and the given key')
    }
  }

  [Symbol.dispose](): void {
    this.#threads?.stop()
  }

  async #firstBadOf(records: readonly SignedPayload[]): Promise<number> {
    for (const [index, { payload, signature }] of records.entries()) {
      if (index % AT_ONCE === 0) await this.#world.clock.yield()
      if (!this.#key.verifies(payload, signature)) return index
    }
    return -1
  }
}
