/**
 * One foreign tool server, over all its connections. A broken connection is replaced when the next call comes, after a wait
 * that grows; what was in flight on it stays unknown and is never sent again (laws 2 and 3).
 *
 * Before a call is sent, the tool must still be the one that was pinned: the list is read again on every new connection,
 * whenever the server says that it changed, and before every call of a server that has no way to say so.
 */
import type { EffectHandle } from '../calls/index.ts'
import { type Fault, type Hash, isFault, type JsonObject, messageOf } from '../core/index.ts'
import { notDone, type ToolAnswer, type ToolCall } from '../tools/index.ts'
import { raceDeadline, type World } from '../world/index.ts'
import { answerIn } from './answer.ts'
import { type CallAnswer, type Connection, connect, failed } from './connection.ts'
import { httpWitness } from './http-witness.ts'
import { BACKOFF_MS, BACKOFF_MS_MAX, LOOK_EVERY_MS } from './limits.ts'
import type { Listing } from './listing.ts'
import type { UpstreamNews } from './news.ts'
import { Offers } from './offers.ts'
import { changed, notSent, unavailable } from './refusals.ts'
import type { UpstreamServer } from './server-entry.ts'
import { visible } from './visible.ts'

export interface Surroundings {
  readonly world: World
  /** The folder of the project, canonical. */
  readonly root: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly report: (news: UpstreamNews) => void
}

export class Upstream {
  readonly server: UpstreamServer
  readonly #around: Surroundings
  readonly #closing = new AbortController()
  /** Connections that are being made or ended: they may hold something, also when nobody waits for them any more. */
  readonly #held = new Set<Promise<unknown>>()
  readonly #offers: Offers
  #connection: Connection | null = null
  #connecting: Promise<Connection> | null = null
  #looking = false
  #failures = 0
  #retryAtMs = Number.NEGATIVE_INFINITY

