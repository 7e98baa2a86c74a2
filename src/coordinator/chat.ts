/**
 * One connection's conversation: admission, one active and one queued turn, replay, and release. A message is admitted
 * once its claim and its journal are durable and the client was told so; only then the worker gets it (11.4).
 *
 * The connection's end cancels the active turn, which still records its end, and drops the queued one, whose claim stays
 * unresolved (laws 2 and 6). When `close` resolves, nothing of this conversation is held any more.
 */
import { Fault, type Hash, messageOf } from '../core/index.ts'
import type { ClaimOwner, ClaimRequest, Existing } from '../invocations/index.ts'
import { type ChatFrame, type Frame, readFrame } from './frame.ts'
import { History } from './history.ts'
import type { ServerMessage } from './messages.ts'
import type { Chat, Outbound } from './outbound.ts'
import { admissionProblem, errorMessage } from './problems.ts'
import { agreesWithJournal, replayMessages } from './saved-result.ts'
import type { Shared } from './shared.ts'
import { runTurn } from './turn.ts'

interface Admitted {
  readonly frame: ChatFrame
  readonly owner: ClaimOwner
  readonly done: () => void
}

export class CoordinatorChat implements Chat {
  readonly #shared: Shared
  readonly #caller: Hash
  readonly #outbound: Outbound
  readonly #history: History
  readonly #closing = new AbortController()
  readonly #released: () => void
  /** Set from the reservation of the queue place until the worker takes the message. */
  #placeTaken = false
  #queued: Admitted | null = null
  #worker: Promise<void> | null = null
  /** Frames are handled one after the other, in the order they came. */
  #frames: Promise<void> = Promise.resolve()
  #closed: Promise<void> | null = null

  constructor(shared: Shared, caller: Hash, outbound: Outbound, released: () => void) {
    this.#shared = shared
    this.#caller = caller
    this.#outbound = outbound
    this.#history = new History(shared.systemPrompt)
    this.#released = released
  }

  receive(text: string): Promise<void> {
    return this.#inOrder(async () => {
      const frame = await this.#read(text)
      if (frame === null) return
      if (frame.type === 'Ping') await this.#send({ type: 'Pong' })
      else await this.#handle(frame, () => undefined)
    })
  }

  /** As `receive`, and resolves only when the turn is finished and all its messages are queued. */
  submit(frame: ChatFrame): Promise<void> {
    return new Promise((done) => {
      void this.#inOrder(() => this.#handle(frame, done))
    })
  }

  async drained(): Promise<void> {
    await this.#frames
    await this.#worker
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    this.#closing.abort(new Fault('RUN_CANCELLED', { message: 'The connection is gone' }))
    await this.#frames
    await this.#worker
    this.#released()
  }

  #inOrder(work: () => Promise<void>): Promise<void> {
    this.#frames = this.#frames.then(work).catch((error: unknown) => this.#shared.report('chat frame failed', error))
    return this.#frames
  }

  async #read(text: string): Promise<Frame | null> {
    try {
      return readFrame(text)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await this.#send(errorMessage(null, error))
      return null
    }
  }

  /** Steps 4 to 7 of 11.4. `done` is called exactly once, when nothing more will be sent for this frame. */
  async #handle(frame: ChatFrame, done: () => void): Promise<void> {
    try {
      if (this.#closing.signal.aborted) return done()
      const request = this.#requestOf(frame)
      const existing = await this.#shared.claims.lookup(request, this.#closing.signal)
      if (existing.kind !== 'NotFound') return await this.#replay(frame, existing, done)
      if (frame.type === 'ChatInspect') return await this.#refuse(frame, notFound(), done)
      if (this.#placeTaken) return await this.#refuse(frame, busy(), done)
      this.#placeTaken = true
      await this.#admit(frame, request, done)
    } catch (error) {
      if (!(error instanceof Fault)) this.#shared.report('a chat message could not be admitted', error)
      await this.#refuse(frame, admissionProblem(error), done)
    }
  }

  async #admit(frame: ChatFrame, request: ClaimRequest, done: () => void): Promise<void> {
    let owner: ClaimOwner | null = null
    try {
      const opened = await this.#shared.claims.open(request, this.#closing.signal)
      if (opened.kind !== 'Fresh') {
        this.#placeTaken = false
        return await this.#replay(frame, opened, done)
      }
      owner = opened.owner
      await this.#outbound.send({ type: 'AuditOpened', request_id: frame.requestId, audit: owner.audit })
    } catch (error) {
      this.#placeTaken = false
      await owner?.release()
      throw error
    }
    this.#queued = { frame, owner, done }
    this.#worker ??= this.#work()
  }

  /** One turn after the other until nothing is queued. A turn that waits when the connection ends is dropped, not run. */
  async #work(): Promise<void> {
    for (let next = this.#take(); next !== null; next = this.#take()) {
      const { frame, owner, done } = next
      try {
        if (this.#closing.signal.aborted) await owner.release()
        else await this.#turn(frame, owner)
      } catch (error) {
        this.#shared.report('chat turn failed', error)
      } finally {
        done()
      }
    }
    this.#worker = null // in the same step that saw an empty queue, so that no admitted message is left behind
  }

  #take(): Admitted | null {
    const next = this.#queued
    this.#queued = null
    if (next !== null) this.#placeTaken = false
    return next
  }

  async #turn(frame: ChatFrame, owner: ClaimOwner): Promise<void> {
    const offer = (message: ServerMessage): void => void this.#outbound.offer(message)
    const final = await runTurn(this.#shared, { frame, owner, history: this.#history, offer }, this.#closing.signal)
    await this.#send(final)
  }

  async #replay(frame: ChatFrame, existing: Existing, done: () => void): Promise<void> {
    for (const message of replayMessages(frame.requestId, existing)) await this.#send(message)
    done()
  }

  async #refuse(frame: ChatFrame, fault: Fault, done: () => void): Promise<void> {
    await this.#send(errorMessage(frame.requestId, fault))
    done()
  }

  /** A connection that cannot take a message is ending by itself: the turn goes on to its record all the same. */
  async #send(message: ServerMessage): Promise<void> {
    try {
      await this.#outbound.send(message)
    } catch (error) {
      this.#shared.report('chat message not delivered', messageOf(error))
    }
  }

  #requestOf({ id, content }: ChatFrame): ClaimRequest {
    return {
      scope: 'ws:chat:v1',
      id,
      request: { version: 1, caller: this.#caller, content },
      principal: this.#shared.principal,
      agrees: agreesWithJournal,
    }
  }
}

function notFound(): Fault {
  return new Fault('INVOCATION_NOT_FOUND', {
    message: 'No invocation has this id',
    hint: 'Send it with ChatSend if it should run',
  })
}

function busy(): Fault {
  return new Fault('SESSION_BUSY', {
    message: 'One message is active and one is queued, so this one was not admitted',
    hint: 'Wait for an answer, then send it again with the same id',
  })
}
