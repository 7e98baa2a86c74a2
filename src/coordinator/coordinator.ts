/**
 * The coordinator: conversations with people, each turn a governed run of its own. It owns what the conversations share
 * and counts them; the server gives it sockets, embedding code gives it functions.
 */
import { SDK_FINGERPRINT } from '../access/index.ts'
import { type AgentId, assert, Fault, type Hash, newId } from '../core/index.ts'
import { CoordinatorChat } from './chat.ts'
import { chatFrame } from './frame.ts'
import type { ServerMessage } from './messages.ts'
import type { Chat, ChatHost, Outbound } from './outbound.ts'
import type { Shared } from './shared.ts'

export interface SdkSession {
  /** Runs one turn under a fresh id, which is returned. Resolves when the turn ended and its messages were delivered. */
  handleChat(content: string): Promise<string>
  /** The same under a chosen id: asked twice, it runs once. */
  handleChatWithId(id: string, content: string): Promise<void>
  close(): Promise<void>
}

export class Coordinator implements ChatHost {
  readonly #shared: Shared
  readonly #chats = new Set<Chat>()
  #closed = false

  constructor(shared: Shared) {
    this.#shared = shared
  }

  get principal(): AgentId {
    return this.#shared.principal
  }

  /** How many conversations hold the shared state: 0 after all of them closed. */
  get holders(): number {
    return this.#chats.size
  }

  connect(caller: Hash, outbound: Outbound): Chat {
    return this.#open(caller, outbound)
  }

  /** The in-process session: the same admission, replay and messages, through the caller's function. */
  sdkSession(onMessage: (message: ServerMessage) => void | Promise<void>): SdkSession {
    const chat = this.#open(SDK_FINGERPRINT, outboundOf(onMessage))
    let closed = false
    const handleChatWithId = async (id: string, content: string): Promise<void> => {
      if (closed || this.#closed) {
        throw new Fault('SESSION_CLOSED', {
          message: 'Cannot take the message: the session is closed',
          hint: 'Open a new session; an id that was sent before can be looked up there',
        })
      }
      await chat.submit(chatFrame('ChatSend', id, content))
    }
    return {
      handleChat: async (content) => {
        const id = newId('invocation', this.#shared.world.random)
        await handleChatWithId(id, content)
        return id
      },
      handleChatWithId,
      close: () => {
        closed = true
        return chat.close()
      },
    }
  }

  /** Cancels every conversation and waits until all of them recorded their end. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#chats].map((chat) => chat.close()))
    assert(this.#chats.size === 0, 'a closed coordinator holds no conversation')
  }

  #open(caller: Hash, outbound: Outbound): CoordinatorChat {
    if (this.#closed) {
      throw new Fault('SHUTTING_DOWN', { message: 'Cannot open a conversation: the coordinator is closed' })
    }
    const gone = this.#shared.activity.connectionOpened()
    const chat: CoordinatorChat = new CoordinatorChat(this.#shared, caller, outbound, () => {
      this.#chats.delete(chat)
      gone()
    })
    this.#chats.add(chat)
    return chat
  }
}

/** A caller's function takes every message in order; a message that may be lost over a socket is not lost here. */
function outboundOf(onMessage: (message: ServerMessage) => void | Promise<void>): Outbound {
  let order: Promise<void> = Promise.resolve()
  const deliver = (message: ServerMessage): Promise<void> => {
    const delivered = order.then(() => onMessage(message))
    order = delivered.catch(() => undefined) // the caller's own failure stays with the message that met it
    return delivered
  }
  return {
    send: deliver,
    offer: (message) => {
      deliver(message).catch(() => undefined)
      return true
    },
  }
}
