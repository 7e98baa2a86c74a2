/** Names, keywords and vault addresses. A letter of another alphabet is reported once, and read as the one it resembles. */
import { isForeignLetter, isLetter, isNameUnit, pointName } from './characters.ts'
import type { Scan } from './scan.ts'
import type { Token } from './token.ts'

/** Letters of other alphabets (Cyrillic, Greek, Armenian, phonetic) that look like an ASCII one in common fonts. */
const ALIKE: Readonly<Record<string, string>> = {
  A: '\u0391\u0410',
  B: '\u0392\u0412',
  C: '\u0421',
  E: '\u0395\u0415',
  H: '\u0397\u041d',
  I: '\u0399\u0406',
  J: '\u0408',
  K: '\u039a\u041a',
  M: '\u039c\u041c',
  N: '\u039d',
  O: '\u039f\u041e',
  P: '\u03a1\u0420',
  S: '\u0405',
  T: '\u03a4\u0422',
  X: '\u03a7\u0425',
  Y: '\u03a5\u0423',
  Z: '\u0396',
  a: '\u0251\u03b1\u0430',
  c: '\u03c2\u0441',
  d: '\u0501',
  e: '\u0435',
  g: '\u0261',
  h: '\u04bb',
  i: '\u0131\u03b9\u0456',
  j: '\u0458',
  k: '\u03ba\u043a',
  m: '\u043c',
  n: '\u03b7\u043f\u0578',
  o: '\u03bf\u043e\u0585',
  p: '\u03c1\u0440',
  q: '\u051b',
  s: '\u0455',
  t: '\u03c4\u0442',
  u: '\u03c5\u057d',
  v: '\u03bd',
  w: '\u03c9\u051d',
  x: '\u03c7\u0445',
  y: '\u03b3\u0443',
}
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map(
  Object.entries(ALIKE).flatMap(([ascii, others]) => Array.from(others, (other) => [other, ascii] as const)),
)

const VAULT = 'vault://'
const isVaultUnit = (unit: number): boolean => isNameUnit(unit) || unit === 0x2d || unit === 0x2f || unit === 0x2e

export const startsWord = (scan: Scan): boolean =>
  isLetter(scan.unit()) || scan.unit() === 0x5f || isForeignLetter(scan.text, scan.at)

export function readWord(scan: Scan): Token {
  const start = scan.at
  if (scan.text.startsWith(VAULT, start) && isVaultUnit(scan.unit(VAULT.length))) return readVaultUrl(scan)
  const foreign = passWord(scan)
  return foreign === null ? scan.token('word', start) : foreignWord(scan, start, foreign)
}

/** Moves behind the word; returns where its first letter beyond ASCII stands. */
function passWord(scan: Scan): number | null {
  let foreign: number | null = null
  for (;;) {
    if (isNameUnit(scan.unit())) {
      scan.at += 1
    } else if (scan.unit() > 0x7f && isForeignLetter(scan.text, scan.at)) {
      foreign ??= scan.at
      scan.at += (scan.text.codePointAt(scan.at) ?? 0) > 0xffff ? 2 : 1
    } else {
      return foreign
    }
  }
}

function readVaultUrl(scan: Scan): Token {
  const start = scan.at
  scan.at += VAULT.length
  while (isVaultUnit(scan.unit())) scan.at += 1
  return scan.token('vault-url', start)
}

/** The rest of the parser sees the word that was probably meant, so one letter costs one diagnostic. */
function foreignWord(scan: Scan, start: number, foreign: number): Token {
  const written = scan.text.slice(start, scan.at)
  const letter = String.fromCodePoint(scan.text.codePointAt(foreign) ?? 0)
  const meant = written
    .normalize('NFKC')
    .replace(/[^\p{ASCII}]/gu, (character) => LOOK_ALIKES.get(character) ?? character)
  const like = LOOK_ALIKES.get(letter)
  const shown = written.length > 40 ? `${written.slice(0, 40)}…` : written
  scan.problems.add(
    'E100',
    `the name "${shown}" holds "${letter}" (${pointName(letter)}), which ${
      like === undefined ? 'is not an ASCII letter' : `only looks like the ASCII letter "${like}"`
    }`,
    { start: foreign, end: foreign + letter.length },
    {
      hint:
        /^\w+$/.test(meant) && meant.length <= 60
          ? `Names hold ASCII letters, digits and "_": write ${meant}`
          : 'Names hold ASCII letters, digits and "_"; other text goes into a string',
    },
  )
  return scan.token('word', start, meant)
}
