/**
 * Lines that were built without what only their signer knows, and how they are completed in place: the hash of the line
 * before goes in, then the signature, then the whole line is hashed for the next one. Done here, or by the same steps in
 * another thread, with the same bytes as a result.
 */
import { type HexHash, hexHash } from '../core/index.ts'
import type { SigningKey } from '../keys/index.ts'
import { SIGNED_PLACES } from './record.ts'

const NO_SIGNATURE = new Uint8Array(64)

/** What signs a line that is completed later. The hash of the line before may be any then. */
export const BLANK: Pick<SigningKey, 'sign'> = { sign: () => NO_SIGNATURE }

/** Completes consecutive lines. Returns the hash of the last. */
export function complete(lines: readonly Buffer[], previousHash: HexHash, key: Pick<SigningKey, 'sign'>): HexHash {
  const { payloadFromStart, payloadFromEnd, hashFromPayloadEnd, signatureFromEnd } = SIGNED_PLACES
  let hash = previousHash
  for (const line of lines) {
    const end = line.length - payloadFromEnd
    line.write(hash, end - hashFromPayloadEnd, 'latin1')
    const signature = key.sign(line.subarray(payloadFromStart, end))
    line.write(Buffer.from(signature).toString('base64'), line.length - signatureFromEnd, 'latin1')
    hash = hexHash(line)
  }
  return hash
}

/** Some groups of lines, one behind the other. */
export interface Batch {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Of each group: the lengths of its lines, and what its first line is chained to. */
  readonly groups: readonly { readonly lengths: readonly number[]; readonly previousHash: string }[]
}

export interface CompletedBatch {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Of each group: the hash of its last line. */
  readonly hashes: readonly HexHash[]
}

/** As `complete`, as the text of a thread's work. Its data is `{key, places}`; it takes a batch and gives a completed one. */
export const COMPLETING = `({ key, places }) => {
  const { createHash, sign } = require('node:crypto')
  const { payloadFromStart, payloadFromEnd, hashFromPayloadEnd, signatureFromEnd } = places
  return ({ bytes, groups }) => {
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = 0
    const hashes = groups.map(({ lengths, previousHash }) => {
      let hash = previousHash
      for (const length of lengths) {
        const line = all.subarray(at, at + length)
        const end = length - payloadFromEnd
        line.write(hash, end - hashFromPayloadEnd, 'latin1')
        line.write(sign(null, line.subarray(payloadFromStart, end), key).toString('base64'), length - signatureFromEnd, 'latin1')
        hash = createHash('sha256').update(line).digest('hex')
        at += length
      }
      return hash
    })
    return { value: { bytes, hashes }, moved: [bytes.buffer] }
  }
}`
