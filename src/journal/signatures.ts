/**
 * The signature checks of one verification: nine tenths of its cost. They run here, and where enough of them are left to
 * pay for threads, in threads beside this one as well: what no thread has room for is checked here meanwhile, so that this
 * one waits only where too much has piled up behind them. Answers are taken in the order of the records, so the first bad
 * record is the one that is told.
 */
import { type PublicKey, SignatureThreads } from '../keys/index.ts'
import type { World } from '../world/index.ts'
import { invalidRecord, type SignedPayload } from './record.ts'

/** Checks that take longer than a thread needs to come up. */
const RECORDS_A_THREAD = 400
/** This one among them: it reads what they check, and cannot feed more. */
const THREADS_MAX = 8
/**
 * Runs that are kept for each that the threads have room for, before this one waits for the oldest. Who checks as fast as they
 * do is two ahead; with twice that, a thread may lose its processor for a moment. A visitor's entries are held so long.
 */
const KEPT_A_PLACE = 4

/** Checks made here in one turn: some milliseconds. Others go first. */
const CHECKS_A_TURN = 32

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
  readonly #besideMax: number
  #threads: SignatureThreads | null = null
  readonly #runs: Run[] = []
  #settled = 0

  /** Threads count this one; with 1, all work stays here. */
  constructor(world: World, key: PublicKey, threads = world.threads.spare + 1) {
    this.#world = world
    this.#key = key
    this.#besideMax = Math.min(threads, THREADS_MAX) - 1
  }

  /** Starts threads, once, where so many records pay for them. */
  startThreadsFor(recordsLeft: number): void {
    const count = Math.min(this.#besideMax, Math.floor(recordsLeft / RECORDS_A_THREAD) - 1)
    if (count > 0) this.#threads ??= new SignatureThreads(this.#world.threads, this.#key, count)
  }

  /** Asks about a run of records. Many in a row, because each change between parsing and curve arithmetic costs. */
  ask(records: readonly SignedPayload[], first: number): void {
    if (records.length === 0) return
    const answers = this.#threads?.take(records) ?? null
    const run: Run = { first, records, answers, firstBad: null }
    this.#runs.push(run)
    const take = (fits: readonly boolean[]): void => {
      run.firstBad = fits.indexOf(false)
    }
    void answers?.then(take, () => undefined) // who settles it hears why there is no answer
  }

  /**
   * For behind each `ask`: checks the newest run here if no thread took it, and settles what is known then. Throws as
   * `settle`.
   */
  async advance(): Promise<void> {
    const newest = this.#runs.at(-1)
    if (newest?.answers === null) newest.firstBad ??= await this.#firstBadOf(newest.records)
    const keptMax = KEPT_A_PLACE * (this.#threads?.room ?? 0)
    for (let run = this.#runs[0]; run !== undefined; run = this.#runs[0]) {
      if (run.firstBad === null && this.#runs.length <= keptMax) return
      await this.settle(run.first + run.records.length)
    }
  }

  /** Every record before this one is settled. */
  get settled(): number {
    return this.#settled
  }

  /**
   * Waits for the answers about all records before this one. Throws `EVIDENCE_INVALID` for the first that is bad. A run that
   * goes on behind `end` is over with that, so `end` lies within one only for who stops there.
   */
  async settle(end: number): Promise<void> {
    for (let run = this.#runs[0]; run !== undefined && run.first < end; run = this.#runs[0]) {
      this.#runs.shift()
      const { first, records, answers } = run
      const due = records.slice(0, end - first)
      const bad = run.firstBad ?? (answers === null ? await this.#firstBadOf(due) : (await answers).indexOf(false))
      const isGood = bad === -1 || bad >= due.length
      this.#settled = first + (isGood ? due.length : bad)
      if (isGood) continue
      throw invalidRecord(first + bad, 'its signature does not fit the payload and the given key')
    }
  }

  [Symbol.dispose](): void {
    this.#threads?.stop()
  }

  async #firstBadOf(records: readonly SignedPayload[]): Promise<number> {
    for (const [index, { payload, signature }] of records.entries()) {
      if (index % CHECKS_A_TURN === 0) await this.#world.clock.yield()
      if (!this.#key.verifies(payload, signature)) return index
    }
    return -1
  }
}