  constructor(server: UpstreamServer, around: Surroundings) {
    this.server = server
    this.#around = around
    this.#offers = new Offers((tool, reason) =>
      around.report({ kind: 'Unavailable', server: server.name, tool: visible(tool), reason }),
    )
  }

  /** Connects, and reads the list of tools. Throws what hinders. */
  async start(): Promise<Listing> {
    await this.#connect()
    return this.#offers.listing
  }

  /** From now on this tool may be called, as long as it looks like this. */
  offer(tool: string, digest: Hash): void {
    this.#offers.offer(tool, digest)
  }

  /** What is known to stand in the way of a call, without asking anybody. */
  hindrance(tool: string): Fault | null {
    if (this.#closing.signal.aborted) return unavailable('it was closed')
    const reason = this.#offers.reasonAgainst(tool)
    if (reason !== null) return changed(this.server.name, tool, reason)
    return this.#isUp() ? null : this.#waiting()
  }

  /** One call, sent once. Throws `UPSTREAM_FAILED` when nobody knows what it did. */
  async call(tool: string, args: JsonObject, call: ToolCall): Promise<ToolAnswer> {
    const { clock } = this.#around.world
    const deadlineMs = Math.min(call.deadlineMs, clock.monotonicMs() + this.server.callTimeoutMs)
    let connection: Connection
    try {
      const late = (): Fault => {
        this.#connection?.break('it does not say in time what its tools are') // the next call finds another
        return unavailable('it was not ready in time')
      }
      connection = await raceDeadline({ clock, deadlineMs, late }, call.signal, (inner) => this.#ready(tool, inner))
    } catch (error) {
      call.signal.throwIfAborted()
      if (isFault(error)) return notSent(error)
      throw error
    }
    return this.#send(connection, { name: tool, arguments: args }, { ...call, deadlineMs })
  }

  async close(): Promise<void> {
    this.#closing.abort(unavailable('it was closed'))
    await this.#connection?.close().catch(() => undefined)
    await Promise.allSettled(this.#held)
  }

  async #send(
    connection: Connection,
    params: { readonly name: string; readonly arguments: JsonObject },
    { signal, deadlineMs, effects }: ToolCall,
  ): Promise<ToolAnswer> {
    const { clock } = this.#around.world
    const late = (): Fault => failed('it did not answer in time')
    let answer: CallAnswer
    try {
      answer = await raceDeadline({ clock, deadlineMs, late }, signal, (inner) =>
        connection.call(params, this.#witness(effects), inner),
      )
    } catch (error) {
      // A call that was taken back may have its answer or not; one that was awaited in vain shows that the server is stuck.
      if (!signal.aborted || isFault(signal.reason, 'RUN_TIMEOUT')) connection.break(messageOf(error))
      throw error
    }
    if (connection.broken !== null) throw failed(connection.broken) // it answered twice: which one is true?
    if (answer.kind === 'Refused') {
      return { content: `The server answered with the error ${answer.code}: ${answer.message}`, is_error: true }
    }
    try {
      const said = answerIn(answer.result)
      this.#failures = 0
      if (!said.is_error || this.server.errorAnswers === 'unknown') return said
      return notDone(`The tool reported an error: ${said.content}`)
    } catch (error) {
      connection.break(messageOf(error))
      throw error
    }
  }

  #witness(effects: EffectHandle) {
    return this.server.transport === 'http' ? httpWitness(this.#around.world, effects) : null
  }

  async #ready(tool: string, signal: AbortSignal): Promise<Connection> {
    const connection = this.#isUp() ? (this.#connection as Connection) : await this.#connect()
    // Over HTTP there is no channel on which a server could say that its list changed.
    const change = this.server.transport === 'http' ? this.#offers.changed() : this.#offers.latest
    await this.#offers.look(connection, change, signal)
    const reason = this.#offers.lastReasonAgainst(tool)
    if (reason !== null) throw changed(this.server.name, tool, reason)
    if (connection.broken !== null) throw unavailable(connection.broken)
    return connection
  }

  #isUp(): boolean {
    return this.#connection !== null && this.#connection.broken === null
  }

  #waiting(): Fault | null {
    const waitMs = this.#retryAtMs - this.#around.world.clock.monotonicMs()
    if (waitMs <= 0) return null
    return unavailable(`it failed ${this.#failures} times in a row, and is tried again in ${Math.ceil(waitMs)} ms`)
  }

  /** One attempt at a time, shared by all who need it. */
  #connect(): Promise<Connection> {
    this.#connecting ??= this.#connectOnce().finally(() => {
      this.#connecting = null
    })
    return this.#connecting
  }

  async #connectOnce(): Promise<Connection> {
    const { clock } = this.#around.world
    const waiting = this.#waiting()
    if (waiting !== null) throw waiting
    const deadlineMs = clock.monotonicMs() + this.server.startTimeoutMs
    const late = (): Fault => unavailable(`it was not ready after ${this.server.startTimeoutMs} ms`)
    try {
      return await raceDeadline({ clock, deadlineMs, late }, this.#closing.signal, (inner) => {
        return this.#track(this.#attempt(inner))
      })
    } catch (error) {
      this.#failed()
      throw error
    }
  }

  async #attempt(signal: AbortSignal): Promise<Connection> {
    const { report, ...around } = this.#around
    const server = this.server
    let current: Connection | null = null
    const connection = await connect(
      {
        ...around,
        server,
        onBroken: (reason) => {
          if (current === null || this.#connection !== current) return // an attempt tells its own failure
          this.#connection = null
          void this.#track(current.close().catch(() => undefined)) // its child may take its time to go
          this.#failed()
          if (!this.#closing.signal.aborted) report({ kind: 'Lost', server: server.name, reason })
        },
        onListChanged: () => this.#listChanged(),
        onSaid: (line) => report({ kind: 'Said', server: server.name, line }),
      },
      signal,
    )
    try {
      await this.#offers.look(connection, this.#offers.changed(), signal)
      signal.throwIfAborted()
    } catch (error) {
      await connection.close().catch(() => undefined)
      throw error
    }
    current = connection
    this.#connection = connection
    return connection
  }

  #failed(): void {
    this.#failures += 1
    const waitMs = this.#failures === 1 ? 0 : Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** (this.#failures - 2))
    this.#retryAtMs = this.#around.world.clock.monotonicMs() + waitMs
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#held.add(work)
    void work.finally(() => this.#held.delete(work)).catch(() => undefined)
    return work
  }

  /** At once, so that policy and model hear of it before the next call; a call that comes earlier looks itself. */
  #listChanged(): void {
    this.#offers.changed()
    const connection = this.#connection
    if (connection === null || this.#looking) return
    this.#looking = true
    void this.#follow(connection)
      .catch((error: unknown) => connection.break(messageOf(error)))
      .finally(() => {
        this.#looking = false
      })
  }

  /** Looks until nothing changed since the last look. A server that changes all the time is looked at once a while. */
  async #follow(connection: Connection): Promise<void> {
    const { clock } = this.#around.world
    const late = (): Fault => unavailable('it does not say what its tools are')
    while (connection.broken === null && this.#offers.isBehind) {
      const deadlineMs = clock.monotonicMs() + this.server.startTimeoutMs
      await raceDeadline({ clock, deadlineMs, late }, this.#closing.signal, (inner) =>
        this.#offers.look(connection, this.#offers.latest, inner),
      )
      await clock.sleep(LOOK_EVERY_MS, this.#closing.signal)
    }
  }
}
