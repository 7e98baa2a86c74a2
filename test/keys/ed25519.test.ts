import { createPublicKey, verify } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parsePublicKey, signingKeyOf } from '../../src/keys/index.ts'
import {
  add,
  BASE,
  challenge,
  decode,
  encode,
  encodeY,
  IDENTITY,
  L,
  littleEndian,
  mod,
  orderEight,
  P,
  type Point,
  scalarOf,
  times,
} from '../support/curve.ts'

const RFC_8032 = [
  [
    '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    '72',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
  [
    'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
    'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    'af82',
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  ],
] as const

const seed = Buffer.alloc(32, 7)
const key = signingKeyOf(seed)
const message = Buffer.from('any message at all')
const publicBytes = Buffer.from(key.publicKey.hex, 'hex')

/** What Node itself says, so that each trap is shown to be one. */
function nodeSays(publicKey: Uint8Array, signature: Uint8Array): boolean {
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), publicKey])
  return verify(null, message, createPublicKey({ key: spki, format: 'der', type: 'spki' }), signature)
}

const torsion = orderEight()
const smallOrder: readonly Point[] = Array.from({ length: 8 }, (_, index) => times(BigInt(index), torsion))
/** Every encoding of a small-order point, both signs of x included. */
const smallEncodings = [
  ...new Set(smallOrder.flatMap(({ y }) => [encodeY(y, 0n), encodeY(y, 1n)]).map((bytes) => bytes.toString('hex'))),
]
const beyondField = Array.from({ length: 19 }, (_, index) => P + BigInt(index)).flatMap((y) =>
  [0n, 1n].map((sign) => encodeY(y, sign).toString('hex')),
)

describe('a signing key', () => {
  test.each(RFC_8032)('of seed %s signs as RFC 8032 says', (seedHex, publicHex, messageHex, signatureHex) => {
    const { publicKey, sign } = signingKeyOf(Buffer.from(seedHex, 'hex'))
    const text = Buffer.from(messageHex, 'hex')
    expect(publicKey.hex).toBe(publicHex)
    expect(Buffer.from(sign(text)).toString('hex')).toBe(signatureHex)
    expect(parsePublicKey(publicHex).verifies(text, Buffer.from(signatureHex, 'hex'))).toBe(true)
  })

  test.each([0, 31, 33, 64])('is not made of %i bytes', (length) => {
    expect(() => signingKeyOf(Buffer.alloc(length, 1))).toThrow(expect.objectContaining({ code: 'KEY_INVALID' }))
  })

  test('keeps its seed out of every text', () => {
    const shown = `${JSON.stringify(key)} ${String(key)} ${inspect(key, { showHidden: true, depth: 9 })}`
    for (const form of ['hex', 'base64', 'latin1'] as const) expect(shown).not.toContain(seed.toString(form))
    expect(Object.keys(key)).toEqual(['publicKey', 'sign'])
  })
})

describe('a public key', () => {
  test('agrees with the book: the base point times the scalar of the seed', () => {
    expect(encode(times(scalarOf(seed), BASE)).toString('hex')).toBe(key.publicKey.hex)
  })

  test('is read in either case and told in lower case', () => {
    expect(parsePublicKey(key.publicKey.hex.toUpperCase()).hex).toBe(key.publicKey.hex)
  })

  test.each([
    '',
    'ab',
    `${key.publicKey.hex}0`,
    key.publicKey.hex.slice(1),
    `0x${key.publicKey.hex.slice(2)}`,
    'g'.repeat(64),
  ])('%j is refused with a hint', (text) => {
    expect(() => parsePublicKey(text)).toThrow(
      expect.objectContaining({ code: 'KEY_INVALID', hint: expect.stringContaining('symbi audit key') }),
    )
  })

  test('there are eight points of small order, in ten spellings', () => {
    expect(new Set(smallOrder.map((point) => encode(point).toString('hex'))).size).toBe(8)
    expect(smallEncodings).toHaveLength(10)
  })

  test.each(smallEncodings)('of small order is refused: %s [trap:ed25519-weak-points]', (hex) => {
    expect(() => parsePublicKey(hex)).toThrow(expect.objectContaining({ message: expect.stringContaining('weak') }))
  })

  test.each(beyondField)('with a y beyond the field is refused: %s [trap:ed25519-weak-points]', (hex) => {
    expect(() => parsePublicKey(hex)).toThrow(expect.objectContaining({ message: expect.stringContaining('weak') }))
  })

  test('of small order would let Node accept one signature for any message', () => {
    const identity = encode(IDENTITY)
    expect(nodeSays(identity, Buffer.concat([identity, Buffer.alloc(32)]))).toBe(true)
  })

  test('that is no point of the curve verifies nothing', () => {
    const nowhere = [2n, 5n, 7n, 8n, 11n, 12n].filter((y) => decode(y, 0n) === null)
    expect(nowhere.length).toBeGreaterThan(0)
    for (const y of nowhere) {
      const { verifies } = parsePublicKey(encodeY(y, 0n).toString('hex'))
      expect(verifies(message, Buffer.from(key.sign(message)))).toBe(false)
    }
  })

  test('next to a weak point is not refused as weak', () => {
    const honest = [2n, 3n, P - 2n, P - 3n, P - 4n, ...smallOrder.flatMap(({ y }) => [y + 1n, y - 1n])]
      .filter((y) => y > 1n && y < P - 1n && decode(y, 0n) !== null)
      .map((y) => encodeY(y, 0n).toString('hex'))
    expect(honest.length).toBeGreaterThan(4)
    for (const hex of honest) expect(parsePublicKey(hex).hex).toBe(hex)
  })
})

