/** What a command is given on standard input: taken as it is, to the last newline, or refused as a whole. */
import { Fault } from '../core/index.ts'
import type { Console } from './console.ts'

const INPUT_BYTES_MAX = 1024 * 1024

/** Throws `PAYLOAD_TOO_LARGE`. `what` names it in messages. */
export async function inputBytes(console: Console, what: string): Promise<Uint8Array> {
  const bytes = await console.input(INPUT_BYTES_MAX)
  if (bytes.length <= INPUT_BYTES_MAX) return bytes
  throw new Fault('PAYLOAD_TOO_LARGE', {
    message: `Cannot read ${what}: it is longer than ${INPUT_BYTES_MAX} bytes`,
    hint: 'Give less on standard input',
  })
}

/** Throws `PAYLOAD_TOO_LARGE`, and `INVALID_REQUEST` for what is no text. */
export async function inputText(console: Console, what: string): Promise<string> {
  const bytes = await inputBytes(console, what)
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new Fault('INVALID_REQUEST', {
      message: `Cannot read ${what}: it is not UTF-8`,
      hint: 'Give a text in UTF-8 on standard input',
      cause,
    })
  }
}
