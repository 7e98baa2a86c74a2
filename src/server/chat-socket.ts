/**
 * One chat socket: frames in, messages out, a heartbeat, and one orderly end.
 *
 * Owns the connection; leaves every message's meaning to the chat behind it. Frames are handed over one after the other,
 * and the socket is not read further while several wait. Whatever ends the connection (the client, a slow reader, a revoked
 * key, the server's shutdown), the chat is closed and awaited, and after that nothing of the connection is held.
 */
import type { RawData, WebSocket } from 'ws'
import type { ApiKeys, Caller } from '../access/index.ts'
import type { Chat, ChatHost } from '../coordinator/index.ts'
import { type Code, messageOf } from '../core/index.ts'
import type { World } from '../world/index.ts'
import type { Log } from './log.ts'
import { type OutboundLimits, OutboundQueue } from './outbound-queue.ts'

export type ChatSocketParts = {
  readonly ws: WebSocket
  readonly caller: Caller
  readonly chats: ChatHost
  readonly keys: ApiKeys
  readonly log: Log
  readonly heartbeatMs: number
  readonly outbound: OutboundLimits
}

/** Frames that may wait for the chat before the socket is paused. More than one, so that a disconnect is still noticed. */
const WAITING_FRAMES_MAX = 4

export class ChatSocket {
  readonly #parts: ChatSocketParts
  readonly #world: World
  readonly #outbound: OutboundQueue
  readonly #chat: Chat
  /** Resolves when the socket is closed and the chat holds nothing. Never rejects. */
  readonly closed: Promise<void>
  #state: 'open' | 'draining' | 'ending' = 'open'
  #frames: Promise<void> = Promise.resolve()
  #waitingFrames = 0
  #stopHeartbeat: () => void = () => undefined
  #released: Promise<void> | null = null

  constructor(parts: ChatSocketParts, world: World) {
    const { ws } = parts
    this.#parts = parts
    this.#world = world
    this.#outbound = new OutboundQueue(
      (text, done) => ws.send(text, done),
      () => this.#abandon(),
      parts.outbound,
      world.clock,
    )
    this.closed = new Promise((resolve) => {
      ws.on('close', () => void this.#release().then(resolve))
    })
    ws.on('error', () => void this.#release()) // a frame against the protocol; ws sends the close code itself
    ws.on('message', (data, isBinary) => this.#take(data, isBinary))
    this.#chat = parts.chats.connect(parts.caller.fingerprint, this.#outbound)
    this.#outbound.offer({ type: 'Pong' })
    this.#beatLater()
  }

  /** Takes no further frames, lets admitted turns finish, and then ends the connection. */
  async drain(): Promise<void> {
    if (this.#state !== 'open') return await this.closed
    this.#state = 'draining'
    await Promise.race([this.#chat.drained().catch((error: unknown) => this.#fail(error)), this.closed])
    await this.#outbound.flushed()
    this.end(1001, 'the server is shutting down')
    await this.closed
  }

  /** Cancels what is active, and then ends the connection. */
  async cancel(): Promise<void> {
    if (this.#state === 'open') this.#state = 'draining'
    await this.#closeChat()
    await Promise.race([this.#outbound.flushed(), this.closed])
    this.end(1001, 'the server is shutting down')
    await this.closed
  }

  /** Starts the closing handshake; the socket is destroyed when the peer does not answer it in time. */
  end(code: number, reason: string): void {
    if (this.#state === 'ending') return
    this.#state = 'ending'
    this.#parts.ws.close(code, reason)
    this.#parts.ws.resume() // a paused socket would never read the peer's answer
    void this.#release()
  }

  terminate(): void {
    this.#state = 'ending'
    this.#parts.ws.terminate()
  }

  #take(data: RawData, isBinary: boolean): void {
    if (this.#state === 'ending') return
    this.#waitingFrames += 1
    if (this.#waitingFrames >= WAITING_FRAMES_MAX) this.#parts.ws.pause()
    this.#frames = this.#frames
      .then(() => this.#handle(data, isBinary))
      .catch((error: unknown) => this.#fail(error))
      .then(() => {
        this.#waitingFrames -= 1
        if (this.#waitingFrames < WAITING_FRAMES_MAX && this.#parts.ws.isPaused) this.#parts.ws.resume()
      })
  }

  async #handle(data: RawData, isBinary: boolean): Promise<void> {
    if (this.#state === 'ending' || this.#released !== null) return
    if (this.#state === 'draining') {
      await this.#refuse('SHUTTING_DOWN', 'The server is shutting down. Connect again later, and look the id up first')
    } else if (isBinary) {
      await this.#refuse('PARSE_ERROR', 'Invalid chat message: the frame is binary. Send JSON in a text frame')
    } else if (await this.#isInForce()) {
      await this.#chat.receive(String(data))
    }
  }

  async #refuse(code: Code, message: string): Promise<void> {
    // A rejection means that the connection is already ending.
    await this.#outbound.send({ type: 'Error', request_id: null, code, message }).catch(() => undefined)
  }

  /** The chat promises never to reject, so this is a Bug: the connection ends, and the others go on. */
  #fail(error: unknown): void {
    this.#parts.log.write('error', 'chat failed', { error, key_id: this.#parts.caller.key_id })
    this.end(1011, 'the server failed')
  }

  #beatLater(): void {
    this.#stopHeartbeat = this.#world.clock.timer(this.#parts.heartbeatMs, () => void this.#beat(), false)
  }

  async #beat(): Promise<void> {
    if (!(await this.#isInForce())) return
    this.#outbound.offer({ type: 'Pong' }) // without room the reader is behind, and the writer's deadline judges it
    this.#beatLater()
  }

  /** Looks at the key again, at each frame and each beat; one that was revoked ends the connection. */
  async #isInForce(): Promise<boolean> {
    const { keys, caller, log } = this.#parts
    let isCurrent = false
    try {
      isCurrent = await keys.isCurrent(caller)
    } catch (error) {
      log.write('error', 'key check failed', { error })
    }
    if (this.#state === 'ending' || this.#released !== null) return false
    if (isCurrent) return true
    log.write('info', 'chat ended', { reason: 'key no longer in force', key_id: caller.key_id })
    this.end(1008, 'the credential is no longer valid')
    return false
  }

  #abandon(): void {
    this.#parts.log.write('info', 'chat ended', { reason: 'reader too slow', key_id: this.#parts.caller.key_id })
    this.terminate()
    void this.#release()
  }

  /** Everything the connection holds is let go, once. */
  #release(): Promise<void> {
    this.#released ??= (async () => {
      this.#stopHeartbeat()
      this.#outbound.close()
      await this.#closeChat()
      await this.#frames
    })()
    return this.#released
  }

  async #closeChat(): Promise<void> {
    try {
      await this.#chat.close()
    } catch (error) {
      this.#parts.log.write('error', 'chat failed to close', { error: messageOf(error) })
    }
  }
}