describe('a signature', () => {
  const signature = Buffer.from(key.sign(message))

  test('verifies for its message and its key alone', () => {
    expect(key.publicKey.verifies(message, signature)).toBe(true)
    expect(key.publicKey.verifies(Buffer.from('another'), signature)).toBe(false)
    expect(signingKeyOf(Buffer.alloc(32, 8)).publicKey.verifies(message, signature)).toBe(false)
  })

  test.each([0, 32, 63, 65])('of %i bytes is none', (length) => {
    const cut = Buffer.concat([signature, Buffer.alloc(1)]).subarray(0, length)
    expect(key.publicKey.verifies(message, cut)).toBe(false)
  })

  test('with any one bit changed is none', () => {
    const survivors: number[] = []
    for (let bit = 0; bit < 512; bit += 1) {
      const changed = Buffer.from(signature)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
      if (key.publicKey.verifies(message, changed)) survivors.push(bit)
    }
    expect(survivors).toEqual([])
  })

  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`)
  /** S for an R whose discrete logarithm is 0: an honest signer never makes one. */
  const zeroNonce = (r: Buffer): Buffer =>
    Buffer.concat([r, littleEndian(mod(challenge(r, publicBytes, message) * scalarOf(seed), L))])
  const forged: readonly [string, Buffer, boolean][] = [
    ['with S + L', Buffer.concat([signature.subarray(0, 32), littleEndian(s + L)]), false],
    ['with an R of small order', zeroNonce(encode(IDENTITY)), true],
    ['with an R of small order and a false sign', zeroNonce(encodeY(1n, 1n)), false],
    ['with an R beyond the field', zeroNonce(encodeY(P + 1n, 0n)), false],
    ['with an R of order eight', zeroNonce(encode(torsion)), false],
    ['with an R moved by a point of small order', movedR(), false],
  ]

  test.each(forged)('%s is refused', (_what, bytes, nodeAccepts) => {
    expect(nodeSays(publicBytes, bytes)).toBe(nodeAccepts)
    expect(key.publicKey.verifies(message, bytes)).toBe(false)
  })

  function movedR(): Buffer {
    const nonce = 123456789n
    const r = encode(add(times(nonce, BASE), torsion))
    return Buffer.concat([r, littleEndian(mod(nonce + challenge(r, publicBytes, message) * scalarOf(seed), L))])
  }

  test('made by the book verifies', () => {
    const r = encode(times(123456789n, BASE))
    const made = littleEndian(mod(123456789n + challenge(r, publicBytes, message) * scalarOf(seed), L))
    expect(key.publicKey.verifies(message, Buffer.concat([r, made]))).toBe(true)
  })
})

test('the key of a seed is made once while somebody holds it, and never given for another seed', () => {
  const seed = Buffer.alloc(32, 77)
  const key = signingKeyOf(seed)
  expect(signingKeyOf(Buffer.from(seed))).toBe(key)
  const others = Array.from({ length: 100 }, (_, index) => signingKeyOf(Buffer.alloc(32, index)))
  expect(new Set(others.map(({ publicKey }) => publicKey.hex)).size).toBe(100)
  expect(signingKeyOf(seed).publicKey.hex).toBe(key.publicKey.hex) // also after it was forgotten
})
