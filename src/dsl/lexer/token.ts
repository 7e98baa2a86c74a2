/** What the parser reads: words, values and marks, each with its place. */
import type { Span } from '../tree.ts'

/** `bad` stands for text that was already reported; whoever stumbles over it stays silent. */
export type TokenKind = 'word' | 'string' | 'number' | 'duration' | 'vault-url' | 'mark' | 'bad' | 'end'

export interface Token extends Span {
  readonly kind: TokenKind
  /** The value of a string, the ASCII form of a word, otherwise what stands there. */
  readonly text: string
}

export const isMark = (token: Token, mark: string): boolean => token.kind === 'mark' && token.text === mark
export const isWord = (token: Token, word: string): boolean => token.kind === 'word' && token.text === word

/** For messages, so it is short. What a string holds is not repeated: it can be anything. */
export function described(token: Token): string {
  if (token.kind === 'end') return 'the end of the file'
  if (token.kind === 'string') return 'a string'
  const text = token.text.length > 40 ? `${token.text.slice(0, 40)}…` : token.text
  return `"${text}"`
}

/** A name inside a message: however long it is, a file's messages together stay short. */
export function called({ text }: { readonly text: string }): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text
}
