/**
 * A tool client with a process of its own, as MCP clients start their servers: it writes one request a line, reads one answer a
 * line, and closes its end when it has had enough. A process that is over is followed by another one, with the next request.
 */
import { type OwnProcess, pause, type Shore, within } from './shore.ts'
import { greetingOf, type LineAnswer, type ToolLine } from './tool-line.ts'

const WAIT_MS = 200_000
/** A process that does not come up is started so often, for one request. */
const STARTS_MAX = 5
const RETRY_MS = 1_000
/** So long the machine is without power. */
const DARK_MS = 50
const LINE_FEED = 0x0a

export class StdioLine implements ToolLine {
  /** Whoever may start such a process is one caller, and another one than those over HTTP. */
  readonly caller = 'stdio'
  readonly #shore: Shore
  readonly #name: string
  readonly #onRequest: (number: number, process: OwnProcess) => void
  #requests = 0
  #server: Server | null = null
  #greeting: Promise<Server | null> | null = null
  #light: Promise<void> = Promise.resolve()
  #isGone = false

  /** `onRequest`: told of each request, counted from 0 over all its processes, when it is sent. */
  constructor(shore: Shore, name: string, onRequest: (number: number, process: OwnProcess) => void = () => undefined) {
    this.#shore = shore
    this.#name = name
    this.#onRequest = onRequest
  }

  get isGone(): boolean {
    return this.#isGone
  }

  async ask(method: string, params: object): Promise<LineAnswer | null> {
    this.#greeting ??= this.#greeted().finally(() => {
      this.#greeting = null
    })
    const server = await this.#greeting
    const body = server === null ? null : await this.#send(server, method, params)
    if (body === null) return null
    // its session takes no more calls, and a process has no other
    if (body.includes('TOOL_SESSION_CLOSED') && server === this.#server) await this.leave()
    return { body, otherwise: 'INTERNAL' }
  }

  /** False for a process that had to be killed. */
  async leave(): Promise<boolean> {
    const server = this.#server
    this.#server = null
    return server === null || (await server.leave())
  }

  /** The client is killed, and its process with it. */
  die(): void {
    this.#isGone = true
    this.lose()
  }

  /** The machine is without power: nothing that was on its way to the client arrives, and it starts nothing until there is some. */
  lose(): void {
    this.#server?.lose()
    this.#server = null
    this.#light = pause(this.#shore, DARK_MS)
  }

  /** The process that is there, or a fresh one that has answered; null when there is none. */
  async #greeted(): Promise<Server | null> {
    if (this.#server?.isThere === true) return this.#server
    for (let starts = 0; starts < STARTS_MAX; starts += 1) {
      await this.#light
      if (this.#shore.over || this.#isGone) break
      const server = new Server(this.#shore, this.#shore.start())
      this.#server = server
      if ((await this.#send(server, 'initialize', greetingOf(this.#name))) !== null) {
        server.notify('notifications/initialized')
        return server
      }
      await this.leave()
      await pause(this.#shore, RETRY_MS)
    }
    return null
  }

  #send(server: Server, method: string, params: object): Promise<string | null> {
    this.#onRequest(this.#requests, server.process)
    this.#requests += 1
    return server.request(method, params)
  }
}

/** One process, as its client sees it. */
class Server {
  readonly #shore: Shore
  readonly process: OwnProcess
  readonly #ended: Promise<void>
  readonly #waiting = new Map<number, (line: string | null) => void>()
  #requests = 0
  #unread = Buffer.alloc(0)
  #isThere = true

  constructor(shore: Shore, process: OwnProcess) {
    this.#shore = shore
    this.process = process
    process.output.on('data', (bytes: Buffer) => this.#read(bytes))
    this.#ended = new Promise((resolve) => {
      process.output.once('end', resolve)
      process.output.once('close', () => resolve())
    })
    void this.#ended.then(() => this.#over())
  }

  get isThere(): boolean {
    return this.#isThere
  }

  /** Null when there is no answer. */
  async request(method: string, params: object): Promise<string | null> {
    if (!this.#isThere) return null
    this.#requests += 1
    const id = this.#requests
    const answer = new Promise<string | null>((resolve) => this.#waiting.set(id, resolve))
    this.#write({ id, method, params })
    const line = await within(this.#shore, WAIT_MS, answer)
    this.#waiting.delete(id)
    return line
  }

  notify(method: string): void {
    this.#write({ method })
  }

  /** Closes its end, and kills a process that does not leave, which is false. */
  async leave(): Promise<boolean> {
    this.process.input.end()
    await within(this.#shore, WAIT_MS, this.#ended)
    const leaves = !this.#isThere
    if (!leaves) this.process.kill()
    this.#over()
    return leaves
  }

  lose(): void {
    this.process.input.vanish()
    this.process.output.vanish()
    this.process.kill()
    this.#over()
  }

  #write(message: object): void {
    if (this.#isThere) this.process.input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #read(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes])
    for (let at = this.#unread.indexOf(LINE_FEED); at !== -1; at = this.#unread.indexOf(LINE_FEED)) {
      const line = this.#unread.subarray(0, at).toString()
      this.#unread = this.#unread.subarray(at + 1)
      this.#waiting.get((JSON.parse(line) as { readonly id: number }).id)?.(line)
    }
  }

  #over(): void {
    this.#isThere = false
    for (const resolve of this.#waiting.values()) resolve(null)
    this.#waiting.clear()
  }
}
