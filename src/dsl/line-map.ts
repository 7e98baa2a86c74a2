/**
 * Where a UTF-16 offset of a text stands, for people and for tools that count bytes. Built once a text in linear time; a
 * lookup then reads at most one stride of the text, however long its lines are.
 */
import type { Position } from './diagnostic.ts'

const STRIDE = 256

export class LineMap {
  readonly #text: string
  /** Where each line begins. A line ends with LF; a CR before it belongs to the line. */
  readonly #starts: number[] = [0]
  /** Bytes of UTF-8 before each multiple of the stride. */
  readonly #bytes: number[] = [0]

  constructor(text: string) {
    this.#text = text
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1)
    let bytes = 0
    for (let at = 0; at + STRIDE <= text.length; at += STRIDE) {
      bytes += this.#bytesBetween(at, at + STRIDE)
      this.#bytes.push(bytes)
    }
  }

  /** Offsets outside the text stand for its ends. */
  positionAt(offset: number): Position {
    const at = Math.max(0, Math.min(offset, this.#text.length))
    const line = this.#lineAt(at)
    const mark = Math.floor(at / STRIDE)
    return {
      line: line + 1,
      column: at - (this.#starts[line] ?? 0) + 1,
      offset: (this.#bytes[mark] ?? 0) + this.#bytesBetween(mark * STRIDE, at),
    }
  }

  /** The last line that begins at or before the offset, from 0. */
  #lineAt(at: number): number {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] ?? 0) <= at) low = middle
      else high = middle - 1
    }
    return low
  }

  #bytesBetween(from: number, to: number): number {
    let bytes = 0
    for (let at = from; at < to; at += 1) bytes += bytesOfUnit(this.#text, at)
    return bytes
  }
}

/** A pair of surrogates is four bytes, two for each half; a lone one is encoded as U+FFFD, which takes three. */
function bytesOfUnit(text: string, at: number): number {
  const unit = text.charCodeAt(at)
  if (unit < 0x80) return 1
  if (unit < 0x800) return 2
  if (isHigh(unit)) return isLow(text.charCodeAt(at + 1)) ? 2 : 3
  if (isLow(unit)) return isHigh(text.charCodeAt(at - 1)) ? 2 : 3
  return 3
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff
