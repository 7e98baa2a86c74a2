/** Canonical texts that are asked for again and again: of what cannot change any more, the text is made once. */
import { canonical } from './canonical-json.ts'
import { isFrozenThrough } from './json.ts'

const written = new WeakMap<object, string>()

/** As `canonical`. The text of what was given to `deepFreeze` is kept as long as the value is. */
export function canonicalOnce(value: object): string {
  const known = written.get(value)
  if (known !== undefined) return known
  const text = canonical(value)
  if (isFrozenThrough(value)) written.set(value, text)
  return text
}
