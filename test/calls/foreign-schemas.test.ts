import { describe, expect, test } from 'vitest'
import { checkArguments } from '../../src/calls/index.ts'
import { Patience } from '../../src/calls/schema-patience.ts'
import type { JsonObject } from '../../src/core/index.ts'

const check = (parameters: JsonObject, value: JsonObject): void =>
  checkArguments({ name: 'foreign', description: '', parameters }, value)

const text = (rule: JsonObject): JsonObject => ({ type: 'object', properties: { text: { type: 'string', ...rule } } })

describe('schemas of others', () => {
  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [
      `d${at}`,
      { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  )
  test.each<[string, JsonObject, JsonObject]>([
    ['a pattern that backtracks', text({ pattern: '^(a+)+$' }), { text: `${'a'.repeat(40)}!` }],
    ['a reference to itself', { type: 'object', $ref: '#' }, {}],
    ['references that double', { type: 'object', $ref: '#/$defs/d0', $defs: { ...doubling, d40: {} } }, {}],
    [
      'items that are compared with each other',
      { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } },
      { list: Array.from({ length: 30_000 }, (_, at) => ({ at })) },
    ],
    [
      'many rules for many items',
      {
        type: 'object',
        properties: { list: { items: { allOf: Array.from({ length: 800 }, () => ({ type: 'number' })) } } },
      },
      { list: Array.from({ length: 100_000 }, (_, at) => at) },
    ],
    [
      'many rules for one long text',
      text({ allOf: Array.from({ length: 2300 }, () => ({ maxLength: 2_000_000 })) }),
      { text: 'x'.repeat(1_000_000) },
    ],
    [
      'many rules for one long name',
      { type: 'object', propertyNames: { allOf: Array.from({ length: 2300 }, () => ({ maxLength: 2_000_000 })) } },
      { ['x'.repeat(1_000_000)]: 1 },
    ],
  ])('%s does not hold the process [trap:foreign-schema]', (_name, schema, value) => {
    expect(() => check(schema, value)).toThrow(
      expect.objectContaining({ code: 'CALL_INVALID', message: expect.stringContaining('its schema cannot be used') }),
    )
  })

  test('one that did not end in time is not tried again, under whatever name it comes', () => {
    const slow = text({ pattern: '^(b+)+$' })
    expect(() => check(slow, { text: `${'b'.repeat(40)}!` })).toThrow('its schema cannot be used')
    expect(() => check(structuredClone(slow), { text: 'b' })).toThrow('its schema cannot be used')
  })
})

test.each<[JsonObject, string, boolean]>([
  [text({ pattern: '^[a-z]+$' }), 'abc', true],
  [text({ pattern: '^[a-z]+$' }), 'a1', false],
  [{ ...text({ $ref: '#/$defs/short' }), $defs: { short: { maxLength: 3 } } }, 'abc', true],
  [{ ...text({ $ref: '#/$defs/short' }), $defs: { short: { maxLength: 3 } } }, 'abcd', false],
  [text({ format: 'url', pattern: '.' }), 'http://example.org/', true],
])('in its own thread a check says the same as at once: %j of %j', (schema, value, fits) => {
  if (fits) expect(() => check(schema, { text: value })).not.toThrow()
  else expect(() => check(schema, { text: value })).toThrow(/#\/text breaks the rule #\/.*/)
})

test.each(['(', '[z-a]', '\\'])('a pattern that is none, %j, makes the schema unusable and says so', (pattern) => {
  expect(() => check(text({ pattern }), { text: 'a' })).toThrow('its schema cannot be used')
})

describe('the patience for schemas', () => {
  test('is half a second for one check, and less once checks together took too long', () => {
    const patience = new Patience()
    for (let checks = 0; checks <= 20; checks += 1) {
      expect(patience.waitMs()).toBe(500)
      patience.gaveUp()
    }
    expect(patience.waitMs()).toBe(100)
  })

  test('ends for a schema whose checks come in time and hold everybody up all the same', () => {
    const patience = new Patience()
    const ends = Array.from({ length: 30 }, (_, at) => patience.ended(450, at * 500))
    expect([ends.indexOf(true), ends.lastIndexOf(false)]).toEqual([23, 22])
    expect(patience.ended(1, 15_000)).toBe(false) // another schema, which is quick
  })

  test('comes back with time, and checks that take a small share of it never use it up', () => {
    const patience = new Patience()
    for (let at = 0; at < 10_000; at += 1) expect(patience.ended(450, at * 10_000)).toBe(false)
    for (let checks = 0; checks <= 21; checks += 1) patience.gaveUp()
    expect(patience.waitMs()).toBe(100)
    patience.ended(1, 200_000_000)
    expect(patience.waitMs()).toBe(500)
  })
})
