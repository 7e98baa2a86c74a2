/** Against the servers of the official SDK: what we keep apart from it must not keep us from it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toolbox } from '../../src/tools/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { startSdkServer } from '../support/mcp/sdk-server.mjs'
import { benchOf, httpServer, SDK_SERVER, stdioServer } from '../support/mcp/upstreams.ts'

let remote: Awaited<ReturnType<typeof startSdkServer>>
beforeAll(async () => {
  remote = await startSdkServer()
})
afterAll(() => remote.close())

test('a server over stdio and one over HTTP, both on the SDK, are used side by side', async () => {
  await using bench = await benchOf([
    stdioServer('near', 'x', { args: [SDK_SERVER] }),
    httpServer('far', remote.url, { risk: 'high', approval: true }),
  ])
  expect([...bench.upstreams.unavailable]).toEqual([])
  for (const name of ['mcp__near__add', 'mcp__far__add']) {
    expect(await bench.call(name, { a: 2, b: 3 })).toEqual({ content: '5', is_error: false })
  }
  expect(bench.tool('mcp__far__add').contract?.requires_approval).toBe(true)
  expect(bench.tool('mcp__far__add').resolve?.({})).toEqual({
    resolved: { mcp: { server: 'far', tool: 'add', risk: 'high', transport: 'http', url: remote.url } },
  })

  const box = toolbox({ tools: bench.upstreams.tools() }, nodeWorld())
  box.validate()
  const prepare = (args: object) =>
    box.prepare(
      { ToolCall: { call_id: '1', name: 'mcp__near__add', arguments: JSON.stringify(args) } },
      box.definitions(),
    )
  expect(prepare({ a: 1, b: 2 }).contract?.action_id).toBe('tool_call::mcp__near__add')
  expect(() => prepare({ a: 1, b: '2' })).toThrow(/#\/b breaks the rule #\/properties\/b\/type/)
  expect(() => prepare({ a: 1, b: 2, id: 'no' })).toThrow(/#\/id breaks the rule/)
})
