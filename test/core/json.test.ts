import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deepFreeze, isJsonObject, jsonBytesAtMost } from '../../src/core/index.ts'

test('deepFreeze() freezes every object and array inside, and gives back the same value', () => {
  const value = { list: [{ deep: { x: 1 } }], text: 'a' }
  expect(deepFreeze(value)).toBe(value)
  expect(() => Object.assign(value.list[0]!.deep, { x: 2 })).toThrow(TypeError)
  expect(() => value.list.push({ deep: { x: 3 } })).toThrow(TypeError)
  expect(() => Object.assign(value, { more: 1 })).toThrow(TypeError)
})

test('isJsonObject() is true for objects alone', () => {
  expect([{}, { a: 1 }, Object.create(null)].every(isJsonObject)).toBe(true)
  expect([null, [], 'a', 1, true, undefined].some(isJsonObject)).toBe(false)
})

test('deepFreeze() also freezes what lies inside an object that was frozen only at its top', () => {
  const inner = { open: [1] }
  deepFreeze(Object.freeze({ inner }))
  expect(() => inner.open.push(2)).toThrow(TypeError)
})

test('jsonBytesAtMost() is never below the bytes of the JSON text, and at most a few times as many', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue({ stringUnit: 'binary' }), fc.string({ unit: 'binary' }), fc.double()),
      (value) => {
        const bytes = Buffer.byteLength(JSON.stringify(value))
        expect(jsonBytesAtMost(value)).toBeGreaterThanOrEqual(bytes)
      },
    ),
  )
  for (const text of ['\u0000', '"', 'é', '\ud800', '\u{1f600}', 'a']) {
    const many = text.repeat(1000)
    expect(jsonBytesAtMost({ [many]: [many, null, -1.7976931348623157e308] })).toBeGreaterThanOrEqual(
      Buffer.byteLength(JSON.stringify({ [many]: [many, null, -1.7976931348623157e308] })),
    )
  }
  expect(jsonBytesAtMost({ a: ['x'.repeat(1000)] })).toBeLessThan(6100)
})
