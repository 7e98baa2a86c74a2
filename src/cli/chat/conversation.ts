/**
 * A conversation as a client must hold it: one message at a time, each under its id, over connections that may break.
 *
 * The retry rule is kept here and nowhere else (law 2): once a message may have been sent, only `INVOCATION_NOT_FOUND`
 * permits sending it again, with the same id and content. Everything else is asked for with `ChatInspect`, which starts
 * nothing. Each connection is a new conversation for the server; nothing is resumed but the id.
 */
import { isFault } from '../../core/index.ts'
import type { World } from '../../world/index.ts'
import type { Link } from './link.ts'
import type { ServerSaid } from './server-message.ts'

/**
 * `send`: a fresh id, never used before. `resume`: the id may have been used, so it is looked up first. `look`: one look
 * and no more. `settle`: looks until nobody is at work under the id any more, and never sends.
 */
export type Mode = 'send' | 'resume' | 'look' | 'settle'

export interface Message {
  readonly id: string
  readonly content: string
  readonly mode: Mode
}

export type Outcome =
  | { readonly kind: 'Answered'; readonly content: string; readonly replayed: boolean }
  /** The server's last word about the id. */
  | { readonly kind: 'Refused'; readonly code: string; readonly message: string }
  /** The connection was lost behind the message, and nobody could be asked in time. `sent` as for `Cancelled`. */
  | { readonly kind: 'Unknown'; readonly reason: string; readonly sent: boolean }
  /** The signal was aborted. `sent` is false when the message certainly never left. */
  | { readonly kind: 'Cancelled'; readonly sent: boolean }

/** What happens on the way, for a person who waits. */
export type Progress =
  | { readonly kind: 'Said'; readonly message: ServerSaid }
  | { readonly kind: 'Sending' }
  | { readonly kind: 'LookingUp' }
  | { readonly kind: 'Lost'; readonly reason: string; readonly retryMs: number }
  | { readonly kind: 'InProgress'; readonly retryMs: number }

export interface ConversationParts {
  readonly world: World
  /** A new connection. Asked again for each, because a server that comes back may listen elsewhere. */
  readonly connect: (signal: AbortSignal) => Promise<Link>
  readonly onProgress: (progress: Progress) => void
  /** How long a message may be without an answer in sight before it is given up: connections lost, or others at work. */
  readonly waitMsMax: number
}

const RECONNECT_MS = 1_000
const RECONNECT_MS_MAX = 30_000
const POLL_MS = 250
const POLL_MS_MAX = 5_000

/** Refusals of a connection that no later attempt changes. */
const FINAL = ['UNAUTHORIZED', 'ADMIN_REQUIRED', 'NOT_FOUND', 'ORIGIN_REFUSED', 'CONFIG_INVALID', 'USAGE'] as const

export class Conversation implements AsyncDisposable {
  readonly #parts: ConversationParts
  #link: Link | null = null

  constructor(parts: ConversationParts) {
    this.#parts = parts
  }

  /** Opens the connection before there is anything to send, so that a wrong address or token is told at once. */
  async connect(signal: AbortSignal): Promise<void> {
    if (this.#link?.isOpen !== true) this.#link = await this.#parts.connect(signal)
  }

  /** One message to its end. Throws a Fault when nothing was sent: the server cannot be reached, or refuses us. */
  async ask(message: Message, signal: AbortSignal): Promise<Outcome> {
    const attempt = new Attempt(this.#parts, message)
    try {
      for (;;) {
        const link = await this.#linkFor(attempt, signal)
        if (link === null) return attempt.unknown()
        const outcome = await attempt.exchange(link, signal)
        if (outcome.kind === 'Lost') await this.#drop()
        if (outcome.kind !== 'Lost' && outcome.kind !== 'Again') return outcome
        if (!(await attempt.pause(outcome, signal))) return attempt.givenUp(outcome)
      }
    } catch (error) {
      if (!signal.aborted) throw error
      await this.#drop() // the server cancels the turn of a connection that ends
      return { kind: 'Cancelled', sent: attempt.sent }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#drop()
  }

  /** Null when the message was sent and there is no way back to the server in time. */
  async #linkFor(attempt: Attempt, signal: AbortSignal): Promise<Link | null> {
    for (;;) {
      try {
        await this.connect(signal)
        return this.#link
      } catch (error) {
        signal.throwIfAborted()
        if (!isFault(error) || !attempt.mayRetry) throw error
        const lost = { kind: 'Lost', reason: error.message } as const
        if (isFault(error, ...FINAL) || !(await attempt.pause(lost, signal))) {
          attempt.reason = error.message
          return null
        }
      }
    }
  }

  async #drop(): Promise<void> {
    const link = this.#link
    this.#link = null
    await link?.close()
  }
}

type Step =
  | Extract<Outcome, { kind: 'Answered' | 'Refused' | 'Unknown' }>
  | { readonly kind: 'Lost'; readonly reason: string }
  /** Ask again: at once, or later because somebody is at work. */
  | { readonly kind: 'Again'; readonly busy: (ServerSaid & { readonly type: 'Error' }) | null }

/** One message on its way: what is known of it, and how long we have waited. */
class Attempt {
  readonly #parts: ConversationParts
  readonly #message: Message
  #next: 'ChatSend' | 'ChatInspect'
  #giveUpMs: number | null = null
  #reconnectMs = RECONNECT_MS
  #pollMs = POLL_MS
  #connections = 0
  sent = false
  reason = 'the connection was lost'

