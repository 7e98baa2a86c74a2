import { expect, test } from 'vitest'
import { canonical, digest, digestOfCanonical, GENESIS, hexHash } from '../../src/core/index.ts'

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'

test('hexHash() is SHA-256 of bytes, and of text as UTF-8', () => {
  expect(hexHash('')).toBe(EMPTY)
  expect(hexHash('abc')).toBe(ABC)
  expect(hexHash(Buffer.from('abc'))).toBe(ABC)
  expect(hexHash('é')).toBe(hexHash(Uint8Array.from([0xc3, 0xa9])))
})

test('digest() names a value by the hash of its canonical text', () => {
  expect(digest({ b: 1, a: [true, null] })).toBe(`sha256:${hexHash('{"a":[true,null],"b":1}')}`)
  expect(digest({ b: 1, a: 2 })).toBe(digest({ a: 2, b: 1 }))
  expect(digest({ a: 1 })).not.toBe(digest({ a: '1' }))
})

test('digestOfCanonical() gives what digest() gives', () => {
  const value = { z: ['é'], a: 0.5 }
  expect(digestOfCanonical(canonical(value))).toBe(digest(value))
})

test('a chain begins with 64 zeros', () => {
  expect(GENESIS).toBe('0'.repeat(64))
})
