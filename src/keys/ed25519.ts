/**
 * Strict Ed25519 over Node's own implementation. Node accepts small-order and non-canonical public keys, under which one
 * signature fits any message; both are refused here, in keys and in the R of a signature, before Node is asked. S beyond
 * the group order is refused by the call itself.
 */
import { createHash, createPrivateKey, createPublicKey, verify } from 'node:crypto'
import { Fault } from '../core/index.ts'
import { signingWith } from './signing.ts'

const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
const FIELD = (1n << 255n) - 19n

const ORDER_EIGHT = [
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
].map((hex) => Buffer.from(hex, 'hex'))
/** The y coordinates of the eight points of small order. */
const SMALL_ORDER = new Set([0n, 1n, FIELD - 1n, ...ORDER_EIGHT.map(littleEndian)])
/** Byte 16 of every weak point: zeros for 0 and 1, ones from p-1 upwards. All other points are cleared by one look. */
const WEAK_MIDDLES = new Set([0x00, 0xff, ...ORDER_EIGHT.map((bytes) => bytes[16])])

export interface PublicKey {
  /** 64 lower-case hex digits. */
  readonly hex: string
  /** True only for a canonical signature of exactly these bytes. */
  verifies(message: Uint8Array, signature: Uint8Array): boolean
}

export interface SigningKey {
  readonly publicKey: PublicKey
  sign(message: Uint8Array): Uint8Array
}

/**
 * Reads 64 hex digits of a public key. Throws `KEY_INVALID` for a wrong length and for a weak or non-canonical point.
 * Digits that are no point of the curve make a key under which nothing verifies.
 */
export function parsePublicKey(hex: string): PublicKey {
  if (!/^[0-9a-fA-F]{64}$/.test(hex)) throw invalid('a public key is 64 hex digits')
  const bytes = Buffer.from(hex, 'hex')
  if (startsWithWeakPoint(bytes)) throw invalid('it is a weak or non-canonical point')
  const key = createPublicKey({ key: spkiOf(hex), format: 'der', type: 'spki' })
  return {
    hex: bytes.toString('hex'),
    verifies: (message, signature) => isSoundSignature(signature) && verify(null, message, key, signature),
  }
}

/** What Node takes for a public key of these hex digits, which are checked already. */
export function spkiOf(hex: string): Buffer {
  return Buffer.concat([SPKI_PREFIX, Buffer.from(hex, 'hex')])
}

/** False for what is refused before Node is asked. */
export function isSoundSignature(signature: Uint8Array): boolean {
  return signature.length === 64 && !startsWithWeakPoint(signature)
}

/** Keys that somebody still holds, by the digest of their seed. Every journal of a project reads the same seed. */
const held = new Map<string, WeakRef<SigningKey>>()
const HELD_MAX = 64

/** The signing key of a 32-byte seed. To make one costs several times as much as to sign with it. */
export function signingKeyOf(seed: Uint8Array): SigningKey {
  if (seed.length !== 32) throw invalid(`a seed has 32 bytes, and this one has ${seed.length}`)
  const name = createHash('sha256').update(seed).digest('base64')
  const known = held.get(name)?.deref()
  if (known !== undefined) return known
  const key = madeKey(seed)
  if (held.size >= HELD_MAX) held.clear()
  held.set(name, new WeakRef(key))
  return key
}

function madeKey(seed: Uint8Array): SigningKey {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return Object.freeze({
    publicKey: parsePublicKey(spki.subarray(-32).toString('hex')),
    sign: signingWith(key),
  })
}

function startsWithWeakPoint(bytes: Uint8Array): boolean {
  if (!WEAK_MIDDLES.has(bytes[16])) return false
  const y = littleEndian(bytes.subarray(0, 32)) & ((1n << 255n) - 1n)
  return y >= FIELD || SMALL_ORDER.has(y)
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

function invalid(reason: string): Fault {
  return new Fault('KEY_INVALID', {
    message: `Cannot use the Ed25519 key: ${reason}`,
    hint: 'Use the key that "symbi audit key" printed for this project',
  })
}
