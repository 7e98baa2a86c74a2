/** An MCP client that writes what it likes, frame by frame, and keeps every message that comes back. It checks nothing. */

/** One message as it came over the wire. */
export interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: { readonly [name: string]: unknown }
  readonly result?: ToolAnswer & { readonly [name: string]: unknown }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly code: string } }
}

export interface ToolAnswer {
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly isError?: boolean
  readonly structuredContent?: { readonly [name: string]: unknown }
  readonly _meta?: { readonly [name: string]: unknown }
}

/** A client that sends what it likes. */
export class RawClient {
  readonly messages: Message[] = []
  readonly #write: (text: string | Uint8Array) => void
  /** Resolves when the broker is gone. */
  readonly ended: Promise<void>
  readonly #watchers = new Set<() => void>()
  #end = (): void => undefined
  #gone = false

  constructor(write: (text: string | Uint8Array) => void) {
    this.#write = write
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  /** The broker's lines, in whatever pieces they come. */
  readonly heard = (
    (rest = '') =>
    (chunk: string): void => {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.messages.push(JSON.parse(line) as Message)
      this.#tell()
    }
  )()

  gone(): void {
    this.#gone = true
    this.#end()
    this.#tell()
  }

  send(frame: object | string | Uint8Array): void {
    if (typeof frame === 'string' || frame instanceof Uint8Array) this.#write(frame)
    else this.#write(`${JSON.stringify(frame)}\n`)
  }

  call(id: string | number, name: string, args: object = {}, meta?: object): void {
    const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) }
    this.send({ jsonrpc: '2.0', id, method: 'tools/call', params })
  }

  /** Resolves once as many messages fit, with the last of them. */
  async seen(fits: (message: Message) => boolean, count = 1): Promise<Message> {
    for (;;) {
      const found = this.messages.filter(fits)
      if (found.length >= count) return found[count - 1] as Message
      if (this.#gone) throw new Error(`the broker ended; it said ${JSON.stringify(this.messages.slice(-5))}`)
      await new Promise<void>((resolve) => {
        const once = (): void => {
          this.#watchers.delete(once)
          resolve()
        }
        this.#watchers.add(once)
      })
    }
  }

  /** The nth answer to this id. */
  async answer(id: string | number | null, nth = 1): Promise<Message> {
    return await this.seen((message) => message.method === undefined && message.id === id, nth)
  }

  async result(id: string | number, nth = 1): Promise<ToolAnswer> {
    const { result, error } = await this.answer(id, nth)
    if (result === undefined) throw new Error(`an error of the protocol: ${JSON.stringify(error)}`)
    return result
  }

  async greet(version = '2025-06-18'): Promise<Message> {
    const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'raw', version: '0' } }
    this.send({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params })
    const answer = await this.answer('hello')
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return answer
  }

  #tell(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

export function textOf({ content }: ToolAnswer): string {
  return content.map(({ text }) => text).join('\n')
}
