import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { nodeWorld } from '../../src/world/index.ts'

const world = nodeWorld()

test('random bytes are as many as were asked for, and other ones each time', () => {
  expect(world.random.bytes(32)).toHaveLength(32)
  expect(world.random.bytes(0)).toHaveLength(0)
  expect(Buffer.from(world.random.bytes(32)).equals(world.random.bytes(32))).toBe(false)
})

test('random bytes of an id never come twice, however many are asked for, and belong to who asked', () => {
  const first = world.random.bytes(16)
  const kept = Buffer.from(first)
  const seen = new Set(Array.from({ length: 2000 }, () => Buffer.from(world.random.bytes(16)).toString('hex')))
  expect(seen.size).toBe(2000)
  expect(seen).not.toContain(kept.toString('hex'))
  expect(Buffer.from(first)).toEqual(kept)
  expect(new Set(Array.from({ length: 300 }, () => Buffer.from(world.random.bytes(13)).toString('hex'))).size).toBe(300)
})

test('a server answers on the loopback interface, and refuses headers beyond its limit', async () => {
  const limits = { headerBytesMax: 1024, headersTimeoutMs: 1000, requestTimeoutMs: 1000, keepAliveTimeoutMs: 1000 }
  const server = world.net.createServer(limits, (_request, response) => response.end('hello'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  try {
    expect(await (await world.net.fetch(url)).text()).toBe('hello')
    const tooMuch = await world.net.fetch(url, { headers: { 'x-long': 'x'.repeat(2048) } })
    expect(tooMuch.status).toBe(431)
    expect(server.headersTimeout).toBe(1000)
    expect(server.requestTimeout).toBe(1000)
  } finally {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

test('the process and its threads are those of this machine', () => {
  expect(world.processes).toMatchObject({ pid: process.pid, platform: process.platform })
  const { memoryBytes, cpuMicros } = world.processes.usage()
  expect(memoryBytes).toBeGreaterThan(1_000_000)
  expect(cpuMicros).toBeGreaterThan(0)
  expect(world.threads.spare).toBeGreaterThanOrEqual(0)
})
