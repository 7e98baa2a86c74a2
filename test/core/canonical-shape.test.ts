import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Bug, canonical, fits, type Shape, shapes } from '../../src/core/index.ts'
import { toWire, wireEventShape } from '../../src/events/index.ts'
import { confirmed, effectStarts, output, terminated, unconfirmed } from '../journal/entries.ts'

const { text, bool, u32, real, json, object, open, list, nullable, optional, record, tagged, literal, duration } =
  shapes
const inner = open({ zeta: text, alpha: u32, 'née "quoted"': optional(bool), '😀': optional(u32), '￿': optional(u32) })
const shape: Shape<unknown> = object({
  b: list(inner),
  a: nullable(tagged({ Bare: {}, Full: { y: json, x: real } }, 'allowed')),
  map: optional(record(u32)),
  kind: literal<string | number | boolean>('one', 2, true),
  time: duration,
})

const safe = fc.jsonValue().filter((value) => !/\d{16}|\de\+|__proto__/.test(JSON.stringify(value)))
const innerValues = fc.record(
  {
    zeta: fc.string({ unit: 'grapheme' }),
    alpha: fc.nat(),
    'née "quoted"': fc.boolean(),
    '😀': fc.nat(),
    '￿': fc.nat(),
    stranger: safe,
  },
  { requiredKeys: ['zeta', 'alpha'] },
)
const values = fc.record(
  {
    time: fc.record({ nanos: fc.nat(999_999_999), secs: fc.nat() }),
    kind: fc.constantFrom('one', 2, true),
    map: fc.dictionary(fc.string(), fc.nat()),
    b: fc.array(innerValues),
    a: fc.oneof(
      fc.constantFrom(null, 'Bare'),
      fc.record({ Full: fc.record({ x: fc.double({ noNaN: true, min: -1e9, max: 1e9 }), y: safe }) }),
      fc.record({ Full: fc.record({ x: fc.nat(), y: safe, z: safe }) }),
    ),
  },
  { requiredKeys: ['time', 'kind', 'a', 'b'] },
)

describe('the text that a shape writes', () => {
  test('is the canonical text of the value, whatever the order and number of its members', () => {
    fc.assert(
      fc.property(values, (value) => {
        fc.pre(fits(shape, value) && !('__proto__' in (value.map ?? {}) && Object.hasOwn(value.map ?? {}, '__proto__')))
        expect(shape.write(value)).toBe(canonical(value))
      }),
    )
  })

  test.each(
    [...effectStarts, ...unconfirmed, ...confirmed, output('"\\\u0001 ü'), terminated].map(
      (event, index) => [index, event.kind, event] as const,
    ),
  )('is canonical for event %i, %s', (_index, _kind, event) => {
    const wire = toWire(event)
    expect(fits(wireEventShape, wire)).toBe(true)
    expect(wireEventShape.write(wire)).toBe(canonical(wire))
  })

  test.each([2 ** 53, -(2 ** 53), 1e16, 1e21, 1.5e300, [{ deep: [1e17] }], JSON.parse('{"__proto__":1}')])(
    'is a Bug for %j, which our strict reader would refuse',
    (value) => {
      expect(() => json.write(value)).toThrow(Bug)
      expect(() => open({ a: u32 }).write({ a: 1, more: value })).toThrow(Bug)
    },
  )

  test.each([2 ** 53 - 1, 1e15, 1234567890123456, 0.1, 1e-20, '12345678901234567890', '1e+21', '"__proto__"'])(
    'is written for %j, which only looks like one',
    (value) => {
      expect(json.write(value)).toBe(canonical(value))
    },
  )

  test('is a Bug for a number that is none, and for half a character', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, undefined, new Date(0), '\ud800']) {
      expect(() => json.write(value)).toThrow(Bug)
    }
    expect(() => text.write('\ud800')).toThrow(Bug)
  })
})

test('the path of a misfit is told in full although a first look keeps none', () => {
  expect(
    shape.check({ b: [{ zeta: 'z', alpha: -1 }], a: null, kind: 2, time: { secs: 1, nanos: 0 } }, ''),
  ).toMatchObject({
    path: 'b[0].alpha',
  })
})
