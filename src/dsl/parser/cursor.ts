/**
 * Where the parser stands in the tokens, what it may still nest, and how it goes on after an error.
 *
 * Owns recovery and the bounds of depth: whoever reads a part that holds parts of its own says `enter` and `leave`, and a
 * part that fails is left by a signal, caught where its surroundings can go on. The signal never leaves the parser.
 */
import type { DiagnosticCode } from '../diagnostic.ts'
import type { Tokenized } from '../lexer/lexer.ts'
import { isMark, isWord, type Token } from '../lexer/token.ts'
import { type ProblemDetails, Problems } from '../problems.ts'
import type { Name, Span } from '../tree.ts'
import { Brackets } from './brackets.ts'

/** Levels of nesting that a text may have (1.1). */
export const DEPTH_MAX = 256
/** Levels of the tree. `a.b.c` and `a + b + c` nest to the left without brackets, and whoever walks the tree walks them too. */
const HEIGHT_MAX = 1024

const SKIP = new Error('this part of the source is skipped')
const END: Token = { kind: 'end', start: 0, end: 0, text: '' }

export class Cursor {
  readonly problems = new Problems()
  readonly brackets: Brackets
  readonly #tokens: readonly Token[]
  readonly #brokenAt: number | null
  index = 0
  token: Token
  /** Behind the last token that was taken. */
  #behind = 0
  #depth = 0
  /** Levels below what is being read, as far as is known. */
  #height = 0
  #reportedAt = -1
  #unclosedTold = false

  constructor({ tokens, brokenAt }: Tokenized) {
    this.#tokens = tokens
    this.#brokenAt = brokenAt
    this.brackets = new Brackets(tokens)
    this.token = tokens[0] ?? END
  }

  at(index: number): Token {
    return this.#tokens[index] ?? this.#tokens.at(-1) ?? END
  }

  ahead(count = 1): Token {
    return this.at(this.index + count)
  }

  get ended(): boolean {
    return this.token.kind === 'end'
  }

  is(mark: string): boolean {
    return isMark(this.token, mark)
  }

  isWord(word: string): boolean {
    return isWord(this.token, word)
  }

  next(): Token {
    const token = this.token
    if (token.kind !== 'end') {
      this.#behind = token.end
      this.moveTo(this.index + 1)
    }
    return token
  }

  moveTo(index: number): void {
    this.index = Math.min(index, this.#tokens.length - 1)
    this.token = this.at(this.index)
  }

  take(mark: string): boolean {
    if (!this.is(mark)) return false
    this.next()
    return true
  }

  takeWord(word: string): boolean {
    if (!this.isWord(word)) return false
    this.next()
    return true
  }

  /** From a first token to the last one taken. */
  span(start: number): Span {
    return { start, end: Math.max(start, this.#behind) }
  }

  nameOf(token: Token): Name {
    return { kind: 'name', text: token.text, span: { start: token.start, end: token.end } }
  }

  /** Before going into a part that holds parts. What it returns belongs to `leave`. */
  enter(): number {
    this.#depth += 1
    if (this.#depth > DEPTH_MAX) this.#tooDeep(`nested more than ${DEPTH_MAX} levels deep`)
    const height = this.#height
    this.#height = 0
    return height
  }

  leave(entered: number): void {
    this.#depth -= 1
    this.#height = Math.max(entered, this.#height + 1)
  }

  /** A chain nests what was read so far one level deeper, without brackets. */
  startChain(): number {
    const height = this.#height
    this.#height = 0
    return height
  }

  addLink(): void {
    this.#height += 1
    if (this.#depth + this.#height > HEIGHT_MAX) this.#tooDeep(`chained over more than ${HEIGHT_MAX} steps`)
  }

  endChain(started: number): void {
    this.#height = Math.max(started, this.#height)
  }

  #tooDeep(how: string): never {
    this.fail(`the text is ${how}`, { code: 'E103', hint: 'Take it apart: name the inner parts with let or type' })
  }

  /** Reports at the current token and leaves the part. */
  fail(
    message: string,
    details: ProblemDetails & { readonly code?: DiagnosticCode; readonly span?: Span } = {},
  ): never {
    this.report(message, details)
    throw SKIP
  }

  /** One problem a place, and none where the lexer has said everything. */
  report(
    message: string,
    details: ProblemDetails & { readonly code?: DiagnosticCode; readonly span?: Span } = {},
  ): void {
    const { code = 'E100', span = this.token, ...rest } = details
    const known = this.token.kind === 'bad' || this.#reportedAt === this.index
    this.#reportedAt = this.index
    if (known || (this.#brokenAt !== null && this.token.start >= this.#brokenAt)) return
    this.problems.add(code, message, { start: span.start, end: span.end }, rest)
  }

  /** An opening brace without its closing one, told at the opener, and only once: the others follow from it. */
  unclosed(opener: number, what: string, found: string): void {
    if (this.#unclosedTold || this.#brokenAt !== null || this.brackets.isClosed(opener)) return
    this.#unclosedTold = true
    const { start, end } = this.at(opener)
    this.problems.add(
      'E101',
      `the brace that opens ${what} is not closed`,
      { start, end },
      {
        hint: 'Add the missing }',
        related: [{ message: found, span: { start: this.token.start, end: this.token.end } }],
      },
    )
  }

  /**
   * Reads a part; when it fails, skips to where the next one may begin: behind a comma, a semicolon or a block, at a token
   * that `starts` one, or at the end of the brace that `opener` opened. Always moves on.
   */
  attempt(opener: number, read: () => void, starts: (index: number) => boolean): void {
    const [began, depth, height] = [this.index, this.#depth, this.#height]
    try {
      read()
      if (this.index === began) throw SKIP
    } catch (signal) {
      if (signal !== SKIP) throw signal
      this.#depth = depth
      this.#height = height
      // more than can be shown: nobody uses such a text, and nobody reads on
      this.skipTo(this.problems.isFull ? this.#tokens.length - 1 : this.#resume(opener, began, starts))
    }
  }

  skipTo(index: number): void {
    this.#behind = Math.max(this.#behind, this.at(index - 1).end)
    this.moveTo(index)
  }

  #resume(opener: number, began: number, starts: (index: number) => boolean): number {
    const { brackets } = this
    let index = this.index
    for (let around = brackets.around(index); around !== opener && around !== -1; around = brackets.around(index)) {
      index = brackets.behind(around)
    }
    for (;;) {
      const token = this.at(index)
      if (token.kind === 'end' || (opener !== -1 && isMark(token, '}'))) return index
      if (index > began && starts(index)) return index
      if (opener !== -1 && (isMark(token, ',') || isMark(token, ';'))) return index + 1
      index = brackets.isOpener(index) ? brackets.behind(index) : index + 1
      if (isMark(token, '{') && this.at(index).kind === 'word') return index
    }
  }
}
