/** The last client of a life, who asks about everything that was ever asked. */
import type { ClientAnswer } from '../laws/seen.ts'
import { ChatClient } from './chat-client.ts'
import type { Shore } from './shore.ts'
import { callOf, ToolClient } from './tool-client.ts'

export class LastClient {
  readonly #shore: Shore
  readonly #chat: ChatClient
  #tools: ToolClient

  constructor(shore: Shore) {
    this.#shore = shore
    this.#chat = new ChatClient(shore, 'the last one')
    this.#tools = new ToolClient(shore, 'the last one')
  }

  async answerAbout(surface: 'chat' | 'identified', id: string, label: string): Promise<ClientAnswer | null> {
    if (surface === 'chat') return await this.#chat.inspect(label, id)
    for (;;) {
      const answer = await this.#tools.make(callOf(this.#shore.seed, label, label), id, label)
      if (answer?.kind !== 'Refused' || answer.code !== 'TOOL_SESSION_CLOSED') return answer
      this.#tools = new ToolClient(this.#shore, 'the last one') // a call before it ended the session
    }
  }

  leave(): void {
    this.#chat.hangUp()
  }
}
