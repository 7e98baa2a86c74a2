/**
 * Messages of a stdio server: one strict JSON value a line, bounded. Whatever else stands on its stdout is a break of the
 * protocol, because nobody could say which bytes were meant for us.
 */
import { Fault, type Json, readJson } from '../core/index.ts'
import { DEPTH_MAX, FRAME_BYTES_MAX } from './limits.ts'

export class FrameReader {
  #pieces: Uint8Array[] = []
  #bytes = 0

  /** The messages that these bytes complete. Throws a Fault where a line is too long or is not strict JSON. */
  push(chunk: Uint8Array): readonly Json[] {
    const messages: Json[] = []
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end))
      from = end + 1
      messages.push(readMessage(Buffer.concat(this.#pieces)))
      this.#pieces = []
      this.#bytes = 0
    }
    this.#keep(chunk.subarray(from))
    return messages
  }

  #keep(piece: Uint8Array): void {
    if (piece.length === 0) return
    this.#bytes += piece.length
    if (this.#bytes > FRAME_BYTES_MAX) throw tooLong()
    this.#pieces.push(piece)
  }
}

const NEWLINE = 0x0a

export function readMessage(source: string | Uint8Array): Json {
  return readJson(source, { depthMax: DEPTH_MAX, bytesMax: FRAME_BYTES_MAX })
}

export function tooLong(): Fault {
  return new Fault('PAYLOAD_TOO_LARGE', {
    message: `Cannot read a message: it is longer than ${FRAME_BYTES_MAX} bytes`,
  })
}
