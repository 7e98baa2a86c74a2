/**
 * The sessions of clients that come over HTTP: how many, whose, and for how long. A session belongs to the key that opened
 * it; to every other key it does not exist. Opening one after another brings a key no more than so many in an hour.
 */
import type { Caller } from '../access/index.ts'
import { Fault } from '../core/index.ts'
import type { Clock } from '../world/index.ts'
import type { Connection } from './connection.ts'
import type { ToolBroker } from './tool-broker.ts'

export interface HttpSessionLimits {
  /** Open at the same time, of all keys. */
  readonly sessionsMax: number
  /** Open at the same time, of one key. */
  readonly perKeyMax: number
  /** Opened in an hour, of one key: reconnecting does not bring back what a session has used up. */
  readonly perKeyHourMax: number
  /** Without any request. */
  readonly idleMs: number
}

export const HTTP_SESSION_LIMITS: HttpSessionLimits = {
  sessionsMax: 64,
  perKeyMax: 8,
  perKeyHourMax: 64,
  idleMs: 30 * 60_000,
}

const HOUR_MS = 3_600_000

export interface HttpSession {
  readonly id: string
  readonly connection: Connection
  readonly broker: ToolBroker
}

interface Place {
  readonly key: string
  readonly fingerprint: string
  session: HttpSession | null
  stopIdling: () => void
}

export class HttpSessions {
  readonly #limits: HttpSessionLimits
  readonly #clock: Clock
  /** By session id. A session that is being opened has its place already. */
  readonly #places = new Map<string, Place>()
  readonly #openedAtMs = new Map<string, number[]>()
  /** Sessions that are being opened or ended. */
  readonly #atWork = new Set<Promise<unknown>>()

  constructor(limits: HttpSessionLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get count(): number {
    return this.#places.size
  }

  /** Takes a place and opens a session in it. Throws `OVERLOADED` or `RATE_LIMITED`, or what the opening throws. */
  async open(id: string, caller: Caller, make: () => Promise<HttpSession>): Promise<HttpSession> {
    const key = caller.key_id ?? caller.fingerprint
    this.#refuseTooMany(key)
    const place: Place = { key, fingerprint: caller.fingerprint, session: null, stopIdling: () => undefined }
    this.#places.set(id, place)
    this.#countOpening(key)
    return await this.#owed(this.#opened(id, place, make))
  }

  /** The session of this key with this id, or null; asking keeps it from idling. */
  find(id: string, caller: Caller): HttpSession | null {
    const place = this.#places.get(id)
    if (place === undefined || place.fingerprint !== caller.fingerprint || place.session === null) return null
    this.#idle(id, place)
    return place.session
  }

  /** Ends the session, and resolves when its end is recorded. */
  async end(id: string): Promise<void> {
    const place = this.#places.get(id)
    if (place === undefined) return
    this.#places.delete(id)
    place.stopIdling()
    if (place.session === null) return
    await this.#owed(place.session.broker.end())
  }

  /** Ends each session when its requests are answered. */
  async drain(): Promise<void> {
    await Promise.all([...this.#places].map(([id, { session }]) => session?.connection.idle().then(() => this.end(id))))
    await Promise.allSettled(this.#atWork)
  }

  /** Ends all of them now, and what is being opened as soon as that is possible. */
  async cancel(): Promise<void> {
    await Promise.all([...this.#places.keys()].map((id) => this.end(id)))
    await Promise.allSettled(this.#atWork)
  }

  async #opened(id: string, place: Place, make: () => Promise<HttpSession>): Promise<HttpSession> {
    try {
      place.session = await make()
    } catch (error) {
      this.#places.delete(id)
      throw error
    }
    if (this.#places.has(id)) this.#idle(id, place)
    else await place.session.broker.end() // everything was closed meanwhile
    return place.session
  }

  /** Whoever closes waits for it, also when nobody else does any more. */
  async #owed<T>(work: Promise<T>): Promise<T> {
    this.#atWork.add(work)
    try {
      return await work
    } finally {
      this.#atWork.delete(work)
    }
  }

  #refuseTooMany(key: string): void {
    const { sessionsMax, perKeyMax, perKeyHourMax } = this.#limits
    if (this.#places.size >= sessionsMax) {
      throw new Fault('OVERLOADED', {
        message: `Cannot open a tool session: ${sessionsMax} are open`,
        hint: 'Try again later, or close sessions that are not needed with DELETE',
      })
    }
    const own = [...this.#places.values()].filter((place) => place.key === key).length
    const lately = this.#lately(key)
    const oldest = lately[0]
    if (own >= perKeyMax) throw tooMany(`${perKeyMax} sessions of this key are open`, 60)
    if (lately.length >= perKeyHourMax && oldest !== undefined) {
      const seconds = Math.max(1, Math.ceil((oldest + HOUR_MS - this.#clock.monotonicMs()) / 1000))
      throw tooMany(`this key opened ${perKeyHourMax} sessions within an hour`, seconds)
    }
  }

  #countOpening(key: string): void {
    this.#openedAtMs.set(key, [...this.#lately(key), this.#clock.monotonicMs()])
    for (const other of this.#openedAtMs.keys()) if (this.#lately(other).length === 0) this.#openedAtMs.delete(other)
  }

  #lately(key: string): readonly number[] {
    const since = this.#clock.monotonicMs() - HOUR_MS
    return (this.#openedAtMs.get(key) ?? []).filter((atMs) => atMs > since)
  }

  #idle(id: string, place: Place): void {
    place.stopIdling()
    place.stopIdling = this.#clock.timer(this.#limits.idleMs, () => {
      if ((place.session?.connection.busy ?? 0) > 0) this.#idle(id, place)
      else void this.end(id)
    })
  }
}

function tooMany(state: string, seconds: number): Fault {
  return new Fault('RATE_LIMITED', {
    message: `Cannot open a tool session: ${state}`,
    hint: 'Use the session that is open, or close it with DELETE; a new one does not bring back what one has used up',
    facts: { retry_after_seconds: seconds },
  })
}
