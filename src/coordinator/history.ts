/**
 * What one connection's conversation carries from turn to turn: the user's texts and the answers. Tool messages stay with
 * their turn, so that an old result is never taken for a new one.
 */
import { Fault } from '../core/index.ts'
import type { Message } from '../providers/index.ts'

const MESSAGES_MAX = 256
const BYTES_MAX = 4 * 1024 * 1024

export class History {
  readonly #messages: Message[]
  #bytes: number

  constructor(systemPrompt: string) {
    this.#messages = [{ role: 'system', content: systemPrompt }]
    this.#bytes = Buffer.byteLength(systemPrompt)
  }

  /** The messages of a new turn, or `SESSION_LIMIT`; the user's text stays even if the turn does not complete. */
  begin(content: string): readonly Message[] {
    const bytes = Buffer.byteLength(content)
    if (this.#messages.length >= MESSAGES_MAX || this.#bytes + bytes > BYTES_MAX) {
      throw new Fault('SESSION_LIMIT', {
        message: `Cannot take another turn: this conversation holds ${this.#messages.length} messages and ${this.#bytes} bytes`,
        hint: 'Open a new connection; this id stays unresolved and did not run',
      })
    }
    this.#add({ role: 'user', content })
    return [...this.#messages]
  }

  complete(answer: string): void {
    this.#add({ role: 'assistant', content: answer })
  }

  #add(message: Message): void {
    this.#messages.push(message)
    this.#bytes += Buffer.byteLength(message.content)
  }
}
