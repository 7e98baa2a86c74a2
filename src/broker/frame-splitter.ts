/** A stream of bytes cut into lines, of which none is ever held beyond its bound: of a longer one only the edges are kept. */
import { Fault } from '../core/index.ts'
import { FRAME_BYTES_MAX, type Frame, idAtTheEdge, readFrame } from './frame.ts'

const LINE_FEED = 0x0a
const EDGE_BYTES = 512

export interface SplitFrame {
  readonly frame: Frame
  /** Of the whole line, without its end. */
  readonly bytes: number
}

export class FrameSplitter {
  #chunks: Uint8Array[] = []
  #held = 0
  /** Bytes of this line, held or not. */
  #length = 0

  /** What stands behind the last line feed. */
  end(): SplitFrame | null {
    return this.#take()
  }

  *push(chunk: Uint8Array): Generator<SplitFrame> {
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
      this.#keep(chunk.subarray(from, at))
      from = at + 1
      const split = this.#take()
      if (split !== null) yield split
    }
    this.#keep(chunk.subarray(from))
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return
    this.#length += part.length
    this.#chunks.push(part)
    this.#held += part.length
    if (this.#held <= FRAME_BYTES_MAX) return
    const all = Buffer.concat(this.#chunks)
    this.#chunks = [Buffer.from(all.subarray(0, EDGE_BYTES)), Buffer.from(all.subarray(-EDGE_BYTES))]
    this.#held = 2 * EDGE_BYTES
  }

  #take(): SplitFrame | null {
    const bytes = this.#length
    const line = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#held = 0
    this.#length = 0
    if (line.every(isSpace)) return null
    return { frame: bytes > FRAME_BYTES_MAX ? tooLong(line, bytes) : readFrame(line), bytes }
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d
}

function tooLong(edges: Uint8Array, bytes: number): Frame {
  const problem = new Fault('PAYLOAD_TOO_LARGE', {
    message: `Cannot read the frame: ${bytes} bytes are more than the ${FRAME_BYTES_MAX} allowed here`,
    hint: 'Send less in one call',
  })
  return { kind: 'Broken', id: idAtTheEdge(edges), problem }
}
