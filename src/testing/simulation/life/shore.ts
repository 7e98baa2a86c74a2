/** What every client of a life has: the network, the time, and somebody who writes down what it asked and was told. */
import type { Turns } from '../machine/turns.ts'
import type { Wire } from '../machine/wire.ts'
import type { Observer } from './observer.ts'

export interface Shore {
  readonly seed: number
  /** What its clients hold. */
  readonly token: string
  readonly turns: Turns
  readonly observer: Observer
  /** A connection to the server; null when nobody listens. */
  connect(): Wire | null
  /** A process of the client's own, which serves it alone. */
  start(): OwnProcess
  /** Whether some call waits for a person, as the files say. */
  isHeld(): boolean
  /** True when the life is about to end: then nothing new is begun. */
  readonly over: boolean
}

/** As whoever started a process holds it. */
export interface OwnProcess {
  /** The client's ends of its two streams. They close with the process. */
  readonly input: Wire
  readonly output: Wire
  /** It is asked to end. */
  stop(): void
  kill(): void
}

export function pause(shore: Shore, ms: number): Promise<void> {
  return shore.turns.perform(ms, null, 'a client waits', () => undefined)
}

/** A connection, as soon as somebody listens; null when nobody did for a long time. */
export async function connected(shore: Shore): Promise<Wire | null> {
  for (let tries = 0; tries < 120 && !shore.over; tries += 1) {
    const wire = shore.connect()
    if (wire !== null) return wire
    await pause(shore, 500)
  }
  return null
}

/** The answer of `work`, or null when it does not come in time. */
export function within<T>(shore: Shore, ms: number, work: Promise<T>): Promise<T | null> {
  return new Promise((resolve) => {
    const cancel = shore.turns.after(ms, null, 'a client gives up', () => resolve(null))
    void work.then((answer) => {
      cancel()
      resolve(answer)
    })
  })
}
