import { expect, test } from 'vitest'
import { deepFreeze, isJsonObject } from '../../src/core/index.ts'

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
