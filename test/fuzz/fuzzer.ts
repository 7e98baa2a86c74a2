/**
 * The loop: an input of the corpus is changed and run; where it takes a way that none took before, it is made smaller and
 * joins the corpus; where it breaks the property, it is made smaller and is a finding. Everything comes from one seed.
 */
import fc from 'fast-check'
import { type Chance, chanceOf } from '../support/hostile/chance.ts'
import { isCounting, Seen, startTrail, type Trail, trail } from './coverage.ts'
import { mutate } from './mutate.ts'
import { type Opened, type Target, Violation } from './target.ts'

export interface FuzzOptions {
  readonly seed: number
  /** The corpus as it was kept; run before anything else. */
  readonly kept: readonly Uint8Array[]
  /** Inputs to try after the corpus. */
  readonly runs: number
  /** Asked now and then: whether the time is over. */
  readonly isOver?: () => boolean
  /** Told of every input before it runs: one that never ends can then be named. */
  readonly before?: (input: Uint8Array) => void
  readonly progress?: (state: FuzzResult) => void
}

export interface Finding {
  readonly input: Uint8Array
  readonly error: unknown
}

export interface FuzzResult {
  readonly runs: number
  /** All inputs that took a way of their own. Those that were kept come first. */
  readonly corpus: readonly Uint8Array[]
  /** How many of those that were kept took a way of their own. */
  readonly ofKept: number
  readonly edges: number
  /** The most steps that a byte of an input of at least 64 bytes cost. */
  readonly stepsPerByte: number
  readonly findings: readonly Finding[]
}

/** Enough to see what is wrong; the rest is most often more of the same. */
const FINDINGS_MAX = 5
/** Tries that making one input smaller may cost. */
const SMALLER_TRIES_MAX = 160
const TELL_EVERY = 256

export async function fuzz(target: Target, options: FuzzOptions): Promise<FuzzResult> {
  await using opened = await target.open()
  const hunt = new Hunt(target, opened, options)
  for (const input of options.kept) await hunt.try(input, 'as it is')
  hunt.ofKept = hunt.corpus.length
  for (const input of seedsOf(target)) await hunt.try(input, 'as it is')
  const chance = chanceOf(options.seed)
  const words = (target.words ?? []).map((word) => Buffer.from(word))
  const grown = target.fresh === undefined ? null : sampler(target.fresh, options.seed)
  for (let run = 0; run < options.runs; run += 1) {
    if (run % TELL_EVERY === 0) {
      options.progress?.(hunt.result())
      if (options.isOver?.() === true) break
    }
    if (hunt.findings.length >= FINDINGS_MAX) break
    const material = { inputs: hunt.corpus, words, bytesMax: target.bytesMax }
    const isFresh = grown !== null && chance(8) === 0
    const input = isFresh ? grown() : mutate(chosen(hunt.corpus, chance), material, chance)
    await hunt.try(input.subarray(0, target.bytesMax), 'smaller')
  }
  return hunt.result()
}

/** Runs one input. Throws what the target throws, or a Violation where it took too many steps. */
export async function runOne(target: Target, opened: Opened, input: Uint8Array): Promise<Trail> {
  startTrail()
  const running = opened.run(input)
  if (running !== undefined) await running
  const taken = trail()
  const allowed = target.steps.fixed + target.steps.perByte * input.length
  if (taken.steps <= allowed) return taken
  throw new Violation(`${input.length} bytes cost ${taken.steps} steps, and ${allowed} are allowed`)
}

export function seedsOf({ seeds }: Target): readonly Uint8Array[] {
  return seeds.map((seed) => (typeof seed === 'string' ? Buffer.from(seed) : seed))
}

class Hunt {
  readonly corpus: Uint8Array[] = []
  ofKept = 0
  readonly findings: Finding[] = []
  readonly #target: Target
  readonly #opened: Opened
  readonly #options: FuzzOptions
  readonly #seen = new Seen()
  readonly #told = new Set<string>()
  #runs = 0
  #stepsPerByte = 0

  constructor(target: Target, opened: Opened, options: FuzzOptions) {
    this.#target = target
    this.#opened = opened
    this.#options = options
  }

  result(): FuzzResult {
    const { corpus, ofKept, findings } = this
    return { runs: this.#runs, corpus, ofKept, edges: this.#seen.edges, stepsPerByte: this.#stepsPerByte, findings }
  }

  async try(input: Uint8Array, how: 'as it is' | 'smaller'): Promise<void> {
    const ran = await this.#run(input)
    if (ran instanceof Broken) {
      if (this.#told.has(ran.kind)) return
      this.#told.add(ran.kind)
      const smallest = await this.#shrink(input, (other) => other instanceof Broken && other.kind === ran.kind)
      const again = await this.#run(smallest)
      this.findings.push({ input: smallest, error: again instanceof Broken ? again.error : ran.error })
      return
    }
    if (input.length >= 64) this.#stepsPerByte = Math.max(this.#stepsPerByte, ran.steps / input.length)
    const isGiven = how === 'as it is' && !isCounting() // without coverage nobody knows better than who gave it
    if (!isGiven && this.corpus.length > 0 && !this.#seen.isNew(ran)) return
    const news = this.#seen.news(ran)
    const small =
      how === 'as it is'
        ? input
        : await this.#shrink(input, (other) => !(other instanceof Broken) && hasAll(other, news))
    this.#seen.add(ran)
    this.corpus.push(Uint8Array.from(small))
  }

  async #run(input: Uint8Array): Promise<Trail | Broken> {
    this.#runs += 1
    this.#options.before?.(input)
    try {
      return await runOne(this.#target, this.#opened, input)
    } catch (error) {
      return new Broken(error)
    }
  }

  /** Takes pieces out, halves first, for as long as what is left is still as wanted. */
  async #shrink(input: Uint8Array, isWanted: (ran: Trail | Broken) => boolean): Promise<Uint8Array> {
    let small = input
    let tries = 0
    for (let size = small.length >> 1; size >= 1; size >>= 1) {
      for (let at = 0; at + size <= small.length; ) {
        if (tries >= SMALLER_TRIES_MAX) return small
        tries += 1
        const less = Buffer.concat([small.subarray(0, at), small.subarray(at + size)])
        if (isWanted(await this.#run(less))) small = less
        else at += size
      }
    }
    return small
  }
}

/** What an input broke. Two are of one kind when their messages differ in numbers and quotations only. */
class Broken {
  readonly kind: string
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
    const words = error instanceof Error ? `${error.name} ${error.message}` : String(error)
    this.kind = words.replace(/"[^"]*"|\d+/g, '#').slice(0, 80)
  }
}

function hasAll(ran: Trail, marks: readonly number[]): boolean {
  const own = new Set(ran.marks)
  return marks.every((mark) => own.has(mark))
}

/** Half of the time one of the newest: they lead to where nobody was. */
function chosen(corpus: readonly Uint8Array[], chance: Chance): Uint8Array {
  const newest = Math.min(corpus.length, 16)
  const at = chance(2) === 0 ? corpus.length - 1 - chance(newest) : chance(corpus.length)
  return corpus[at] as Uint8Array
}

/** Values of the generator, a batch at a time. */
function sampler(fresh: NonNullable<Target['fresh']>, seed: number): () => Uint8Array {
  let batch: (string | Uint8Array)[] = []
  let count = 0
  return () => {
    if (batch.length === 0) {
      count += 1
      batch = fc.sample(fresh, { seed: seed * 1000 + count, numRuns: 64 })
    }
    const value = batch.pop() as string | Uint8Array
    return typeof value === 'string' ? Buffer.from(value) : value
  }
}
