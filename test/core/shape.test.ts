import { describe, expect, test } from 'vitest'
import { fit, fits, type Shape, shapes } from '../../src/core/index.ts'

const {
  bool,
  boundedText,
  duration,
  either,
  hash,
  hexHash,
  id,
  json,
  jsonObject,
  list,
  literal,
  nullable,
  object,
  open,
  optional,
  real,
  record,
  tagged,
  text,
  timestamp,
  u16,
  u32,
  uint,
} = shapes

const UUID = '6f0e2a0e-8a54-4d1c-9f5b-0a8d9c2b7e10'
const HEX = 'ab'.repeat(32)

describe('a shape of one value', () => {
  test.each<[string, Shape<unknown>, readonly unknown[], readonly unknown[]]>([
    ['text', text, ['', 'a'], [1, null, ['a']]],
    ['bool', bool, [true, false], [0, 'true', null]],
    ['uint', uint, [0, 2 ** 53 - 1], [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, '1']],
    ['u32', u32, [0, 4294967295], [4294967296, -1, 1.5]],
    ['u16', u16, [0, 65535], [65536, -1]],
    ['real', real, [0.3, -1, 0], [Number.NaN, Number.POSITIVE_INFINITY, '0.3']],
    ['hash', hash, [`sha256:${HEX}`], [HEX, `sha256:${HEX.toUpperCase()}`, `sha256:${HEX}0`, `sha256:${HEX}\n`]],
    ['hexHash', hexHash, [HEX], [`sha256:${HEX}`, HEX.toUpperCase(), HEX.slice(1), `${HEX}\n`]],
    ['timestamp', timestamp, ['2026-03-04T10:11:12Z'], ['2026-03-04', 0]],
    ['id', id('run'), [UUID], [UUID.toUpperCase(), '00000000-0000-0000-0000-000000000000', '']],
    ['json', json, [null, 1, 'a', [], {}], []],
    ['jsonObject', jsonObject, [{}, { a: 1 }], [[], null, 'a']],
    ['duration', duration, [{ secs: 0, nanos: 999_999_999 }], [{ secs: 0, nanos: 1_000_000_000 }, { secs: 1 }, 5]],
    ['duration, exactly', duration, [], [{ secs: 0, nanos: 0, more: 0 }, { secs: -1, nanos: 0 }, null]],
    ['literal', literal('a', 'b'), ['a', 'b'], ['c', 7, null]],
    ['boundedText, in bytes', boundedText(2, 4), ['ab', 'éé', '😀'], ['a', 'é😀', 'abcde', 22]],
    ['nullable', nullable(u16), [null, 3], [undefined, 'a']],
    ['list', list(u16, 2), [[], [1, 2]], [[1, 2, 3], [1, 'a'], {}, null]],
    ['record', record(text), [{}, { a: 'b' }], [{ a: 1 }, [], null]],
    ['either', either(text, u16), ['a', 1], [null, -1]],
  ])('%s', (_name, shape, good, bad) => {
    for (const value of good) expect(shape.check(value, ''), JSON.stringify(value)).toBeNull()
    for (const value of bad) expect(shape.check(value, ''), JSON.stringify(value)).not.toBeNull()
  })
})

describe('an object', () => {
  const point = object({ x: u16, y: u16, name: optional(text) })

  test('has exactly its members, and those that are optional when they are there', () => {
    expect(fits(point, { x: 1, y: 2 })).toBe(true)
    expect(fits(point, { x: 1, y: 2, name: 'a' })).toBe(true)
    expect(point.check({ x: 1 }, '')).toEqual({ path: 'y', reason: 'is missing' })
    expect(point.check({ x: 1, y: 2, z: 3 }, '')).toEqual({ path: 'z', reason: 'is not a known member' })
    expect(point.check({ x: 1, y: 2, name: null }, '')).toEqual({ path: 'name', reason: 'must be a string' })
  })

  test('does not take members from a prototype', () => {
    expect(fits(point, Object.create({ x: 1, y: 2 }))).toBe(false)
    expect(object({ toString: text }).check({}, '')).toEqual({ path: 'toString', reason: 'is missing' })
  })

  test('that is open lets strangers pass, and still checks its own', () => {
    expect(fits(open({ x: u16 }), { x: 1, z: [] })).toBe(true)
    expect(fits(open({ x: u16 }), { z: [] })).toBe(false)
  })

  test('is no array and no null', () => {
    for (const value of [[], null, 'a', 1]) expect(fits(object({}), value)).toBe(false)
  })
})

describe('a tagged union', () => {
  const reason = tagged({ Completed: {}, Error: { message: text }, Hint: { text: optional(text) } })

  test('is a bare string where a variant has no members, else an object with the one name', () => {
    for (const value of ['Completed', { Error: { message: 'a' } }, { Hint: {} }]) expect(fits(reason, value)).toBe(true)
  })

  test.each<unknown>([
    'Error',
    'completed',
    'toString',
    '',
    { Completed: {} },
    { Completed: null },
    { Error: {} },
    { Error: { message: 'a', more: 1 } },
    { Error: { message: 'a' }, Completed: {} },
    { constructor: {} },
    {},
    [],
    ['Completed'],
    null,
    1,
  ])('refuses %j', (value) => {
    expect(fits(reason, value)).toBe(false)
  })
})

describe('a misfit', () => {
  const shape = object({ rows: list(object({ effect: tagged({ Done: { at: record(u16) } }) })) })

  test('names the path of the place', () => {
    const value = { rows: [{ effect: { Done: { at: {} } } }, { effect: { Done: { at: { 'a.b': 'x' } } } }] }
    expect(shape.check(value, '')).toEqual({
      path: 'rows[1].effect.Done.at.a.b',
      reason: 'must be a whole number up to 65535',
    })
  })

  test('becomes a Fault that names what did not fit, and where, with the code that was asked for', () => {
    expect(() => fit(shape, { rows: [{}] }, 'the request')).toThrowError(
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        message: 'Cannot use the request: "rows[0].effect" is missing',
        facts: { path: 'rows[0].effect' },
      }),
    )
    expect(() => fit(text, 1, 'the claim', 'CLAIM_INVALID')).toThrowError(
      expect.objectContaining({ code: 'CLAIM_INVALID', message: 'Cannot use the claim: the value must be a string' }),
    )
  })

  test('cuts the name of a stranger', () => {
    const misfit = object({}).check({ ['x'.repeat(1000)]: 1 }, '')
    expect(misfit?.path).toBe('x'.repeat(64))
  })
})

test('fit() gives back the very value', () => {
  const value = { secs: 1, nanos: 0 }
  expect(fit(duration, value, 'it')).toBe(value)
})
