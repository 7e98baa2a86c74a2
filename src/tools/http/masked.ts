/** A server may repeat the credentials that it was sent. They are replaced where they stand, as a whole or without their scheme. */
const SECRET_CHARACTERS_MIN = 8

export function masked(text: string, secrets: readonly string[]): string {
  let shown = text
  for (const secret of secrets) {
    for (const part of [secret, secret.replace(/^\w+ +/, '')]) {
      if (part.length >= SECRET_CHARACTERS_MIN) shown = shown.replaceAll(part, '[masked]')
    }
  }
  return shown
}
