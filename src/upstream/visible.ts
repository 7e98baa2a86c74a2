/** Text from a server as an operator may see it: one line, and no character that a terminal obeys. */
import { cutText } from '../core/index.ts'

const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu

export function visible(text: string, unitsMax = 300): string {
  return cutText(text, unitsMax).replace(
    UNSAFE,
    (letter) => `\\u{${(letter.codePointAt(0) as number).toString(16).padStart(4, '0')}}`,
  )
}
