/** Classes of UTF-16 units and characters, and how a character is named to people. */

export const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39
export const isLetter = (unit: number): boolean => (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a)
/** What a name may hold: ASCII letters, digits and `_`. */
export const isNameUnit = (unit: number): boolean => isLetter(unit) || isDigit(unit) || unit === 0x5f
export const isSpace = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x09 || unit === 0x0d

const FOREIGN_LETTER = /^[\p{L}\p{M}\p{N}]$/u

/** A letter, mark or number beyond ASCII, which belongs to the word around it although no name may hold it. */
export function isForeignLetter(text: string, at: number): boolean {
  const point = text.codePointAt(at)
  return point !== undefined && point > 0x7f && FOREIGN_LETTER.test(String.fromCodePoint(point))
}

export function pointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

/** Characters that turn the direction of what follows: with them, a text reads differently from what it is. */
export const DIRECTION_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g
