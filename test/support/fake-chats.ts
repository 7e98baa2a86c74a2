/** A small ChatHost that records what a server does with it. What a chat does with a frame is decided by the test. */
import type { Chat, ChatHost, Outbound } from '../../src/coordinator/index.ts'
import type { Hash } from '../../src/core/index.ts'

export class FakeChat implements Chat {
  readonly caller: Hash
  readonly outbound: Outbound
  readonly frames: string[] = []
  closes = 0
  readonly #onFrame: (chat: FakeChat, frame: string) => Promise<void>
  #busy: Promise<void> = Promise.resolve()
  #free: () => void = () => undefined
  #markClosed: () => void = () => undefined
  readonly closed = new Promise<void>((resolve) => {
    this.#markClosed = resolve
  })
  /** What `close` waits for. */
  cleanup: Promise<void> = Promise.resolve()

  constructor(caller: Hash, outbound: Outbound, onFrame: (chat: FakeChat, frame: string) => Promise<void>) {
    this.caller = caller
    this.outbound = outbound
    this.#onFrame = onFrame
  }

  /** From now on a turn is active, until `finishTurn` or `close`. */
  startTurn(): void {
    this.#busy = new Promise((resolve) => {
      this.#free = resolve
    })
  }

  finishTurn(): void {
    this.#free()
  }

  async receive(frame: string): Promise<void> {
    this.frames.push(frame)
    await this.#onFrame(this, frame)
  }

  async drained(): Promise<void> {
    await this.#busy
  }

  async close(): Promise<void> {
    this.closes += 1
    this.#markClosed()
    await this.cleanup
    this.#free()
  }
}

export class FakeChats implements ChatHost {
  readonly all: FakeChat[] = []
  onFrame: (chat: FakeChat, frame: string) => Promise<void> = async (chat, frame) => {
    await chat.outbound.send({ type: 'ChatChunk', request_id: 'r', content: frame, done: true, replayed: false })
  }

  connect(caller: Hash, outbound: Outbound): FakeChat {
    const chat = new FakeChat(caller, outbound, (one, frame) => this.onFrame(one, frame))
    this.all.push(chat)
    return chat
  }

  get last(): FakeChat {
    return this.all.at(-1)!
  }
}
