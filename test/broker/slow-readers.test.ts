/** A client that does not read: what is kept for it has a bound, because progress comes for as long as its calls take. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { HttpExchange } from '../../src/broker/http-exchange.ts'
import { Connection, serveStream } from '../../src/broker/index.ts'
import { testWorld } from '../support/test-world.ts'

const PROGRESS = { jsonrpc: '2.0', method: 'notifications/progress', params: { message: 'x'.repeat(1000) } } as const

test('over a stream hears of no progress until it has read, and gets its answer all the same', async () => {
  const connection = new Connection('slow')
  let said = (): void => undefined
  const all = new Promise<void>((resolve) => {
    said = resolve
  })
  connection.onmessage = (message) => {
    const id = (message as { readonly id: number }).id
    for (let n = 0; n < 200; n += 1) void connection.send(PROGRESS, { relatedRequestId: id })
    void connection.send({ jsonrpc: '2.0', id, result: {} })
    said()
  }
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 4096 })]
  const served = serveStream(connection, { input, output }, new AbortController().signal)
  input.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
  await all
  expect(output.readableLength + output.writableLength).toBeLessThan(20_000)
  const heard: string[] = []
  output.setEncoding('utf8').on('data', (text: string) => void heard.push(text))
  await served
  await expect.poll(() => heard.join('').endsWith('}\n') && output.readableLength + output.writableLength).toBe(0)
  expect(heard.join('').trimEnd().split('\n').at(-1)).toBe('{"jsonrpc":"2.0","id":1,"result":{}}')
})

test('over HTTP hears of no progress, nor that it still waits, until it has read', async () => {
  const world = testWorld()
  const response = new ServerResponse(new IncomingMessage(new Socket())) // a reader that takes nothing
  const exchange = new HttpExchange(response, { clock: world.clock, streams: true, headers: {} })
  for (let n = 0; n < 1000; n += 1) await exchange.write(JSON.stringify(PROGRESS), false)
  const kept = response.writableLength
  expect(kept).toBeLessThan(80_000)
  await world.advance(600_000)
  expect(response.writableLength).toBe(kept)
  await exchange.write('{"answer":1}', true)
  expect(response.writableEnded).toBe(true)
  expect(response.writableLength).toBeGreaterThan(kept)
})

test('that is gone is reported once, however many answers it does not get', async () => {
  const connection = new Connection('gone')
  const reported: string[] = []
  connection.onerror = ({ message }) => void reported.push(message)
  connection.onmessage = (message) => {
    const { id } = message as { readonly id: number }
    void connection.send({ jsonrpc: '2.0', id, result: {} })
  }
  const reply = { write: async () => Promise.reject(new Error('EPIPE')), drop: () => undefined }
  for (let id = 0; id < 100; id += 1) {
    connection.receive({ kind: 'Request', id, method: 'ping', params: {} }, 10, reply)
  }
  await connection.idle()
  await expect.poll(() => reported).toEqual(['EPIPE'])
})