  constructor(parts: ConversationParts, message: Message) {
    this.#parts = parts
    this.#message = message
    this.#next = message.mode === 'send' ? 'ChatSend' : 'ChatInspect'
  }

  /** Before the first connection nothing is at stake, and the person is told at once what is wrong. */
  get mayRetry(): boolean {
    return this.#connections > 0
  }

  /** Sends or asks, and listens to the last word that this connection has to say about it. */
  async exchange(link: Link, signal: AbortSignal): Promise<Step> {
    const { id, content } = this.#message
    this.#connections += 1
    const asked = this.#next
    this.#parts.onProgress({ kind: asked === 'ChatSend' ? 'Sending' : 'LookingUp' })
    if (asked === 'ChatSend') this.sent = true
    this.#next = 'ChatInspect' // from here on it may have been sent, whatever becomes of this connection
    link.send({ type: asked, id, content })
    for (;;) {
      const message = await link.next(signal)
      if (message.type === 'Ended') return this.#ended(message.code, message.reason)
      if (message.type === 'Error' && (message.request_id === id || message.request_id === null)) {
        return this.#refused(asked, message)
      }
      if (message.request_id !== id) continue
      if (message.type === 'ChatChunk' && message.done) {
        return { kind: 'Answered', content: message.content, replayed: message.replayed === true }
      }
      this.#parts.onProgress({ kind: 'Said', message })
    }
  }

  /** Waits before the next try. False when the time is over. */
  async pause(step: Step & { readonly kind: 'Lost' | 'Again' }, signal: AbortSignal): Promise<boolean> {
    if (step.kind === 'Again' && step.busy === null) return true
    const { clock } = this.#parts.world
    const nowMs = clock.monotonicMs()
    this.#giveUpMs ??= nowMs + this.#parts.waitMsMax
    const lost = step.kind === 'Lost'
    const retryMs = lost ? this.#reconnectMs : this.#pollMs
    if (nowMs + retryMs > this.#giveUpMs) return false
    this.#parts.onProgress(lost ? { kind: 'Lost', reason: step.reason, retryMs } : { kind: 'InProgress', retryMs })
    if (lost) this.#reconnectMs = Math.min(RECONNECT_MS_MAX, retryMs * 2)
    else this.#pollMs = Math.min(POLL_MS_MAX, retryMs * 2)
    await clock.sleep(retryMs, signal)
    return true
  }

  givenUp(step: Step & { readonly kind: 'Lost' | 'Again' }): Outcome {
    if (step.kind === 'Again' && step.busy !== null) {
      return { kind: 'Refused', code: step.busy.code, message: step.busy.message }
    }
    if (step.kind === 'Lost') this.reason = step.reason
    return this.unknown()
  }

  unknown(): Outcome {
    return { kind: 'Unknown', reason: this.reason, sent: this.sent }
  }

  #refused(asked: 'ChatSend' | 'ChatInspect', message: ServerSaid & { readonly type: 'Error' }): Step {
    const { mode } = this.#message
    if (message.code === 'SHUTTING_DOWN') return { kind: 'Lost', reason: 'the server is shutting down' }
    if (message.code === 'INVOCATION_NOT_FOUND' && asked === 'ChatInspect' && (mode === 'send' || mode === 'resume')) {
      this.#next = 'ChatSend' // the one answer that permits it
      return { kind: 'Again', busy: null }
    }
    if (message.code === 'INVOCATION_IN_PROGRESS' && mode !== 'look') return { kind: 'Again', busy: message }
    return { kind: 'Refused', code: message.code, message: message.message }
  }

  #ended(code: number, reason: string): Step {
    if (code === 1009) {
      return { kind: 'Refused', code: 'MESSAGE_TOO_LARGE', message: 'The message is larger than the server accepts' }
    }
    if (code === 1008) {
      const told = 'the server closed the connection because the credential is no longer valid'
      return { kind: 'Unknown', reason: told, sent: this.sent }
    }
    return { kind: 'Lost', reason: reason === '' ? `the connection was lost (${code})` : reason }
  }
}

/** The exit code of an outcome: 0 completed, 1 failed or refused, 2 in progress or unresolved, 3 reconciled. */
export function exitOf(outcome: Outcome): number {
  switch (outcome.kind) {
    case 'Answered':
      return 0
    case 'Cancelled':
      return 130
    case 'Unknown':
      return 2
    case 'Refused':
      if (outcome.code === 'INVOCATION_RECONCILED') return 3
      return outcome.code === 'INVOCATION_IN_PROGRESS' || outcome.code === 'INVOCATION_UNRESOLVED' ? 2 : 1
  }
}

/** One word for programs. */
export function statusOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'Answered':
      return 'completed'
    case 'Cancelled':
      return 'cancelled'
    case 'Unknown':
      return 'unknown'
    case 'Refused':
      return STATUS[outcome.code] ?? 'refused'
  }
}

const STATUS: Readonly<Record<string, string>> = {
  LOOP_ERROR: 'failed',
  INVOCATION_IN_PROGRESS: 'in_progress',
  INVOCATION_UNRESOLVED: 'unresolved',
  INVOCATION_RECONCILED: 'reconciled',
  INVOCATION_NOT_FOUND: 'not_found',
}
