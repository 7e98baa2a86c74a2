/**
 * A connection over two streams: one frame a line, as MCP has it for standard input and output. Of a client that does not
 * read its answers no more is read either.
 */
import type { Readable, Writable } from 'node:stream'
import { Fault } from '../core/index.ts'
import type { Connection, Reply } from './connection.ts'
import { FrameSplitter, type SplitFrame } from './frame-splitter.ts'

/**
 * Serves until the client ends its input, its output breaks, the connection is over, or the signal fires. What was taken
 * until then is answered before this resolves, unless the signal fired.
 */
export async function serveStream(
  connection: Connection,
  { input, output }: { readonly input: Readable; readonly output: Writable },
  signal: AbortSignal,
): Promise<void> {
  const writer = new LineWriter(output)
  const reply: Reply = { write: (text, last) => writer.write(text, last), drop: () => undefined }
  const receive = ({ frame, bytes }: SplitFrame): void => connection.receive(frame, bytes, reply)
  const splitter = new FrameSplitter()
  const over = new AbortController()
  const end = (): void => over.abort()
  if (signal.aborted) return
  signal.addEventListener('abort', end, { once: true })
  const wasClosed = connection.onclose
  connection.onclose = () => {
    wasClosed?.()
    end()
  }
  output.on('error', end)
  try {
    for await (const chunk of untilAborted(input, over.signal)) {
      for (const split of splitter.push(chunk)) receive(split)
      await writer.drained(over.signal)
    }
    const rest = splitter.end()
    if (rest !== null && !over.signal.aborted) receive(rest)
    if (!signal.aborted) await unlessAborted(connection.idle(), signal)
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** The chunks of the stream. An aborted reader leaves quietly, and so does one whose stream broke: the client is gone. */
async function* untilAborted(input: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stop = (): void => void input.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const chunk of input) {
      if (signal.aborted) return
      yield chunk as Uint8Array
    }
  } catch {
    // the end of the input, however it came
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  let stop = (): void => undefined
  const aborted = new Promise<void>((resolve) => {
    stop = resolve
    signal.addEventListener('abort', stop, { once: true })
  })
  await Promise.race([work, aborted])
  signal.removeEventListener('abort', stop)
}

class LineWriter {
  readonly #output: Writable

  constructor(output: Writable) {
    this.#output = output
  }

  /** A reader who is behind is told the answers, and no progress before them. */
  write(text: string, last: boolean): Promise<void> {
    if (!last && this.#output.writableNeedDrain) return Promise.resolve()
    return new Promise((resolve, reject) => {
      if (this.#output.destroyed) {
        reject(new Fault('CONNECTION_LOST', { message: 'Cannot answer the client: it is gone' }))
        return
      }
      this.#output.write(`${text}\n`, (error) => (error == null ? resolve() : reject(error)))
    })
  }

  /** Resolves when the client has read enough, or is gone. */
  async drained(signal: AbortSignal): Promise<void> {
    if (!this.#output.writableNeedDrain || signal.aborted) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#output.off('drain', done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#output.once('drain', done)
      signal.addEventListener('abort', done, { once: true })
    })
  }
}
