import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copyOf } from '../../src/core/index.ts'

describe('copying what others handed over', () => {
  test('gives what structuredClone gives, and shares nothing with what it was given', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = copyOf(value)
        expect(copy).toStrictEqual(structuredClone(value))
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value)
      }),
    )
  })

  test('reads every member once', () => {
    let asked = 0
    const given = {
      get content() {
        asked += 1
        return `answer ${asked}`
      },
    }
    expect(copyOf({ list: [given] })).toEqual({ list: [{ content: 'answer 1' }] })
    expect(asked).toBe(1)
  })

  test.each([
    ['a date', new Date(0)],
    [
      'an object of a class',
      new (class Named {
        readonly name = 'x'
      })(),
    ],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
    ['a member that is called __proto__', JSON.parse('{"a":{"__proto__":{"b":1}}}')],
    ['a large integer', { count: 12n }],
    ['undefined', { a: undefined }],
    ['a list with a hole', Object.assign([1], { 2: 3 })],
  ])('leaves %s to structuredClone', (_, value) => {
    expect(copyOf(value)).toStrictEqual(structuredClone(value))
  })

  test('takes a value that holds itself, and one that is very deep', () => {
    const round: { self?: unknown } = {}
    round.self = round
    const copy = copyOf(round) as { self: unknown }
    expect(copy).not.toBe(round)
    expect(copy.self).toBe(copy)
    let deep: unknown = 'end'
    for (let level = 0; level < 200; level += 1) deep = [deep]
    expect(copyOf(deep)).toStrictEqual(deep)
  })

  test.each([
    ['a function', { run: () => undefined }],
    ['a symbol', [Symbol('x')]],
    ['a proxy', { inner: new Proxy({}, {}) }],
    [
      'a getter that throws',
      {
        get a(): never {
          throw new Error('no')
        },
      },
    ],
  ])('throws for %s', (_, value) => {
    expect(() => copyOf(value)).toThrow()
  })
})
