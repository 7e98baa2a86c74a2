/** Readers of two variables whose values have rules of their own: the name of the environment, and the legacy token. */
import { type Reader, Unfit, word } from './values.ts'

const NAMES = {
  development: ['development', 'dev', 'local'],
  staging: ['staging', 'stage', 'preview'],
  production: ['production', 'prod'],
  test: ['test', 'ci'],
} as const
type Name = keyof typeof NAMES

/** A name that is not understood might have meant production, so nothing starts under it. */
export const environmentName: Reader<Name> = (given) => {
  const text = String(given).trim().toLowerCase()
  for (const name of Object.keys(NAMES) as Name[]) {
    if ((NAMES[name] as readonly string[]).includes(text)) return name
  }
  throw new Unfit('must be development, staging, production or test')
}

const TOKEN_CHARS_MIN = 20
/** A random token of this length has more different characters than this. */
const DIFFERENT_CHARS_MIN = 8
/** Words of placeholders that found their way from an example into a deployment. */
const PLACEHOLDER = /change.?me|password|placeholder|example|your.?(?:api.?)?token|letmein|qwerty|12345678|abcdefgh/i

/** The token never appears in the reason. */
export const strongToken: Reader<string> = (given, base) => {
  const token = word(given, base)
  if ([...token].length < TOKEN_CHARS_MIN) throw new Unfit(`must have at least ${TOKEN_CHARS_MIN} characters`)
  if (new Set(token).size < DIFFERENT_CHARS_MIN || PLACEHOLDER.test(token)) {
    throw new Unfit('must be random: it can be guessed as it is')
  }
  return token
}
