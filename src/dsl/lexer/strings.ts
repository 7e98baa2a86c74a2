/** Strings in double quotes, and the forms that people bring from elsewhere: single, typographic and triple quotes. */
import { pointName } from './characters.ts'
import type { Scan } from './scan.ts'
import type { Token } from './token.ts'

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

export function readString(scan: Scan): Token {
  if (scan.text.startsWith('"""', scan.at)) return readTripleQuoted(scan)
  const start = scan.at
  scan.at += 1
  let value = ''
  let from = scan.at
  let spansLines = false
  for (;;) {
    if (scan.at >= scan.text.length) return unclosed(scan, start)
    const unit = scan.unit()
    if (unit === 0x22) break
    if (unit === 0x5c) {
      value += scan.text.slice(from, scan.at) + readEscape(scan)
      from = scan.at
    } else {
      if (unit === 0x0a) spansLines = true
      scan.at += 1
    }
  }
  value += scan.text.slice(from, scan.at)
  scan.at += 1
  const token = scan.token('string', start, wellFormed(scan, start, value))
  if (spansLines) scan.longString ??= token
  return token
}

/** Moves behind the escape. One that is unknown stands for its character, and the author is told. */
function readEscape(scan: Scan): string {
  const start = scan.at
  const letter = String.fromCodePoint(scan.text.codePointAt(start + 1) ?? 0x20)
  scan.at = Math.min(start + 1 + letter.length, scan.text.length)
  const simple = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined
  if (simple !== undefined) return simple
  const hex = scan.text.slice(scan.at, scan.at + 4)
  if (letter === 'u' && /^[0-9a-f]{4}$/i.test(hex)) {
    scan.at += 4
    return String.fromCharCode(Number.parseInt(hex, 16))
  }
  if (scan.at < scan.text.length) {
    scan.problems.add(
      'W211',
      `unknown escape "\\${letter}" in a string`,
      { start, end: scan.at },
      {
        kind: 'warning',
        hint: 'It is read as the character itself. Known are \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX; a backslash is written \\\\',
      },
    )
  }
  return letter
}

/** Half a surrogate pair has no UTF-8, so neither hash nor policy could mean the same text. */
function wellFormed(scan: Scan, start: number, value: string): string {
  if (value.isWellFormed()) return value
  scan.problems.add(
    'E100',
    'a string holds half of a surrogate pair',
    { start, end: scan.at },
    {
      hint: 'Write both halves, like \\ud83d\\ude00, or the character itself',
    },
  )
  return value.toWellFormed()
}

/**
 * A string may span lines, so a forgotten quote turns every later string inside out, and only the last one is left without an
 * end. The first that spans lines is the likelier place, and everything behind it is a consequence: the text ends here.
 */
function unclosed(scan: Scan, opener: number): Token {
  const start = scan.longString?.start ?? opener
  scan.broken = {
    kind: 'syntax',
    code: 'E101',
    message: 'a string is not closed: it begins here',
    hint: 'End it with a double quote; a double quote inside is written \\"',
    span: { start, end: start + 1 },
    related:
      start === opener
        ? []
        : [{ message: 'or here, if the first one is meant to span lines', span: { start: opener, end: opener + 1 } }],
  }
  return scan.token('bad', start)
}

function readTripleQuoted(scan: Scan): Token {
  const start = scan.at
  const close = scan.find('"""', start + 3)
  if (close === -1) {
    scan.at = start + 3
    return unclosed(scan, start)
  }
  scan.at = close + 3
  while (scan.unit() === 0x22) scan.at += 1
  scan.problems.add(
    'E100',
    'triple quotes are not part of the language',
    { start, end: start + 3 },
    {
      hint: 'Use "…"; a string may span lines, and a double quote inside is written \\"',
    },
  )
  return scan.token('string', start, scan.text.slice(start + 3, close))
}

/** What closes what people take for quotes: apostrophes, and the pairs that word processors put in. */
const FOREIGN_QUOTES: ReadonlyMap<string, string> = new Map([
  ["'", "'"],
  ['`', '`'],
  ['\u2018', '\u2019'],
  ['\u201a', '\u2018\u2019'],
  ['\u201c', '\u201d'],
  ['\u201d', '\u201d'],
  ['\u201e', '\u201c\u201d'],
  ['\u00ab', '\u00bb'],
])

export const opensForeignQuote = (scan: Scan): boolean => FOREIGN_QUOTES.has(scan.text.charAt(scan.at))

/** Read as the string that was meant, when it ends on its line. */
export function readForeignQuoted(scan: Scan): Token {
  const start = scan.at
  const lineEnd = scan.endOfLine()
  const quote = scan.text.charAt(start)
  const closers = FOREIGN_QUOTES.get(quote) ?? ''
  let close = start + 1
  while (close < lineEnd && !closers.includes(scan.text.charAt(close))) close += 1
  scan.problems.add(
    'E100',
    `strings do not stand in ${quote === "'" ? 'single quotes' : `${quote} (${pointName(quote)})`}`,
    { start, end: start + 1 },
    { hint: 'They stand in straight double quotes: "…"' },
  )
  const closed = close < lineEnd
  scan.at = closed ? close + 1 : lineEnd
  return closed ? scan.token('string', start, scan.text.slice(start + 1, close)) : scan.token('bad', start)
}
