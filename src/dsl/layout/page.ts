/**
 * Writes pieces down: indentation, line breaks, and comments between the tokens where their author put them. Only white
 * space is decided here, and whether a comma at the end of a list stays; no token and no comment moves past another.
 */
import { assert } from '../../core/index.ts'
import type { Gap, Token } from './pieces.ts'

const STEP = '    '

/** What an author put between a token and the one before it. */
export interface Before {
  readonly comments: readonly PlacedComment[]
  /** Line ends directly before the token. */
  readonly breaks: number
}

export interface PlacedComment {
  readonly text: string
  /** Line ends before it. None: it stands behind a token and stays there. */
  readonly breaks: number
}

export const NOTHING_BEFORE: Before = { comments: [], breaks: 0 }

/** What is inside a bracket or a hanging construct. */
interface Frame {
  /** Steps of indentation of a line that begins here. */
  readonly level: number
  /** Nothing stands behind the bracket yet. */
  isFresh: boolean
  /** A new line begins behind the bracket. */
  isBroken: boolean
}

const FLAT: Readonly<Record<Exclude<Gap, 'separator'>, '' | ' '>> = {
  none: '',
  space: ' ',
  free: '',
  'free-space': ' ',
  item: ' ',
  mirror: '',
  'mirror-space': ' ',
  trailing: '',
  line: '',
  paragraph: '',
}
/** Where an author has no say about lines: even where a comment makes one, no empty line comes with it. */
const TIGHT: ReadonlySet<Gap> = new Set(['none', 'space', 'separator', 'trailing'])

export class Page {
  readonly #parts: string[] = []
  #length = 0
  readonly #frames: Frame[] = []
  #top: Frame = { level: 0, isFresh: false, isBroken: false }
  /** Constructs that begin with the next token. */
  #hangs = 0
  /** Of the current line. */
  #indent = 0

  /** UTF-16 units written so far. */
  get length(): number {
    return this.#length
  }

  hang(): void {
    this.#hangs += 1
  }

  endHang(): void {
    assert(this.#hangs === 0, 'a construct holds a token')
    this.#pop()
  }

  /** `text` is how the token is spelled. */
  token({ gap, bracket }: Token, text: string, { comments, breaks }: Before): void {
    const inside = this.#top
    if (gap === 'trailing' && !inside.isBroken) return
    const lines = this.#comments(comments, gap)
    if (comments.length > 0 || wantsLine(gap, breaks, inside)) {
      if (bracket === 'close') this.#newLine(inside.level - 1, false)
      else this.#newLine(inside.level, isApart(gap, breaks, lines, inside))
      inside.isBroken ||= inside.isFresh
    } else {
      this.#write(gap === 'separator' ? (text === ':' ? '' : ' ') : FLAT[gap])
    }
    inside.isFresh = false
    this.#write(text)
    this.#step(bracket, inside)
  }

  /** The whole text, with one line end behind it. */
  end({ comments }: Before): string {
    assert(this.#frames.length === 0, 'everything that began has ended')
    this.#comments(comments, 'paragraph')
    return `${this.#parts.join('')}\n`
  }

  /** Writes comments, and says how many of them have a line of their own. */
  #comments(comments: readonly PlacedComment[], gap: Gap): number {
    const inside = this.#top
    let lines = 0
    for (const { text, breaks } of comments) {
      if (breaks === 0 && this.#length > 0) this.#write(' ')
      else {
        this.#newLine(inside.level, isApart(gap, breaks, lines, inside))
        lines += 1
      }
      this.#write(text)
    }
    return lines
  }

  #step(bracket: Token['bracket'], inside: Frame): void {
    if (bracket === 'close') this.#pop()
    for (; this.#hangs > 0; this.#hangs -= 1) this.#push(inside.level + 1, false)
    if (bracket === 'open' || bracket === 'open-line') this.#push(this.#indent + 1, true)
    if (bracket === 'open-block') this.#push(inside.level + 1, true)
  }

  #push(level: number, isFresh: boolean): void {
    this.#frames.push(this.#top)
    this.#top = { level, isFresh, isBroken: false }
  }

  #pop(): void {
    const outer = this.#frames.pop()
    assert(outer !== undefined, 'what ends has begun')
    this.#top = outer
  }

  #newLine(indent: number, withEmptyLine: boolean): void {
    if (this.#length > 0) this.#write(withEmptyLine ? '\n\n' : '\n')
    this.#write(STEP.repeat(indent))
    this.#indent = indent
  }

  #write(text: string): void {
    if (text === '') return
    this.#parts.push(text)
    this.#length += text.length
  }
}

function wantsLine(gap: Gap, breaks: number, inside: Frame): boolean {
  switch (gap) {
    case 'none':
    case 'space':
    case 'separator':
    case 'trailing':
      return false
    case 'free':
    case 'free-space':
      return breaks > 0
    case 'item':
      return inside.isBroken && breaks > 0
    case 'mirror':
    case 'mirror-space':
      return inside.isBroken
    case 'line':
    case 'paragraph':
      return true
  }
}

/** Whether an empty line comes first: never more than one, and none behind an opening bracket. */
function isApart(gap: Gap, breaks: number, linesBefore: number, inside: Frame): boolean {
  if (linesBefore === 0 && inside.isFresh) return false
  if (linesBefore === 0 && gap === 'paragraph') return true
  return breaks > 1 && !TIGHT.has(gap)
}
