/**
 * How many journals go on in one turn of the event loop. Of many that write at once many become durable at once, and behind each
 * a run has its next step to take: all of them in one turn would hold the thread for long, so they go on a few at a time, in the
 * order in which they came.
 */
import type { Clock } from '../world/index.ts'

/** Journals at work at once, from which on somebody may have to wait. */
const CROWD = 5
/** Journals that go on in one turn. */
const TURN_JOURNALS = 8

export class Pace {
  readonly #clock: Pick<Clock, 'yield'>
  readonly #waiting: (() => void)[] = []
  #atWork = 0
  #left = TURN_JOURNALS
  #turning = false

  constructor(clock: Pick<Clock, 'yield'>) {
    this.#clock = clock
  }

  /** A journal begins to write. Each begin has its `end`. */
  begin(): void {
    this.#atWork += 1
  }

  /** Calls back when it is this journal's turn: at once, unless many others had theirs. */
  end(goOn: () => void): void {
    this.#atWork -= 1
    if (this.#atWork + this.#waiting.length < CROWD) goOn()
    else this.#pass(goOn)
  }

  #pass(goOn: () => void): void {
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
      this.#left = TURN_JOURNALS
      while (this.#left > 0 && this.#waiting.length > 0) {
        this.#left -= 1
        this.#waiting.shift()?.()
      }
    } while (this.#left < TURN_JOURNALS)
    this.#turning = false
  }
}

const paces = new WeakMap<object, Pace>()

/** The pace of all journals that share this clock, and so this thread. */
export function paceOf(clock: Clock): Pace {
  const known = paces.get(clock)
  if (known !== undefined) return known
  const pace = new Pace(clock)
  paces.set(clock, pace)
  return pace
}
