/**
 * Signing: by Node, and by libsodium in a process that signs often. The library takes half of the time and makes the same bytes;
 * Ed25519 leaves its signer no choice. Where it cannot be loaded, or signs in other words than Node, Node goes on.
 *
 * Loading it costs as much as it saves in some five hundred signatures, so a process that signs less never does. Verification
 * stays with Node: what one implementation signed, another one has to accept.
 */
import { type KeyObject, sign } from 'node:crypto'
import { createRequire } from 'node:module'
import { isUint8Array } from 'node:util/types'

export type Sign = (message: Uint8Array) => Uint8Array

interface Sodium {
  crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void
  crypto_sign_detached(signature: Buffer, message: Uint8Array, secretKey: Buffer): void
}

/** Signatures of this process that Node makes. */
const BY_NODE = 512

let made = 0

/**
 * Signs with this private key, each time by whoever is quicker by then. Throws a TypeError for what is no Uint8Array: the two would
 * read other bytes out of it.
 */
export function signingWith(key: KeyObject): Sign {
  const byNode: Sign = (message) => sign(null, message, key)
  let current: Sign = (message) => {
    made += 1
    if (made > BY_NODE) current = bySodium(key, byNode) ?? byNode
    return byNode(message)
  }
  return (message) => {
    if (!isUint8Array(message)) throw new TypeError('Cannot sign: the message is no Uint8Array')
    return current(message)
  }
}

/** Null where the library cannot be had, or does not sign a probe as Node does. */
function bySodium(key: KeyObject, byNode: Sign): Sign | null {
  try {
    const sodium = createRequire(import.meta.url)('sodium-native') as Sodium
    const der = key.export({ format: 'der', type: 'pkcs8' })
    const secretKey = Buffer.alloc(64) // the library's own guarded memory ends the process where the system grants no more
    sodium.crypto_sign_seed_keypair(Buffer.alloc(32), secretKey, der.subarray(-32))
    der.fill(0)
    const signs: Sign = (message) => {
      const signature = Buffer.allocUnsafe(64)
      sodium.crypto_sign_detached(signature, message, secretKey)
      return signature
    }
    const probe = Buffer.from('one message, two implementations')
    if (Buffer.compare(signs(probe), byNode(probe)) !== 0) return null
    return (message) => {
      try {
        return signs(message)
      } catch {
        return byNode(message)
      }
    }
  } catch {
    return null
  }
}
