/** The state of one pass over a text. Every reader of a token moves `at` forward, and nobody moves it back. */
import { type Problem, Problems } from '../problems.ts'
import type { Token, TokenKind } from './token.ts'

export class Scan {
  readonly text: string
  readonly problems = new Problems()
  at = 0
  /** Where the first string began that holds the end of a line. When a quote is missing, this is where it was forgotten. */
  longString: Token | null = null
  /** A string that nothing closes, where it begins. Nothing is read behind it. */
  broken: Problem | null = null
  /** A search that once ran to the end of the text without success is not tried again: that would be quadratic. */
  readonly #absent = new Set<string>()
  #feed = -1

  constructor(text: string) {
    this.text = text
  }

  unit(ahead = 0): number {
    return this.text.charCodeAt(this.at + ahead)
  }

  /** The token from `start` to where we are. */
  token(kind: TokenKind, start: number, text = this.text.slice(start, this.at)): Token {
    return { kind, start, end: this.at, text }
  }

  /** Where `wanted` stands next, from here on, or -1. */
  find(wanted: string, from: number): number {
    if (this.#absent.has(wanted)) return -1
    const at = this.text.indexOf(wanted, from)
    if (at === -1) this.#absent.add(wanted)
    return at
  }

  /** The end of the line we are in, without its CR. Remembered: one line can hold very many tokens that ask. */
  endOfLine(): number {
    if (this.#feed < this.at) {
      const feed = this.find('\n', this.at)
      this.#feed = feed === -1 ? this.text.length : feed
    }
    const end = this.#feed
    return end > this.at && this.text.charCodeAt(end - 1) === 0x0d ? end - 1 : end
  }
}
