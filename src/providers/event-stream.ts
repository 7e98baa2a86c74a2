/**
 * Server-sent events, read from bytes. Strict where a lenient reader would change what was written: invalid UTF-8 is an
 * error and never a replacement character, and an event that the stream does not finish never exists. Only the data of
 * an event is kept: both protocols repeat its name in there.
 */

const LINE_END = /\r\n|\n|\r/g

export class EventStream {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  /** Pieces of a line whose end has not come yet; joined once, so that a long line costs its length and no more. */
  #pieces: string[] = []
  #endedWithReturn = false
  #data: string[] = []

  /** The data of the events that these bytes complete. Throws a TypeError where they are not UTF-8. */
  push(bytes: Uint8Array): string[] {
    let text = this.#decoder.decode(bytes, { stream: true })
    if (text === '') return []
    if (this.#endedWithReturn && text.startsWith('\n')) text = text.slice(1) // the second half of a CRLF
    this.#endedWithReturn = text.endsWith('\r')
    const events: string[] = []
    let from = 0
    for (const match of text.matchAll(LINE_END)) {
      this.#pieces.push(text.slice(from, match.index))
      from = match.index + match[0].length
      const line = this.#pieces.join('')
      this.#pieces = []
      const event = this.#line(line)
      if (event !== null) events.push(event)
    }
    if (from < text.length) this.#pieces.push(text.slice(from))
    return events
  }

  #line(line: string): string | null {
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon) // a line that starts with a colon is a comment
    if (field !== 'data') return null
    this.#data.push(colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1))
    return null
  }

  #dispatch(): string | null {
    const data = this.#data.length === 0 ? null : this.#data.join('\n')
    this.#data = []
    return data
  }
}
