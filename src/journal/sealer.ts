/**
 * Where the lines of a key's journals are signed: here, as long as few of them write at once, because a message to another
 * thread takes as long as a signature; in a thread of their own when many do, because then signatures are a quarter of what
 * this one has to do. And how many of those journals go on in one turn of this thread, so that it is never held for long.
 *
 * The thread shares the key while a journal of it is open, and is stopped with the last. One that dies is not replaced:
 * what it had not answered is signed here, so no line is lost and none is signed twice in different words. Without spare
 * threads all of it stays here.
 */
import type { HexHash } from '../core/index.ts'
import type { SigningKey } from '../keys/index.ts'
import type { Clock, SideThread, World } from '../world/index.ts'
import { type Batch, COMPLETING, type CompletedBatch, complete } from './blank-lines.ts'
import { SIGNED_PLACES } from './record.ts'

export interface Sealed {
  readonly lines: readonly Buffer[]
  /** Of the last line. */
  readonly hash: HexHash
}

/** Journals at work at once, from which on a thread is worth its messages; and how often that must have been so. */
const CROWD = 5
const CROWDED_GROUPS = 64
/** Journals that go on in one turn. */
const TURN_GROUPS = 8
/** Lines of one message: the others of a crowd need not wait for all. */
const BATCH_LINES_MAX = 64

interface Job {
  readonly lines: readonly Buffer[]
  readonly previousHash: HexHash
  readonly done: (sealed: Sealed) => void
  readonly failed: (error: unknown) => void
}

export class Sealer {
  readonly #world: Pick<World, 'clock' | 'threads'>
  readonly #key: SigningKey
  readonly #over: () => void
  #journals = 0
  #atWork = 0
  #crowded = 0
  #thread: SideThread | null = null
  #ready = false
  #jobs: Job[] = []
  readonly #pace: Pace

  constructor(world: Pick<World, 'clock' | 'threads'>, key: SigningKey, over: () => void) {
    this.#world = world
    this.#key = key
    this.#over = over
    this.#pace = new Pace(world.clock)
  }

  open(): void {
    this.#journals += 1
  }

  async close(): Promise<void> {
    this.#journals -= 1
    if (this.#journals > 0) return
    this.#over()
    this.#ready = false
    await this.#thread?.stop()
  }

  /** A journal begins to write. True: its lines are to be built blank and sealed by `seal`. Each begin has its `end`. */
  begin(): boolean {
    this.#atWork += 1
    if (this.#atWork + this.#pace.waiting < CROWD) return false
    this.#crowded += 1
    if (this.#crowded === CROWDED_GROUPS) this.#start()
    return this.#ready
  }

  /** Calls back when it is this journal's turn: at once, unless many others had theirs. */
  end(goOn: () => void): void {
    this.#atWork -= 1
    if (this.#atWork + this.#pace.waiting < CROWD) goOn()
    else this.#pace.pass(goOn)
  }

  seal(lines: readonly Buffer[], previousHash: HexHash): Promise<Sealed> {
    return new Promise((done, failed) => {
      this.#jobs.push({ lines, previousHash, done, failed })
      if (this.#jobs.length === 1) void this.#world.clock.yield().then(() => this.#send()) // with all that come until then
    })
  }

  #start(): void {
    const { spare, start } = this.#world.threads
    if (spare < 1 || start === undefined) return
    try {
      this.#thread = start(COMPLETING, { key: this.#key.handle, places: SIGNED_PLACES })
    } catch {
      return // the system gives no thread, and all stays here
    }
    void this.#thread.ready.then((ready) => {
      this.#ready = ready && this.#journals > 0
    })
  }

  #send(): void {
    const jobs = this.#jobs
    this.#jobs = []
    let batch: Job[] = []
    let lines = 0
    for (const job of jobs) {
      if (lines > 0 && lines + job.lines.length > BATCH_LINES_MAX) {
        void this.#complete(batch)
        batch = []
        lines = 0
      }
      batch.push(job)
      lines += job.lines.length
    }
    if (batch.length > 0) void this.#complete(batch)
  }

  async #complete(jobs: readonly Job[]): Promise<void> {
    const batch = batchOf(jobs)
    const completed = await this.#thread?.ask<CompletedBatch>(batch, [batch.bytes.buffer]).catch(() => null)
    if (completed === undefined || completed === null) {
      this.#ready = false
      for (const job of jobs) this.#completeHere(job)
      return
    }
    const { buffer, byteOffset } = completed.bytes
    let at = byteOffset
    for (const [index, { lines, done }] of jobs.entries()) {
      const length = lengthOf(lines)
      done({ lines: [Buffer.from(buffer, at, length)], hash: completed.hashes[index] as HexHash })
      at += length
    }
  }

  #completeHere({ lines, previousHash, done, failed }: Job): void {
    try {
      done({ lines, hash: complete(lines, previousHash, this.#key) })
    } catch (error) {
      failed(error)
    }
  }
}

function batchOf(jobs: readonly Job[]): Batch {
  const bytes = new Uint8Array(jobs.reduce((sum, { lines }) => sum + lengthOf(lines), 0))
  let at = 0
  const groups = jobs.map(({ lines, previousHash }) => ({
    previousHash,
    lengths: lines.map((line) => {
      bytes.set(line, at)
      at += line.length
      return line.length
    }),
  }))
  return { bytes, groups }
}

function lengthOf(lines: readonly Buffer[]): number {
  return lines.reduce((sum, { length }) => sum + length, 0)
}

/** Lets so many pass in one turn of the event loop, in the order in which they came. */
class Pace {
  readonly #clock: Clock
  readonly #waiting: (() => void)[] = []
  #left = TURN_GROUPS
  #turning = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get waiting(): number {
    return this.#waiting.length
  }

  pass(goOn: () => void): void {
    if (this.#left > 0) {
      this.#left -= 1
      goOn()
    } else this.#waiting.push(goOn)
    if (this.#turning) return
    this.#turning = true
    void this.#turn()
  }

  async #turn(): Promise<void> {
    do {
      await this.#clock.yield()
      this.#left = TURN_GROUPS
      while (this.#left > 0 && this.#waiting.length > 0) {
        this.#left -= 1
        this.#waiting.shift()?.()
      }
    } while (this.#left < TURN_GROUPS)
    this.#turning = false
  }
}

const sealers = new WeakMap<object, Map<string, Sealer>>()

/** The sealer of this key in this World; one for all of its journals that are open. Whoever gets it closes it. */
export function openSealer(world: Pick<World, 'clock' | 'threads'>, key: SigningKey): Sealer {
  const known = sealers.get(world.threads) ?? new Map<string, Sealer>()
  sealers.set(world.threads, known)
  const name = key.publicKey.hex
  const sealer = known.get(name) ?? new Sealer(world, key, () => void known.delete(name))
  known.set(name, sealer)
  sealer.open()
  return sealer
}
