/**
 * Text from elsewhere, made fit for a terminal. What a model, a tool or a server wrote could otherwise move the cursor,
 * recolour or rewrite what stands on the screen, or turn the direction of writing; none of that reaches a terminal.
 */
import { stripVTControlCharacters } from 'node:util'

/** Control characters without newline and tab, marks that turn the direction of text, line separators, and tag letters. */
const UNSAFE = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\u2028\u2029]|[\u{e0000}-\u{e007f}]/gu

/** Several lines are kept. A carriage return, which would overwrite its line, ends it instead. */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replace(/\r\n?/g, '\n').replace(UNSAFE, '').toWellFormed()
}

/** One line, at most so many columns wide. Runs of white space become one space. */
export function oneLine(text: string, columnsMax = Number.POSITIVE_INFINITY): string {
  return cut(plain(text).replace(/\s+/g, ' ').trim(), columnsMax)
}

export function cut(text: string, columnsMax: number): string {
  if (widthOf(text) <= columnsMax) return text
  let kept = ''
  let width = 0
  for (const letter of text) {
    width += widthOf(letter)
    if (width > columnsMax - 1) break
    kept += letter
  }
  return `${kept}…`
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u
const NO_WIDTH = /\p{M}|[\u200b-\u200d]|[\ufe00-\ufe0f]/u

/** Columns that the text takes. Good enough for a layout; a terminal may see some emoji differently. */
export function widthOf(text: string): number {
  let width = 0
  for (const letter of text) width += NO_WIDTH.test(letter) ? 0 : WIDE.test(letter) ? 2 : 1
  return width
}

/** Breaks lines at spaces, and inside a word only where it is longer than a whole line. */
export function wrap(text: string, columns: number): readonly string[] {
  return text.split('\n').flatMap((line) => wrapLine(line.replaceAll('\t', '  ').trimEnd(), Math.max(8, columns)))
}

function wrapLine(line: string, columns: number): string[] {
  const lines: string[] = []
  let current = ''
  let width = 0
  const end = (): void => {
    lines.push(current.trimEnd())
    current = ''
    width = 0
  }
  for (const word of line.split(/(?<= )/)) {
    const wordWidth = widthOf(word.trimEnd())
    if (width > 0 && wordWidth <= columns && width + wordWidth > columns) end()
    for (const letter of word) {
      const more = widthOf(letter)
      if (width + more > columns && letter !== ' ') end()
      current += letter
      width += more
    }
  }
  end()
  return lines
}

/** JSON on one line whose text no terminal can obey: the same value, with the unsafe characters escaped. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, (letter) =>
    Array.from({ length: letter.length }, (_, at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  )
}
