import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CONNECTION_LIMITS, frameOf, readFrame } from '../../src/broker/index.ts'
import type { Json } from '../../src/core/index.ts'
import { recordedTool } from '../../src/testing/index.ts'
import { brokered, expectAccounted } from '../support/mcp-client.ts'

const MIB = 1024 * 1024
const bytes = (text: string): Uint8Array => Buffer.from(text)

describe('a frame', () => {
  test.each([
    ['a request', '{"jsonrpc":"2.0","id":1,"method":"m"}', { kind: 'Request', id: 1, method: 'm', params: {} }],
    ['a notification', '{"jsonrpc":"2.0","method":"m","params":{"a":1}}', { kind: 'Notification', method: 'm' }],
    ['a response', '{"jsonrpc":"2.0","id":1,"result":{}}', { kind: 'Response' }],
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}', { kind: 'Response' }],
  ])('that is %s is read as one', (_, text, expected) => {
    expect(readFrame(bytes(text))).toMatchObject(expected)
  })

  test.each([
    ['no JSON', '{', null],
    ['a name that stands twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', 1],
    ['a prototype key', '{"jsonrpc":"2.0","id":1,"method":"m","params":{"__proto__":{}}}', 1],
    ['half a surrogate pair', '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\\ud800"}}', 1],
    ['a number that would be rounded', '{"method":"m","params":{"n":9007199254740993},"jsonrpc":"2.0","id":"x"}', 'x'],
    [
      'more levels than allowed',
      `{"jsonrpc":"2.0","id":3,"method":"m","params":${'{"a":'.repeat(80)}1${'}'.repeat(81)}`,
      3,
    ],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"m"}]', null],
    ['a text', '"hello"', null],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"m"}', null],
    ['an id of null', '{"jsonrpc":"2.0","id":null,"method":"m"}', null],
    ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"m"}', null],
    ['an id that is too long', `{"jsonrpc":"2.0","id":"${'x'.repeat(257)}","method":"m"}`, null],
    ['no method', '{"jsonrpc":"2.0","id":1}', null],
    ['a method that is no text', '{"jsonrpc":"2.0","id":1,"method":7}', 1],
    ['params that are a list', '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}', 1],
  ])('with %s is broken, and says whose answer that is as far as it can be known', (_, text, id) => {
    expect(readFrame(bytes(text))).toMatchObject({ kind: 'Broken', id })
  })

  test('of any bytes, or of any value, is sorted and never throws', () => {
    const kinds = ['Request', 'Notification', 'Response', 'Broken']
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (given) => kinds.includes(readFrame(given).kind)))
    fc.assert(fc.property(fc.jsonValue(), (given) => kinds.includes(frameOf(given as Json).kind)))
  })
})

