/**
 * Signing with libsodium, which takes half of the time that Node's own implementation takes and makes the same bytes: Ed25519
 * leaves its signer no choice. Where the library cannot be loaded, Node signs as before, only slower.
 *
 * Loading costs as much as it saves in some five hundred signatures, so a process that signs less never does.
 * Verification stays with Node: what one implementation signed, another one has to accept.
 */
import type { KeyObject } from 'node:crypto'
import { createRequire } from 'node:module'

export type Sign = (message: Uint8Array) => Uint8Array

interface Sodium {
  crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void
  crypto_sign_detached(signature: Buffer, message: Uint8Array, secretKey: Buffer): void
}

/** Signatures of this process, from which on the library is loaded. */
const WORTH_LOADING = 512

let signatures = 0
let loaded: Sodium | null | undefined

/** Counts one signature: true once the process has made so many that the library is worth loading. */
export function signsOften(): boolean {
  signatures += 1
  return signatures > WORTH_LOADING
}

/** Signs as the key does; null where the library cannot be loaded, or does not sign as `slow` does. */
export function fastSigning(key: KeyObject, slow: Sign): Sign | null {
  if (loaded === undefined) loaded = load()
  const sodium = loaded
  if (sodium === null) return null
  const der = key.export({ format: 'der', type: 'pkcs8' })
  const publicKey = Buffer.alloc(32)
  const secretKey = Buffer.alloc(64) // the library's own guarded memory ends the process where the system grants no more
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, der.subarray(-32))
  der.fill(0)
  const sign: Sign = (message) => {
    const signature = Buffer.allocUnsafe(64)
    sodium.crypto_sign_detached(signature, message, secretKey)
    return signature
  }
  const probe = Buffer.from('one message, two implementations')
  return Buffer.compare(sign(probe), slow(probe)) === 0 ? sign : null
}

function load(): Sodium | null {
  try {
    return createRequire(import.meta.url)('sodium-native') as Sodium
  } catch {
    return null
  }
}
