/**
 * Outbound: the port through which a chat's messages leave. The coordinator declares it; the server makes it over a
 * socket, and the in-process session makes it over a caller's function.
 */
import type { Hash } from '../core/index.ts'
import type { ServerMessage } from './messages.ts'

export interface Outbound {
  /**
   * Queues a message that must arrive. Resolves once it is queued, in order. Rejects when the connection is gone, or when
   * the queue stayed full for 2 s; the connection is then ended.
   */
  send(message: ServerMessage): Promise<void>
  /** Queues a message that may be lost: false when there was no room. */
  offer(message: ServerMessage): boolean
}

/** One connection's conversation. The server feeds it frames; it owns the turns. */
export interface Chat {
  /** Handles one text frame. Frames are handled in the order of the calls; never rejects. */
  receive(frame: string): Promise<void>
  /**
   * Resolves when no turn is active or queued, at once if that is so now. A server that shuts down waits for it before it
   * closes the chat; meanwhile it feeds no further frames.
   */
  drained(): Promise<void>
  /** The connection is gone: cancels the active turn, drops the queued one, and resolves when nothing is held. Idempotent. */
  close(): Promise<void>
}

/** What a door needs of the coordinator. `caller` is the fingerprint of 11.2; only its digest is kept. */
export interface ChatHost {
  connect(caller: Hash, outbound: Outbound): Chat
}
