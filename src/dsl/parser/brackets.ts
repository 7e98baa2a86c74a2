/**
 * Which bracket belongs to which, before anything is parsed. With it the parser can leave a broken part in one step, knows
 * which opener was never closed, and no recovery reads the text twice.
 */
import type { Token } from '../lexer/token.ts'

const CLOSER_OF: Readonly<Record<string, string>> = { '{': '}', '(': ')', '[': ']' }

export class Brackets {
  /** For each token the opener around it, or -1. A closer stands inside its own pair. */
  readonly #around: Int32Array
  /** For each opener its closer, or the token at which it was given up. */
  readonly #endOf: Int32Array
  readonly #closed: Uint8Array

  constructor(tokens: readonly Token[]) {
    this.#around = new Int32Array(tokens.length)
    this.#endOf = new Int32Array(tokens.length).fill(-1)
    this.#closed = new Uint8Array(tokens.length)
    this.#pair(tokens)
  }

  around(index: number): number {
    return this.#around[index] ?? -1
  }

  isClosed(opener: number): boolean {
    return this.#closed[opener] === 1
  }

  isOpener(index: number): boolean {
    return (this.#endOf[index] ?? -1) !== -1
  }

  /** The first token behind the pair that this opener begins. */
  behind(opener: number): number {
    return (this.#endOf[opener] ?? opener) + (this.isClosed(opener) ? 1 : 0)
  }

  /** Braces are the stronger pair: one that closes gives up the parentheses and square brackets left open inside it. */
  #pair(tokens: readonly Token[]): void {
    const open: number[] = []
    let braces = 0
    const textAt = (index: number | undefined): string => (index === undefined ? '' : (tokens[index]?.text ?? ''))
    const giveUp = (at: number): void => {
      const opener = open.pop()
      if (opener !== undefined) this.#endOf[opener] = at
    }
    for (const [index, token] of tokens.entries()) {
      if (token.kind === 'end') while (open.length > 0) giveUp(index)
      const mark = token.kind === 'mark' ? token.text : ''
      if (mark === '}' && braces > 0) while (textAt(open.at(-1)) !== '{') giveUp(index)
      this.#around[index] = open.at(-1) ?? -1
      const top = open.at(-1)
      if (top !== undefined && mark !== '' && CLOSER_OF[textAt(top)] === mark) {
        this.#closed[top] = 1
        if (mark === '}') braces -= 1
        giveUp(index)
      } else if (Object.hasOwn(CLOSER_OF, mark)) {
        if (mark === '{') braces += 1
        open.push(index)
      }
    }
  }
}
