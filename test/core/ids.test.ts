import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { derivedId, ID_KINDS, idOrNull, isStoredId, newId, parseId } from '../../src/core/index.ts'

const GOOD = '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'
const NIL = '00000000-0000-0000-0000-000000000000'
const BAD: readonly unknown[] = [
  NIL,
  '',
  ' ',
  '                                    ',
  ` ${GOOD}`,
  `${GOOD} `,
  `${GOOD}\n`,
  GOOD.replaceAll('-', ''),
  `{${GOOD}}`,
  `urn:uuid:${GOOD}`,
  GOOD.slice(1),
  `${GOOD}0`,
  GOOD.replace('6', 'g'),
  GOOD.replace('-', '_'),
  '6f0e2a0e8-a54-4d1c-9f5b-0a8d9c2b7e10',
  '６f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10',
  undefined,
  null,
  42,
  {},
  [GOOD],
]

describe('parseId()', () => {
  test('keeps a lower-case id as it is, and brings an upper-case one to lower case', () => {
    expect(parseId('run', GOOD)).toBe(GOOD)
    expect(parseId('run', GOOD.toUpperCase())).toBe(GOOD)
  })

  test.each(BAD)('refuses %j [trap:empty-id]', (text) => {
    expect(idOrNull('invocation', text)).toBeNull()
    expect(() => parseId('invocation', text)).toThrowError(
      expect.objectContaining({ code: 'INVALID_REQUEST', message: expect.stringContaining('invocation id') }),
    )
  })

  test('does not repeat a long text in full', () => {
    expect(() => parseId('run', 'x'.repeat(10_000))).toThrowError(
      expect.objectContaining({ message: expect.not.stringContaining('x'.repeat(81)) }),
    )
  })
})

test.each([...BAD, GOOD.toUpperCase()])('isStoredId() refuses %j', (text) => {
  expect(isStoredId(text)).toBe(false)
})

test('newId() sets version 4 and the variant, whatever the random bytes are', () => {
  expect(newId('run', { bytes: (count) => new Uint8Array(count) })).toBe('00000000-0000-4000-8000-000000000000')
  expect(newId('run', { bytes: (count) => new Uint8Array(count).fill(255) })).toBe(
    'ffffffff-ffff-4fff-bfff-ffffffffffff',
  )
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const id = newId('dispatch', { bytes: () => bytes })
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(isStoredId(id)).toBe(true)
    }),
  )
})

test('derivedId() is version 5: the vector of RFC 4122 for the DNS namespace', () => {
  const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'
  expect(derivedId('agent', dns, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2')
  expect(derivedId('agent', dns, 'www.example.org')).not.toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2')
})

test('every kind of id is named once', () => {
  expect(new Set(ID_KINDS).size).toBe(ID_KINDS.length)
})
