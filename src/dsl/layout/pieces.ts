/**
 * A text as pieces: every token in its order, and what stands between it and the one before. Whoever lays out a tree says
 * here what he wants; `page.ts` writes it down.
 */

/**
 * `free`: nothing or one space, and a line break where the author made one. `item`: a space, and the author's line break if
 * there is one behind the opening bracket, too. `mirror`: before a closing bracket, a line break exactly when there is one
 * behind the opening bracket. `trailing`: a comma that is left out where the closing bracket stays on its line. `separator`:
 * nothing before `:`, a space before `=`. `paragraph`: an empty line.
 */
export type Gap =
  | 'none'
  | 'space'
  | 'free'
  | 'free-space'
  | 'item'
  | 'mirror'
  | 'mirror-space'
  | 'trailing'
  | 'separator'
  | 'line'
  | 'paragraph'

export type Piece = Token | { readonly kind: 'hang' } | { readonly kind: 'end-hang' }

export interface Token {
  readonly kind: 'token'
  readonly gap: Gap
  readonly text: string
  /**
   * What stands behind an `open` is one step further in than the line of the bracket; behind an `open-block`, than the line
   * on which its statement began, however often the head of that statement was broken. An `open-line` is an `open` whose
   * author is not asked about lines: only a comment can break it.
   */
  readonly bracket: 'open' | 'open-line' | 'open-block' | 'close' | null
  /** `literal`: authors spell it in several ways. `optional`: it stands there only if an author wrote it. */
  readonly written: 'as-is' | 'literal' | 'optional'
}

export function word(out: Piece[], gap: Gap, text: string): void {
  out.push({ kind: 'token', gap, text, bracket: null, written: 'as-is' })
}

export function literal(out: Piece[], gap: Gap, text: string): void {
  out.push({ kind: 'token', gap, text, bracket: null, written: 'literal' })
}

export function optional(out: Piece[], gap: Gap, text: string): void {
  out.push({ kind: 'token', gap, text, bracket: null, written: 'optional' })
}

export function open(out: Piece[], gap: Gap, text: string): void {
  bracket(out, gap, text, 'open')
}

export function openLine(out: Piece[], gap: Gap, text: string): void {
  bracket(out, gap, text, 'open-line')
}

export function openBlock(out: Piece[], gap: Gap, text: string): void {
  bracket(out, gap, text, 'open-block')
}

export function close(out: Piece[], gap: Gap, text: string): void {
  bracket(out, gap, text, 'close')
}

/** Lines that begin inside are one step further in than the line on which it starts. */
export function hanging(out: Piece[], inside: () => void): void {
  out.push({ kind: 'hang' })
  inside()
  out.push({ kind: 'end-hang' })
}

function bracket(out: Piece[], gap: Gap, text: string, kind: Token['bracket']): void {
  out.push({ kind: 'token', gap, text, bracket: kind, written: 'as-is' })
}
