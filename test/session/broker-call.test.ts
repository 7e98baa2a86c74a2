import { describe, expect, test } from 'vitest'
import type { Json } from '../../src/core/index.ts'
import { argumentsOf, isIdentifier, RECORDED_BYTES_MAX } from '../../src/session/broker-call.ts'
import { readBrokerCall } from '../../src/session/index.ts'
import { callOf } from '../support/tool-session.ts'

describe('reading a broker call', () => {
  test('takes an id, a name and arguments as they are', () => {
    const call = { call_id: 'a', name: 'look', arguments: { at: [1, null] } }
    expect(readBrokerCall(call)).toEqual(call)
  })

  test.each([
    'principal',
    'agent_id',
    'approval',
    'approved',
    'policy',
    'sandbox',
    'presented',
    'execution_context',
    'toString',
  ])('refuses a member "%s" that is none of the three [G1] [trap:approval-from-client]', (member) => {
    expect(() => readBrokerCall({ ...callOf('a'), [member]: 'x' })).toThrow(
      expect.objectContaining({ code: 'CALL_INVALID', message: expect.stringContaining(`"${member}"`) }),
    )
  })

  test.each<[string, Json]>([
    ['nothing', null],
    ['a list', [callOf('a') as unknown as Json]],
    ['a text', 'a'],
    ['no id', { name: 'look', arguments: {} }],
    ['an id that is no text', { call_id: 1, name: 'look', arguments: {} }],
    ['no name', { call_id: 'a', arguments: {} }],
    ['arguments as text', { call_id: 'a', name: 'look', arguments: '{}' }],
    ['arguments that are a list', { call_id: 'a', name: 'look', arguments: [] }],
  ])('refuses %s', (_what, value) => {
    expect(() => readBrokerCall(value)).toThrow(expect.objectContaining({ code: 'CALL_INVALID' }))
  })
})

describe('identifiers', () => {
  test.each(['a', 'x'.repeat(128), 'A-z_0.9:/x'])('accept %s [G42]', (text) => {
    expect(isIdentifier(text)).toBe(true)
  })

  test.each(['', 'x'.repeat(129), 'a b', 'é', 'a\n', 'a\u0000', 'ａ', '"', '{}', '*'])('refuse %j [G42]', (text) => {
    expect(isIdentifier(text)).toBe(false)
  })
})

describe('the arguments of a call', () => {
  test('become canonical text', () => {
    expect(argumentsOf(callOf('a', 'look', { b: 1, a: 'x' }))).toBe('{"a":"x","b":1}')
  })

  test('are refused where they are no strict JSON', () => {
    expect(() => argumentsOf(callOf('a', 'look', { text: '\ud800' }))).toThrow(
      expect.objectContaining({ code: 'CALL_INVALID' }),
    )
  })

  test('may take as much evidence as fits beside a result, and one byte more is refused before anything happens', () => {
    const frame = Buffer.byteLength(JSON.stringify('{"text":""}'))
    const fitting = callOf('a', 'look', { text: 'x'.repeat(RECORDED_BYTES_MAX - frame) })
    expect(JSON.stringify(argumentsOf(fitting))).toHaveLength(RECORDED_BYTES_MAX)
    const longer = callOf('a', 'look', { text: 'x'.repeat(RECORDED_BYTES_MAX - frame + 1) })
    expect(() => argumentsOf(longer)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }))
  })

  test('are refused when the whole call holds more than a mebibyte [G16]', () => {
    const call = callOf('a', 'look', { text: 'x'.repeat(1024 * 1024) })
    expect(() => argumentsOf(call)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }))
  })
})
