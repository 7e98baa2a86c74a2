/**
 * Numbers and durations. The longest match wins: `30.seconds` is one duration, `30.5` one number. Letters that touch the
 * digits and are no unit are one problem, however many tokens they would have been.
 */
import { isDigit, isForeignLetter, isLetter, isNameUnit } from './characters.ts'
import type { Scan } from './scan.ts'
import type { Token } from './token.ts'

const SHORT_UNITS: ReadonlySet<string> = new Set(['s', 'm', 'h', 'd', 'w', 'months', 'y'])
const LONG_UNITS: ReadonlySet<string> = new Set(['seconds', 'minutes', 'hours'])
const UNITS =
  'Durations are whole numbers with .seconds, .minutes, .hours, s, m, h, d, w, months or y, like 30.seconds or 5m'

export function readNumber(scan: Scan): Token {
  const start = scan.at
  const whole = passNumber(scan)
  const dotted = scan.unit() === 0x2e && isLetter(scan.unit(1))
  if (!dotted && !startsUnit(scan)) return scan.token('number', start)
  const unitAt = scan.at
  if (dotted) scan.at += 1
  while (isNameUnit(scan.unit()) || isForeignLetter(scan.text, scan.at)) scan.at += 1
  const unit = scan.text.slice(unitAt + (dotted ? 1 : 0), scan.at)
  if ((dotted ? LONG_UNITS : SHORT_UNITS).has(unit)) return durationToken(scan, start, unitAt, whole)
  const shown = scan.text.slice(start, scan.at)
  scan.problems.add(
    'E120',
    `unknown duration unit "${short(unit)}" in "${short(shown)}"`,
    { start, end: scan.at },
    {
      hint: hintFor(unit, scan.text.slice(start, unitAt)),
    },
  )
  return scan.token('number', start, scan.text.slice(start, unitAt))
}

/** Says whether it was digits alone, which is all that a duration may have before its unit. */
function passNumber(scan: Scan): boolean {
  let whole = true
  passDigits(scan)
  while (scan.unit() === 0x5f && isDigit(scan.unit(1))) {
    whole = false
    scan.at += 1
    passDigits(scan)
  }
  if (scan.unit() === 0x2e && isDigit(scan.unit(1))) {
    whole = false
    scan.at += 1
    passDigits(scan)
  }
  return whole
}

function passDigits(scan: Scan): void {
  while (isDigit(scan.unit())) scan.at += 1
}

const startsUnit = (scan: Scan): boolean =>
  isLetter(scan.unit()) || scan.unit() === 0x5f || isForeignLetter(scan.text, scan.at)

function durationToken(scan: Scan, start: number, unitAt: number, whole: boolean): Token {
  const span = { start, end: scan.at }
  if (!whole) {
    scan.problems.add('E120', `the duration "${short(scan.text.slice(start, scan.at))}" is not a whole number`, span, {
      hint: `${UNITS}; write 90m for one hour and a half`,
    })
    return scan.token('bad', start)
  }
  if (!Number.isSafeInteger(Number(scan.text.slice(start, unitAt)))) {
    scan.problems.add('E120', 'the duration is too large', span, { hint: UNITS })
    return scan.token('bad', start)
  }
  return scan.token('duration', start)
}

function hintFor(unit: string, digits: string): string {
  if (unit === 'ms') return `${UNITS}. There are no milliseconds`
  if (/^[KMGT]i?B$/i.test(unit)) return `A size is a string: "${short(digits + unit)}"`
  if (/^x/i.test(unit) && digits === '0') return 'Numbers are decimal, without a sign or an exponent'
  if (/^e\d+$/i.test(unit)) return 'A number has no exponent: write it out, like 1_000_000'
  return UNITS
}

const short = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text)
