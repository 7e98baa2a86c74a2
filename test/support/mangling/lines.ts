/** A journal as bytes that can be taken apart at its newlines, and its lines as text that can be sealed again. */
import { type MadeKey, sha256, signedLine, ZEROS } from '../journal-maker.ts'

const NEWLINE = 0x0a
const HEAD = '{"payload":'
const MIDDLE = ',"signature":"'
const TAIL = '"}\n'

/** Each with its newline; what stands behind the last newline is the last of them. */
export function linesOf(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, at)
    const end = newline === -1 ? bytes.length : newline + 1
    lines.push(bytes.subarray(at, end))
    at = end
  }
  return lines
}

/** Latin-1 text, so that no byte is lost. Null for a line that has no such form, as after another mangling. */
function partsOf(line: Buffer): { readonly payload: string; readonly signature: string } | null {
  const text = line.toString('latin1')
  const middle = text.lastIndexOf(MIDDLE)
  if (!text.startsWith(HEAD) || middle === -1 || !text.endsWith(TAIL)) return null
  return { payload: text.slice(HEAD.length, middle), signature: text.slice(middle + MIDDLE.length, -TAIL.length) }
}

export function payloadOf(line: Buffer): string | null {
  return partsOf(line)?.payload ?? null
}

export function signatureOf(line: Buffer): Buffer | null {
  const parts = partsOf(line)
  return parts === null ? null : Buffer.from(parts.signature, 'base64')
}

/** The line with another text in place of its signature. */
export function withSignature(line: Buffer, signature: string): Buffer {
  const parts = partsOf(line)
  if (parts === null) return line
  return Buffer.from(`${HEAD}${parts.payload}${MIDDLE}${signature}${TAIL}`, 'latin1')
}

/** The line with another payload under the signature that it had. */
export function withPayload(line: Buffer, payload: string): Buffer {
  const parts = partsOf(line)
  if (parts === null) return line
  return Buffer.from(`${HEAD}${payload}${MIDDLE}${parts.signature}${TAIL}`, 'latin1')
}

export function sealedBy(key: MadeKey, line: Buffer): Buffer {
  const payload = payloadOf(line)
  return payload === null ? line : signedLine(Buffer.from(payload, 'latin1').toString('utf8'), key)
}

/** Every line sealed by this key, and chained anew: a journal in which nothing is wrong but the signer. */
export function journalSealedBy(
  key: MadeKey,
  lines: readonly Buffer[],
  change: (payload: string) => string = (payload) => payload,
): Buffer {
  const sealed: Buffer[] = []
  let previous = ZEROS
  for (const line of lines) {
    const payload = payloadOf(line)
    if (payload === null) sealed.push(line)
    else sealed.push(sealedBy(key, withPayload(line, chainedTo(previous, change(payload)))))
    previous = sha256(sealed.at(-1) as Buffer)
  }
  return Buffer.concat(sealed)
}

/** The payload with another predecessor. The member stands behind the entry, which may hold the same words. */
export function chainedTo(previous: string, payload: string): string {
  const at = payload.lastIndexOf('"previous_hash":"')
  if (at === -1) return payload
  const from = at + '"previous_hash":"'.length
  return `${payload.slice(0, from)}${previous}${payload.slice(from + previous.length)}`
}
