/** SHA-256 in its two spellings: `Hash` names a JSON value, `HexHash` names bytes. */
import { hash } from 'node:crypto'
import { canonical } from './canonical-json.ts'

declare const hashBrand: unique symbol
/** `sha256:` and 64 lower-case hex digits: the digest of a canonical JSON text. */
export type Hash = string & { readonly [hashBrand]: 'value' }
/** 64 lower-case hex digits: the digest of raw bytes. */
export type HexHash = string & { readonly [hashBrand]: 'bytes' }

export const GENESIS = '0'.repeat(64) as HexHash

export function digest(value: unknown): Hash {
  return digestOfCanonical(canonical(value))
}

/** For a caller that needs the canonical text anyway, so that it is made once. */
export function digestOfCanonical(text: string): Hash {
  return `sha256:${hexHash(text)}` as Hash
}

export function hexHash(bytes: string | Uint8Array): HexHash {
  return hash('sha256', bytes, 'hex') as HexHash
}
