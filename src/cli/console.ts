/**
 * What a command may say, and where. Results go to stdout and nothing else does; words for people, progress and problems go
 * to stderr. A reader that goes away ends the output, not the work.
 */
import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export interface Console {
  /** A line of the result. */
  result(line: string): void
  /** A line for the person who waits. */
  note(line: string): void
  /** Progress on the current line of a terminal; nothing elsewhere. */
  progress(text: string): void
  /** Styled where results are shown on a terminal that wants colour, plain elsewhere. */
  paint(style: Style, text: string): string
  /** True when somebody looks at stderr. */
  readonly interactive: boolean
  /** True when somebody types. */
  readonly typed: boolean
  /** All of standard input, as it is. Of what is longer than `bytesMax`, a beginning that is longer too. */
  input(bytesMax: number): Promise<Uint8Array>
  /** The next lines of standard input. */
  lines(): AsyncIterable<string>
  /** Standard input and output as they are, for a command that speaks a protocol there. It prints nothing else then. */
  wire(): { readonly input: Readable; readonly output: Writable }
  /** Calls back at Ctrl-C or a request to end, until the returned function is called. */
  onInterrupt(callback: (signal: string) => void): () => void
}

export interface ProcessConsole extends Console {
  /** True when a command spoke a protocol and was told to end: then what its client has not read is written for nobody. */
  readonly abandonsOutput: boolean
}

export function processConsole(): ProcessConsole {
  const { stdin, stdout, stderr } = process
  const colour = stdout.isTTY === true && process.env.NO_COLOR === undefined
  let progressShown = false
  let isWire = false
  let interrupted = false
  const clear = (): void => {
    if (progressShown) stderr.write('\r\u001b[K')
    progressShown = false
  }
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
  return {
    result: (line) => {
      clear()
      stdout.write(`${line}\n`)
    },
    note: (line) => {
      clear()
      stderr.write(`${line}\n`)
    },
    progress: (text) => {
      if (stderr.isTTY !== true) return
      clear()
      stderr.write(text)
      progressShown = text !== ''
    },
    paint: (style, text) => (colour ? styleText(style, text) : text),
    interactive: stderr.isTTY === true,
    typed: stdin.isTTY === true,
    input: async (bytesMax) => {
      const chunks: Buffer[] = []
      let bytes = 0
      for await (const chunk of stdin as AsyncIterable<Buffer>) {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > bytesMax) break // nobody waits for the end of what is refused anyway
      }
      return Buffer.concat(chunks)
    },
    lines: async function* () {
      const { createInterface } = await import('node:readline')
      const reader = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY })
      try {
        yield* reader
      } finally {
        reader.close() // or a terminal that nobody reads any more would keep the process
      }
    },
    wire: () => {
      isWire = true
      return { input: stdin, output: stdout }
    },
    onInterrupt: (callback) => {
      const told = (signal: string): void => {
        interrupted = true
        callback(signal)
      }
      process.on('SIGINT', told)
      process.on('SIGTERM', told)
      return () => {
        process.off('SIGINT', told)
        process.off('SIGTERM', told)
      }
    },
    get abandonsOutput() {
      return isWire && interrupted
    },
  }
}
