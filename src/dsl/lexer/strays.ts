/** Characters that no token begins with. A run of them is one problem. */
import { DIRECTION_CONTROLS, isForeignLetter, isNameUnit, isSpace, pointName } from './characters.ts'
import type { Scan } from './scan.ts'
import { opensForeignQuote } from './strings.ts'
import type { Token } from './token.ts'

const HINTS: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/[\u2019\u201b\u201d\u201f\u00bb\u2033\uff02]/, 'Strings stand in straight double quotes: "…"'],
  [/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/, 'It looks like a space: write an ordinary one'],
  [/[\u00ad\u200b-\u200d\u2060-\u2064\ufeff]/, 'It is invisible: delete it'],
  [/[\u2010-\u2015\u2212]/, 'A minus sign is "-"'],
  [/[\uff00-\uffef]/, 'It is a full-width character: write the ASCII one'],
  [/&/, '"And" is written &&'],
  [/\|/, '"Or" is written ||'],
]
const KNOWN = new Set(Array.from('{}()[],;:.=!<>+-*/%"\'#'))

export function readStrays(scan: Scan): Token {
  const start = scan.at
  const first = String.fromCodePoint(scan.text.codePointAt(start) ?? 0)
  scan.at += first.length
  while (scan.at < scan.text.length && isStray(scan) && !opensForeignQuote(scan)) scan.at += 1
  if (first.search(DIRECTION_CONTROLS) === 0) return scan.token('bad', start) // reported for the text as a whole
  const hint = HINTS.find(([pattern]) => pattern.test(first))?.[1]
  scan.problems.add(
    'E100',
    `the character ${named(first)} has no place here`,
    { start, end: start + first.length },
    {
      ...(hint === undefined ? {} : { hint }),
    },
  )
  return scan.token('bad', start)
}

const isStray = (scan: Scan): boolean => {
  const unit = scan.unit()
  if (isNameUnit(unit) || isSpace(unit) || KNOWN.has(String.fromCharCode(unit))) return false
  return unit <= 0x7f || !isForeignLetter(scan.text, scan.at)
}

const named = (character: string): string =>
  /^[\x21-\x7e]$/.test(character) ? `"${character}"` : `"${character}" (${pointName(character)})`
