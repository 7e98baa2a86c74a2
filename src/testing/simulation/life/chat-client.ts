/** A chat client: it sends, repeats, asks, falls silent and vanishes, and remembers what it was told. */
import { WebSocket } from 'ws'
import { type ClientAnswer, type SaidCode, UNSETTLED } from '../laws/seen.ts'
import type { Wire } from '../machine/wire.ts'
import { invocationId, requestLabel } from './ids.ts'
import type { ChatStep } from './plan.ts'
import { connected, pause, type Shore, within } from './shore.ts'

const WAIT_MS = 400_000

export class ChatClient {
  readonly #shore: Shore
  readonly #name: string
  #socket: WebSocket | null = null
  #wire: Wire | null = null
  /** Ids that were sent and have no final answer. */
  readonly #open = new Map<string, () => void>()
  /** By id, when it was asked about over this connection, as far as no answer came. */
  readonly #asked = new Map<string, number[]>()

  constructor(shore: Shore, name: string) {
    this.#shore = shore
    this.#name = name
  }

  async run(steps: readonly ChatStep[]): Promise<void> {
    for (const step of steps) {
      if (this.#shore.over) break
      await this.#take(step)
    }
    this.#socket?.terminate()
  }

  /** The final answer about a request, asked in a connection of its own; null when none came. */
  async inspect(label: string, id: string): Promise<ClientAnswer | null> {
    const answer = new Promise<ClientAnswer>((resolve) => {
      this.#final = resolve
    })
    await this.#send({ type: 'ChatInspect', id, content: contentOf(label) }, label)
    return await within(this.#shore, WAIT_MS, answer)
  }
  #final: (answer: ClientAnswer) => void = () => undefined

  hangUp(): void {
    this.#socket?.terminate()
  }

  async #take(step: ChatStep): Promise<void> {
    switch (step.do) {
      case 'send':
        return await this.#say('ChatSend', step.request)
      case 'inspect':
        return await this.#say('ChatInspect', step.request)
      case 'conflict':
        return await this.#say('ChatSend', step.request, '!')
      case 'noise':
        return await this.#raw('{"type":"ChatSend","id":"not an id","content":7}')
      case 'pause':
        return await pause(this.#shore, step.ms)
      case 'await':
        return await this.#answers()
      case 'vanish':
        return this.#wire?.vanish()
      case 'leave':
        this.#socket?.close()
        this.#socket = null
    }
  }

  async #say(type: 'ChatSend' | 'ChatInspect', request: number, twist = ''): Promise<void> {
    const label = requestLabel(request)
    await this.#send(
      { type, id: invocationId(this.#shore.seed, label), content: contentOf(label + twist) },
      label + twist,
    )
  }

  async #send(
    message: { readonly type: string; readonly id: string; readonly content: string },
    label: string,
  ): Promise<void> {
    const { observer } = this.#shore
    if (message.type === 'ChatSend') {
      const { token: caller } = this.#shore
      observer.see({
        ...{ kind: 'Asked', client: this.#name, caller, surface: 'chat' },
        ...{ id: message.id, request: label, token: label },
      })
    }
    if (message.type === 'ChatInspect') {
      observer.see({ kind: 'AskedAbout', id: message.id })
      this.#asked.set(message.id, [...(this.#asked.get(message.id) ?? []), observer.seen.length])
    }
    this.#open.set(message.id, () => undefined)
    await this.#raw(JSON.stringify(message))
  }

  async #raw(text: string): Promise<void> {
    const socket = await this.#connection()
    if (socket?.readyState === WebSocket.OPEN) socket.send(text, () => undefined)
  }

  async #connection(): Promise<WebSocket | null> {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket
    const wire = await connected(this.#shore)
    if (wire === null) return null
    const socket = new WebSocket(`ws://127.0.0.1:8080/ws/chat?token=${this.#shore.token}`, {
      createConnection: () => wire as never,
      perMessageDeflate: false,
    })
    socket.on('error', () => undefined)
    socket.on('message', (data) => this.#hear(JSON.parse(String(data))))
    const opened = new Promise<boolean>((resolve) => {
      socket.once('open', () => resolve(true))
      socket.once('close', () => resolve(false))
    })
    socket.once('close', () => this.#lost(socket))
    this.#socket = socket
    this.#wire = wire
    if ((await within(this.#shore, 30_000, opened)) === true) return socket
    socket.terminate()
    return null
  }

  #hear(message: { readonly type: string; readonly request_id?: string | null } & Record<string, unknown>): void {
    const id = message.request_id ?? null
    if (message.type === 'AuditOpened') {
      this.#shore.observer.publicKey ??= String((message.audit as { readonly public_key: unknown }).public_key)
    }
    const answer = answerIn(message)
    if (answer === null) return
    const { observer, token: caller } = this.#shore
    const askedAt = answer.kind === 'Opened' ? undefined : this.#asked.get(id ?? '')?.shift()
    const when = askedAt === undefined ? {} : { askedAt }
    observer.see({ kind: 'Told', client: this.#name, caller, surface: 'chat', id, answer, ...when })
    if (answer.kind === 'Opened' || id === null) return
    this.#open.get(id)?.()
    this.#open.delete(id)
    this.#final(answer)
  }

  /** Nobody answers any more over this connection. */
  #lost(socket: WebSocket): void {
    if (this.#socket === socket) {
      this.#socket = null
      this.#asked.clear()
    }
    for (const done of this.#open.values()) done()
    this.#open.clear()
  }

  async #answers(): Promise<void> {
    const all = Promise.all(
      [...this.#open.keys()].map((id) => new Promise<void>((resolve) => this.#open.set(id, resolve))),
    )
    await within(this.#shore, WAIT_MS, all)
  }
}

function contentOf(label: string): string {
  return `please ${label}`
}

function answerIn(message: { readonly type: string } & Record<string, unknown>): ClientAnswer | null {
  switch (message.type) {
    case 'AuditOpened': {
      const { path } = message.audit as { readonly path: string }
      return { kind: 'Opened', journal: path.slice(path.lastIndexOf('/') + 1) }
    }
    case 'ChatChunk':
      if (message.done !== true) return null
      return { kind: 'Done', content: String(message.content), replayed: message.replayed === true }
    case 'Error': {
      const code = message.code as SaidCode
      return { kind: kindOf(code), code }
    }
    default:
      return null
  }
}

/** Answers of a run that ended, and not well. Everything else was refused before a run began. */
const FAILED = /^(?:LOOP_ERROR|RUN_|PROVIDER_|BUDGET_|JOURNAL_|TOOL_|INTERNAL)/

function kindOf(code: SaidCode): 'Unknown' | 'Failed' | 'Refused' {
  if (UNSETTLED.has(code)) return 'Unknown'
  return FAILED.test(code) ? 'Failed' : 'Refused'
}
