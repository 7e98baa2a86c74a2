import { describe, expect, test } from 'vitest'
import { assert, Bug, CODES, Fault, isFault, messageOf } from '../../src/core/index.ts'

describe('a Fault', () => {
  test('carries its code, its hint, its facts and its cause', () => {
    const cause = new Error('disk')
    const fault = new Fault('STORAGE_FULL', {
      message: 'Cannot store: no room',
      hint: 'Free space',
      facts: { n: 1 },
      cause,
    })
    expect(fault).toMatchObject({ code: 'STORAGE_FULL', hint: 'Free space', facts: { n: 1 }, cause, name: 'Fault' })
    expect(fault).toBeInstanceOf(Error)
  })

  test('without hint, facts and cause has none', () => {
    const fault = new Fault('NOT_FOUND', { message: 'Cannot find it' })
    expect([fault.hint, fault.facts, 'cause' in fault]).toEqual([undefined, {}, false])
  })
})

test('isFault() tells a Fault from everything else, and one code from another', () => {
  const fault = new Fault('NOT_FOUND', { message: 'Cannot find it' })
  expect(isFault(fault)).toBe(true)
  expect(isFault(fault, 'USAGE', 'NOT_FOUND')).toBe(true)
  expect(isFault(fault, 'USAGE')).toBe(false)
  expect(isFault(new Bug('ours'))).toBe(false)
  expect(isFault({ code: 'NOT_FOUND', message: 'imitated' })).toBe(false)
})

test('assert() throws a Bug with the promise that was broken', () => {
  expect(() => assert(1, 'one')).not.toThrow()
  for (const broken of [false, null, undefined, 0, ''])
    expect(() => assert(broken, 'a promise')).toThrow(new Bug('a promise'))
})

test('messageOf() finds words for anything that was thrown', () => {
  expect(messageOf(new Error('words'))).toBe('words')
  expect(messageOf('text')).toBe('text')
  expect(messageOf(undefined)).toBe('undefined')
  expect(messageOf(Symbol('s'))).toBe('Symbol(s)')
  expect(messageOf(Object.create(null))).toEqual(expect.any(String))
  expect(messageOf(Object.assign(new Error(), { message: 7 }))).toBe('7')
})

test.each(Object.entries(CODES))('the code %s has a status, an exit code and a public sentence', (code, row) => {
  expect(code).toMatch(/^[A-Z][A-Z_]+$/)
  expect(row.http).toBeGreaterThanOrEqual(400)
  expect(row.http).toBeLessThan(600)
  expect(row.exit).toBeGreaterThanOrEqual(1)
  expect(row.exit).toBeLessThan(256)
  expect(row.says).toMatch(/^[A-Z][^|\n]+[^.]$/)
})