describe('a connection', () => {
  test('answers what breaks the protocol with an error of the protocol, and goes on', async () => {
    await using broker = await brokered()
    const { raw } = broker
    raw.call('early', 'system_health')
    expect((await raw.answer('early')).error).toMatchObject({ code: -32600, data: { code: 'INVALID_REQUEST' } })
    await raw.greet()
    raw.send('garbage\n\n   \n')
    expect((await raw.answer(null)).error).toMatchObject({ code: -32600, data: { code: 'INVALID_JSON' } })
    raw.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })
    expect((await raw.answer(1)).error?.code).toBe(-32600)
    raw.send({ jsonrpc: '2.0', id: 2, method: 'resources/list' })
    expect((await raw.answer(2)).error?.code).toBe(-32601)
    raw.send({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 7 } })
    expect((await raw.answer(3)).error?.code).toBeLessThan(0)
    raw.send({ jsonrpc: '2.0', id: 4, method: 'ping' })
    expect((await raw.answer(4)).result).toEqual({})
    raw.call(5, 'system_health')
    expect((await raw.result(5)).isError).toBe(false)
    expect(await broker.hangUp()).toBeNull()
  })

  test('reads frames in whatever pieces they come', async () => {
    await using broker = await brokered()
    await broker.raw.greet()
    const text = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: 'ü', method: 'ping' })}\r\n`)
    for (const byte of text) broker.raw.send(Uint8Array.of(byte))
    expect((await broker.raw.answer('ü')).result).toEqual({})
  })

  test('takes a frame without the end of its line as the last one', async () => {
    await using broker = await brokered()
    await broker.raw.greet()
    broker.raw.send('{"jsonrpc":"2.0","id":9,"method":"ping"}')
    expect(await broker.hangUp()).toBeNull()
    expect((await broker.raw.answer(9)).result).toEqual({})
  })

  test('takes a frame of a mebibyte, and refuses one that is a byte longer to whom it belongs', async () => {
    const swallow = recordedTool('swallow')
    await using broker = await brokered({ tools: [swallow] })
    const { raw } = broker
    await raw.greet()
    const frame = (size: number, id: string): string => {
      const make = (text: string): string =>
        JSON.stringify({ method: 'tools/call', params: { name: 'swallow', arguments: { text } }, jsonrpc: '2.0', id })
      return make('x'.repeat(size - make('').length))
    }
    raw.send(`${frame(MIB + 1, 'long')}\n`)
    expect((await raw.answer('long')).error).toMatchObject({ code: -32600, data: { code: 'PAYLOAD_TOO_LARGE' } })
    raw.send(`${frame(MIB, 'full')}\n`)
    expect((await raw.result('full')).structuredContent).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' }) // too large for evidence
    raw.send(`${frame(400 * 1024, 'fits')}\n`)
    expect((await raw.result('fits')).isError).toBe(false)
    expect(swallow.ran).toHaveLength(1)
    await broker.hangUp()
    expectAccounted(await broker.entries(), 1)
  })

  test('keeps what a client tells without being asked out of the log', async () => {
    await using broker = await brokered()
    await broker.raw.greet()
    const params = { progressToken: 'x'.repeat(10_000), progress: 'no number', _meta: 7 }
    for (const name of ['progress', 'initialized', 'cancelled', 'message', 'tools/list_changed', 'anything']) {
      broker.raw.send({ jsonrpc: '2.0', method: `notifications/${name}`, params })
    }
    broker.raw.call(1, 'system_health')
    expect((await broker.raw.result(1)).isError).toBe(false)
    expect(await broker.hangUp()).toBeNull()
    expect(broker.reports).toEqual([])
  })

  test('ends behind the last request that it may make, and answers what it took', async () => {
    await using broker = await brokered({ connectionLimits: { ...CONNECTION_LIMITS, requestsMax: 3 } })
    await broker.raw.greet()
    for (const id of [1, 2, 3]) broker.raw.call(id, 'system_health')
    expect((await broker.raw.answer(3)).error).toMatchObject({ code: -32000, data: { code: 'OVERLOADED' } })
    for (const id of [1, 2]) expect((await broker.raw.result(id)).isError).toBe(false)
    expect(await broker.hangUp()).toBeNull()
    expectAccounted(await broker.entries(), 2)
  })

  test('ends behind its traffic, whatever that consisted of', async () => {
    await using broker = await brokered({ connectionLimits: { ...CONNECTION_LIMITS, trafficBytesMax: 10_000 } })
    await broker.raw.greet()
    for (let n = 0; n < 12; n += 1)
      broker.raw.send(`{"jsonrpc":"2.0","method":"noise","params":{"n":"${'x'.repeat(1000)}"}}\n`)
    await broker.raw.ended
    expect((await broker.kinds()).at(-1)).toBe('Terminated')
  })

  test('takes so many requests at once and no more', async () => {
    const echo = recordedTool('echo')
    await using broker = await brokered({
      tools: [echo],
      connectionLimits: { ...CONNECTION_LIMITS, requestsAtOnceMax: 4 },
    })
    await broker.raw.greet()
    for (let id = 0; id < 6; id += 1) broker.raw.call(id, 'echo')
    expect((await broker.raw.answer(5)).error?.code).toBe(-32000)
    for (let id = 0; id < 4; id += 1) expect((await broker.raw.result(id)).isError).toBe(false)
    await broker.hangUp()
    expect(echo.ran).toHaveLength(4)
    expectAccounted(await broker.entries(), 4)
  })
})
