/**
 * The terminal that controls this process, by its own name: standard input may be a file or a pipe that somebody else fills.
 *
 * What is typed while nobody asks is dropped, so that an answer can only be to a question that was shown before it.
 */
import { close, constants, open } from 'node:fs'
import { ReadStream, WriteStream } from 'node:tty'
import { promisify } from 'node:util'
import { toFault } from './file-faults.ts'
import type { ControllingTerminal } from './world.ts'

const openFile = promisify(open)
const closeFile = promisify(close)
const NAME = '/dev/tty'
const LINE_END = 0x0a

export async function nodeTerminal(): Promise<ControllingTerminal | null> {
  const input = await opened(constants.O_RDONLY)
  if (input === null) return null
  const output = await opened(constants.O_WRONLY)
  if (output === null) {
    await closeFile(input)
    return null
  }
  return new Terminal(new ReadStream(input), new WriteStream(output))
}

/** Null where there is none: no such name, or no terminal behind it. */
async function opened(how: number): Promise<number | null> {
  try {
    return await openFile(NAME, how | constants.O_NOCTTY)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENXIO' || code === 'ENOENT' || code === 'ENOTTY') return null
    throw toFault(error)
  }
}

class Terminal implements ControllingTerminal {
  readonly #input: ReadStream
  readonly #output: WriteStream
  #listener: ((bytes: Buffer | null) => void) | null = null
  #over = false

  constructor(input: ReadStream, output: WriteStream) {
    this.#input = input
    this.#output = output
    const end = (): void => {
      this.#over = true
      this.#listener?.(null)
    }
    input.on('data', (bytes: Buffer) => this.#listener?.(bytes))
    input.on('end', end)
    input.on('error', end) // a terminal that hung up
    output.on('error', end)
    input.unref() // it is read all the time, and keeps the process only while somebody is asked
  }

  async write(text: string): Promise<void> {
    if (this.#over) return
    await new Promise<void>((resolve) => this.#output.write(text, () => resolve()))
  }

  async readLine(bytesMax: number, signal: AbortSignal): Promise<string | null> {
    signal.throwIfAborted()
    if (this.#over) return null
    this.#input.ref()
    try {
      return await new Promise<string | null>((resolve, reject) => {
        const bytes: number[] = []
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
        this.#listener = (chunk) => {
          if (chunk === null) return resolve(null)
          for (const byte of chunk) {
            if (byte === LINE_END) return resolve(bytes.length > bytesMax ? null : Buffer.from(bytes).toString())
            if (bytes.length <= bytesMax) bytes.push(byte)
          }
        }
      })
    } finally {
      this.#listener = null
      this.#input.unref()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true
    this.#input.destroy()
    this.#output.destroy()
  }
}
