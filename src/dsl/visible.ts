/** Text from a stranger as it can be shown: on one line, with everything that hides or steers written as a code point. */
import { pointName } from './lexer/characters.ts'

/** Controls, formats (direction, joiners, tags), halves of pairs, private letters, line separators, and blank letters. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu

export function visible(text: string): string {
  return text.replaceAll('\t', ' ').replace(HIDDEN, (character) => `<${pointName(character)}>`)
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
const NO_WIDTH = /\p{M}/u

/** Columns that it takes in a terminal, near enough for a caret. */
export function columnsOf(text: string): number {
  let columns = 0
  for (const letter of text) columns += NO_WIDTH.test(letter) ? 0 : WIDE.test(letter) ? 2 : 1
  return columns
}
