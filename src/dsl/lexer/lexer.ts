/**
 * Text to tokens, in one pass and in linear time. Owns what the language looks like letter by letter (1.2), and reports what
 * it cannot read; leaves the meaning of words to the parser, for which every keyword is a word like any other.
 */
import type { Problem } from '../problems.ts'
import type { Comment } from '../tree.ts'
import { DIRECTION_CONTROLS, isDigit, isSpace, pointName } from './characters.ts'
import { readNumber } from './numbers.ts'
import { Scan } from './scan.ts'
import { readStrays } from './strays.ts'
import { opensForeignQuote, readForeignQuoted, readString } from './strings.ts'
import type { Token } from './token.ts'
import { readWord, startsWord } from './words.ts'

export interface Tokenized {
  /** The last one is of kind `end`. */
  readonly tokens: readonly Token[]
  readonly comments: readonly Comment[]
  readonly problems: readonly Problem[]
  /** Where a string begins that nothing closes: the tokens end here. Null when all are closed. */
  readonly brokenAt: number | null
}

export function tokenize(text: string): Tokenized {
  const scan = new Scan(text)
  const tokens: Token[] = []
  const comments: Comment[] = []
  reportDirectionControls(scan)
  while (scan.at < text.length) {
    if (isSpace(scan.unit())) {
      scan.at += 1
    } else if (startsComment(scan)) {
      comments.push(readComment(scan))
    } else if (scan.unit() === 0x2f && scan.unit(1) === 0x2a) {
      passBlockComment(scan)
    } else {
      const token = readToken(scan)
      if (scan.broken !== null) break
      tokens.push(token)
    }
  }
  return tokenized(scan, tokens, comments)
}

/** What was read behind the beginning of a broken string is inside out, and so is what was said about it. */
function tokenized(
  { text, broken, problems }: Scan,
  tokens: readonly Token[],
  comments: readonly Comment[],
): Tokenized {
  const end = broken === null ? text.length : broken.span.start
  const last: Token = { kind: 'end', start: end, end, text: '' }
  if (broken === null) return { tokens: [...tokens, last], comments, problems: problems.list, brokenAt: null }
  return {
    tokens: [...tokens.filter((token) => token.end <= end), last],
    comments: comments.filter(({ span }) => span.end <= end),
    problems: [...problems.list.filter(({ span }) => span.start < end), broken],
    brokenAt: end,
  }
}

/** What may follow a mark to make a longer one. */
const SECOND: Readonly<Record<string, string>> = {
  '=': '=>',
  '!': '=',
  '<': '=',
  '>': '=',
  '-': '=>',
  '+': '=',
  '*': '=',
  '/': '=',
  '%': '=',
  '&': '&',
  '|': '|',
  ':': ':',
}
const ONE = '{}()[],;:.=!<>+-*/%'

function readToken(scan: Scan): Token {
  const unit = scan.unit()
  if (unit === 0x22) return readString(scan)
  if (opensForeignQuote(scan)) return readForeignQuoted(scan)
  if (isDigit(unit)) return readNumber(scan)
  if (startsWord(scan)) return readWord(scan)
  const start = scan.at
  const length = markLength(scan.text, start)
  if (length === 0) return readStrays(scan)
  scan.at += length
  return scan.token('mark', start)
}

function markLength(text: string, at: number): number {
  const [first, next] = [text.charAt(at), text.charAt(at + 1)]
  if (next !== '' && SECOND[first]?.includes(next)) return 2
  return ONE.includes(first) ? 1 : 0
}

const startsComment = (scan: Scan): boolean => scan.unit() === 0x23 || (scan.unit() === 0x2f && scan.unit(1) === 0x2f)

/** A lone CR begins a new line in some editors, and what follows would look like code although it is none. */
function readComment(scan: Scan): Comment {
  const start = scan.at
  scan.at = scan.endOfLine()
  const text = scan.text.slice(start, scan.at)
  const cr = text.indexOf('\r')
  if (cr !== -1) {
    scan.problems.add(
      'E100',
      'a comment holds a carriage return without a line feed',
      { start: start + cr, end: start + cr + 1 },
      { hint: 'End lines with LF or CR LF' },
    )
  }
  return { text, span: { start, end: scan.at } }
}

function passBlockComment(scan: Scan): void {
  const start = scan.at
  const close = scan.find('*/', start + 2)
  scan.at = close === -1 ? scan.endOfLine() : close + 2
  scan.problems.add(
    'E100',
    'block comments are not part of the language',
    { start, end: start + 2 },
    {
      hint: 'Comments run from // or # to the end of the line',
    },
  )
}

function reportDirectionControls(scan: Scan): void {
  for (const { 0: character, index } of scan.text.matchAll(DIRECTION_CONTROLS)) {
    scan.problems.add(
      'E100',
      `the text holds ${pointName(character)}, which changes the direction in which it is shown`,
      { start: index, end: index + 1 },
      { hint: `What is shown would differ from what is read. In a string write \\u${pointName(character).slice(2)}` },
    )
  }
}
