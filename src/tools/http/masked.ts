/** A server may repeat the credentials that it was sent. They are replaced where they stand, as a whole or without their scheme. */
const SECRET_CHARACTERS_MIN = 8

/**
 * `cut`: the text was cut off at its end, and so may be a secret there. The longest goes first, or a secret that another one
 * begins with would leave the rest of that one.
 */
export function masked(text: string, secrets: readonly string[], cut = false): string {
  const parts = secrets
    .flatMap((secret) => [secret, secret.replace(/^\w+ +/, '')])
    .filter((part) => part.length >= SECRET_CHARACTERS_MIN)
    .sort((left, right) => right.length - left.length)
  const lost = cut ? Math.max(0, ...parts.map((part) => beginningAtEnd(text, part))) : 0
  const whole = lost === 0 ? text : `${text.slice(0, -lost)}${MASK}`
  return parts.reduce((rest, part) => rest.replaceAll(part, MASK), whole)
}

const MASK = '[masked]'

/** How many characters at the end of the text are a beginning of the secret, as far as they tell anything of it. */
function beginningAtEnd(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length >= SECRET_CHARACTERS_MIN / 2; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return length
  }
  return 0
}
