/** The door by itself, for what a network brings about only by chance. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { networkCaller } from '../../src/access/caller.ts'
import { McpHttp, type McpRequest } from '../../src/broker/http-door.ts'
import type { ClientSession } from '../../src/broker/session-port.ts'
import { testWorld } from '../support/test-world.ts'

/** A door whose sessions only count their ends. */
function doorOf() {
  let ends = 0
  const session = {
    definitions: [],
    ended: new AbortController().signal,
    failureReason: null,
    close: async () => {
      ends += 1
    },
  } as unknown as ClientSession
  const door = new McpHttp({
    world: testWorld(),
    version: '0',
    agentFor: () => ({}) as never,
    open: async () => ({ session, held: null, identified: null }),
    report: () => undefined,
  })
  return { door, ends: () => ends }
}

const GREETING: McpRequest = {
  caller: networkCaller('token', { key_id: 'one', agent_scope: null }),
  query: new URLSearchParams(),
  headers: {},
  body: {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '0' } },
  },
}

test.each([
  ['before the answer is written', true],
  ['before the answer has left', false],
])('a client that is gone %s knows no session, so none is left behind', async (_, before) => {
  const { door, ends } = doorOf()
  const counts: number[] = []
  const server = createServer(async (_request, response) => {
    const answer = await door.post(GREETING)
    counts.push(door.count)
    const gone = once(response, 'close')
    if (before) {
      response.destroy()
      await gone
    }
    if ('takeOver' in answer) answer.takeOver(response)
    if (!before) response.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await expect(fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).rejects.toThrow()
  await expect.poll(() => [door.count, ends()]).toEqual([0, 1])
  expect(counts).toEqual([1])
  server.close()
})
