/** A tool client over HTTP: a session that is opened with the first request, and found again by its id. */
import { chanceOf } from '../chance.ts'
import { ask, type HttpAnswer } from './http-client.ts'
import { AGENT } from './scenario.ts'
import type { Shore } from './shore.ts'
import { greetingOf, type LineAnswer, type ToolLine } from './tool-line.ts'

const PATH = `/mcp?agent=${AGENT}`
const WAIT_MS = 200_000

export class HttpLine implements ToolLine {
  readonly isGone = false
  readonly #shore: Shore
  readonly #name: string
  #session: string | null = null
  #requests = 0

  constructor(shore: Shore, name: string) {
    this.#shore = shore
    this.#name = name
  }

  async ask(method: string, params: object): Promise<LineAnswer | null> {
    if (this.#session === null && !(await this.#greet())) return null
    const answer = await this.#post(method, params)
    if (answer?.status === 404) this.#session = null
    return answer === null ? null : { body: answer.body, otherwise: `HTTP ${answer.status}` }
  }

  async leave(): Promise<void> {
    if (this.#session !== null)
      await ask(this.#shore, {
        method: 'DELETE',
        path: PATH,
        headers: { 'mcp-session-id': this.#session },
        waitMs: WAIT_MS,
      })
    this.#session = null
  }

  async #greet(): Promise<boolean> {
    const answer = await this.#post('initialize', greetingOf(this.#name))
    this.#session = answer?.headers.get('mcp-session-id') ?? null
    return this.#session !== null
  }

  #post(method: string, params: object): Promise<HttpAnswer | null> {
    this.#requests += 1
    const session: Record<string, string> = this.#session === null ? {} : { 'mcp-session-id': this.#session }
    const accept = chanceOf(this.#shore.seed, `accept ${this.#name}`).happens(0.5)
      ? 'application/json, text/event-stream'
      : 'application/json'
    const body = { jsonrpc: '2.0', id: this.#requests, method, params }
    return ask(this.#shore, { method: 'POST', path: PATH, headers: { accept, ...session }, body, waitMs: WAIT_MS })
  }
}
