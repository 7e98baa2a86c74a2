/** The last client of a life, who asks about everything that was ever asked, each time through the door that it was asked at. */
import type { ClientAnswer } from '../laws/seen.ts'
import { ChatClient } from './chat-client.ts'
import { HttpLine } from './http-line.ts'
import type { Shore } from './shore.ts'
import { StdioLine } from './stdio-line.ts'
import { callOf, ToolClient } from './tool-client.ts'

const NAME = 'the last one'

/** What is asked about, and who had asked: ids of one caller are nothing for another. */
export interface AskedBefore {
  readonly surface: 'chat' | 'identified'
  readonly label: string
  readonly caller: string | null
}

export class LastClient {
  readonly #shore: Shore
  readonly #chat: ChatClient
  readonly #own: StdioLine
  #tools: ToolClient

  constructor(shore: Shore) {
    this.#shore = shore
    this.#chat = new ChatClient(shore, NAME)
    this.#own = new StdioLine(shore, NAME)
    this.#tools = this.#overHttp()
  }

  async answerAbout(id: string, { surface, label, caller }: AskedBefore): Promise<ClientAnswer | null> {
    if (surface === 'chat') return await this.#chat.inspect(label, id)
    for (;;) {
      const client = caller === null ? this.#tools : new ToolClient(this.#shore, NAME, this.#own)
      const answer = await client.make(callOf(this.#shore.seed, label, label), id, label)
      if (answer?.kind === 'Done') await this.#askForAnother(client, id, label)
      if (answer?.kind !== 'Refused' || answer.code !== 'TOOL_SESSION_CLOSED') return answer
      this.#tools = this.#overHttp() // a call before it ended the session
    }
  }

  /** The id of a call that is done, with another content: whoever sends that must not be told that it is done. */
  async #askForAnother(client: ToolClient, id: string, label: string): Promise<void> {
    const token = `${label}!`
    await client.make(callOf(this.#shore.seed, label, token), id, token)
  }

  /** Throws when its own process does not end with its client, though nothing keeps it from that. */
  async leave(): Promise<void> {
    this.#chat.hangUp()
    if (!(await this.#own.leave())) throw new Error('the process that the last client had started did not end with it')
  }

  #overHttp(): ToolClient {
    return new ToolClient(this.#shore, NAME, new HttpLine(this.#shore, NAME))
  }
}
