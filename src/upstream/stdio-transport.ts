/** A server as a child process: messages go over its pipes, what it writes to stderr goes to the operator. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { assert, Fault, messageOf } from '../core/index.ts'
import type { Child, ChildExit, Program, World } from '../world/index.ts'
import { FrameReader } from './frames.ts'
import { FRAME_BYTES_MAX, GRACE_MS, UNASKED_BYTES_MAX, UNASKED_MESSAGES_MAX } from './limits.ts'
import { lineTeller } from './stderr-lines.ts'

/** How long a child whose stdout ended may take to be gone, so that its exit can be told. */
const LEAVING_MS = 100

export interface StdioParts {
  readonly world: World
  readonly program: Program
  /** Says whether a value is a message, or throws. */
  readonly parse: (value: unknown) => JSONRPCMessage
  readonly onLine: (line: string) => void
}

export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>
  readonly #parts: StdioParts
  readonly #frames = new FrameReader()
  #child: Child | null = null
  #unasked = 0
  #unaskedMessages = 0
  #closed = false

  constructor(parts: StdioParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    const child = await this.#parts.world.processes.spawn(this.#parts.program)
    this.#child = child
    child.stdin.on('error', (error) => this.#fail(`its input is closed (${messageOf(error)})`))
    child.stdout.on('error', (error) => this.#fail(`its output cannot be read (${messageOf(error)})`))
    child.stderr.on('error', () => undefined)
    child.stdout.on('data', (chunk: Uint8Array) => {
      this.#take(chunk)
      child.stdout.pause() // whoever else has work has a turn before the next piece
      void this.#parts.world.clock.yield().then(() => child.stdout.resume())
    })
    child.stdout.on('close', () => void this.#ended(child))
    child.stderr.on('data', lineTeller(this.#parts.onLine))
    if (this.#closed) await this.close() // it was given up while it started
  }

  async send(message: JSONRPCMessage): Promise<void> {
    assert(this.#child !== null, 'a connection is started before it is used')
    const text = `${JSON.stringify(message)}\n`
    const bytes = Buffer.byteLength(text)
    if (bytes > FRAME_BYTES_MAX) {
      throw new Fault('PAYLOAD_TOO_LARGE', {
        message: `Cannot send a message of ${bytes} bytes: ${FRAME_BYTES_MAX} are allowed`,
      })
    }
    // Not when we refuse what it asked of us, and not for the list of its tools, which it can make us ask for at any time.
    if ('method' in message && 'id' in message && message.method !== 'tools/list') {
      this.#unasked = 0
      this.#unaskedMessages = 0
    }
    const { stdin } = this.#child
    await new Promise<void>((resolve, reject) => {
      stdin.write(text, (error) => (error ? reject(error) : resolve()))
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#child?.end(GRACE_MS)
  }

  #take(chunk: Uint8Array): void {
    if (this.#closed) return
    this.#unasked += chunk.length
    try {
      const values = this.#frames.push(chunk)
      this.#unaskedMessages += values.length
      if (this.#unasked > UNASKED_BYTES_MAX || this.#unaskedMessages > UNASKED_MESSAGES_MAX)
        throw new Fault('PAYLOAD_TOO_LARGE', { message: 'it does not stop sending' })
      for (const value of values) {
        if (!this.#closed) this.onmessage?.(this.#parts.parse(value))
      }
    } catch (error) {
      this.#fail(`what it wrote to its output is no message (${messageOf(error)})`)
    }
  }

  async #ended(child: Child): Promise<void> {
    if (this.#closed) return
    const { clock } = this.#parts.world
    const exit = await Promise.race([child.exited, clock.sleep(LEAVING_MS, new AbortController().signal)])
    this.#fail(exit === undefined ? 'it closed its output' : exitWords(exit))
  }

  #fail(reason: string): void {
    if (this.#closed) return
    this.#closed = true
    this.onerror?.(new Error(reason))
  }
}

function exitWords({ code, signal }: ChildExit): string {
  return code === null ? `it was ended by ${signal}` : `it exited with code ${code}`
}
