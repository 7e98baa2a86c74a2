import { existsSync, readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { Fault } from '../../src/core/index.ts'
import type { ToolEffect } from '../../src/events/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { startHttpServer } from '../support/mcp/http-server.mjs'
import { benchOf, httpServer } from '../support/mcp/upstreams.ts'
import { scratch } from '../support/scratch.ts'
import { notDoneIn } from '../support/tools.ts'

const place = scratch()
const open: { close(): Promise<unknown> }[] = []
afterAll(() => Promise.all(open.map((server) => server.close())))

async function server(options: Parameters<typeof startHttpServer>[0] = {}) {
  const started = await startHttpServer(options)
  open.push(started)
  return started
}

describe.each([false, true])('over HTTP, with events: %j', (events) => {
  test('a call is one request, whose intent and receipt are told to the journal of the call', async () => {
    const remote = await server({ events })
    await using bench = await benchOf([httpServer('web', remote.url)])
    const effects: ToolEffect[] = []
    expect(await bench.call('mcp__web__echo', { text: 'hi' }, { effects })).toEqual({ content: 'hi', is_error: false })
    expect(effects).toEqual([
      {
        NetworkRequestStarted: {
          request_id: expect.any(String),
          method: 'POST',
          url: remote.url,
          request_hash: expect.stringMatching(/^sha256:/),
          request_bytes: expect.any(Number),
        },
      },
      {
        NetworkRequestFinished: {
          request_id: expect.any(String),
          status: 200,
          response_hash: expect.stringMatching(/^sha256:/),
          response_headers_hash: expect.stringMatching(/^sha256:/),
          response_bytes: expect.any(Number),
          error: null,
        },
      },
    ])
    expect(remote.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(1)
  })
})

test('the list is read again before every call, and a tool that changed is refused before anything is sent', async () => {
  const remote = await server()
  await using bench = await benchOf([httpServer('web', remote.url)])
  expect(await bench.call('mcp__web__misbehave', { how: 'drifts' })).toEqual({ content: 'drifted', is_error: false })
  const effects: ToolEffect[] = []
  const answer = notDoneIn(await bench.call('mcp__web__echo', { text: 'secret' }, { effects }))
  expect(answer).toMatchObject({
    code: 'UPSTREAM_CHANGED',
    sent: false,
    hint: expect.stringContaining('symbi mcp pin web'),
  })
  expect(effects).toEqual([])
  expect(remote.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(1)
})

test.each([
  ['other-id', 'answered another question'],
  ['invalid-json', 'a member name in double quotes is expected'],
  ['redirect', 'a redirect (307)'],
  ['error-500', 'the status 500'],
  ['hangs-up', 'the network answered'],
  ['too-long', 'longer than 1048576 bytes'],
  ['page', 'something else than JSON or events'],
  ['no-answer', 'ended without an answer'],
  ['forgets', 'the status 404'],
  ['babbles', 'does not stop sending'],
])(
  'a server that answers in the way "%s" leaves the call unknown; it is initialised again, and the call is not repeated',
  async (how, reason) => {
    const effects = place.path('effects')
    const remote = await server({ effects })
    await using bench = await benchOf([httpServer('web', remote.url)])
    const told: ToolEffect[] = []
    await expect(bench.call('mcp__web__misbehave', { how }, { effects: told })).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      message: expect.stringContaining(reason),
    })
    expect(told.at(-1)).toMatchObject({ NetworkRequestFinished: { error: expect.any(String) } })
    expect(await bench.call('mcp__web__echo', { text: 'after' })).toEqual({ content: 'after', is_error: false })
    expect(readFileSync(effects, 'utf8')).toBe(`${how}\n`)
    expect(remote.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2)
  },
)

test('an answer that comes twice breaks the connection, and the next call has another', async () => {
  const remote = await server()
  await using bench = await benchOf([httpServer('web', remote.url)])
  await bench.call('mcp__web__misbehave', { how: 'twice' }).catch(() => undefined)
  expect(await bench.call('mcp__web__echo', { text: 'after' })).toEqual({ content: 'after', is_error: false })
  expect(bench.news).toContainEqual(
    expect.objectContaining({ kind: 'Lost', reason: expect.stringContaining('which nobody asked') }),
  )
  expect(remote.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(2)
})

test('a stream that its server never ends is left once the answer is there', async () => {
  const remote = await server()
  await using bench = await benchOf([httpServer('web', remote.url)])
  for (let calls = 0; calls < 3; calls += 1) {
    expect(await bench.call('mcp__web__misbehave', { how: 'holds' })).toEqual({ content: 'held', is_error: false })
  }
  while (remote.held.size > 0) await new Promise((resolve) => setImmediate(resolve))
  expect(bench.news.filter(({ kind }) => kind === 'Lost')).toEqual([])
})

test('a credential comes from a variable of the environment, and its value stands in no message', async () => {
  const remote = await server({ token: 'Bearer hush-hush' })
  const config = httpServer('web', remote.url, { headersEnv: { Authorization: 'DESK_TOKEN' } })
  await using good = await benchOf([config], { env: { DESK_TOKEN: 'Bearer hush-hush' } })
  expect(await good.call('mcp__web__echo', { text: 'in' })).toEqual({ content: 'in', is_error: false })
  for (const env of [{}, { DESK_TOKEN: 'Bearer hush-wrong' }, { DESK_TOKEN: 'hush\nhush' }]) {
    await using bad = await benchOf([config], { env })
    expect(bad.upstreams.tools()).toEqual([])
    expect([...bad.upstreams.unavailable.keys()]).toEqual(['web'])
    expect(JSON.stringify([...bad.upstreams.unavailable, ...bad.news])).not.toMatch(/hush/)
  }
})

test('a call that is cancelled is taken back at the server, and its late answer harms nobody', async () => {
  const effects = place.path('effects')
  const remote = await server({ effects })
  await using bench = await benchOf([httpServer('web', remote.url)])
  const cancel = new AbortController()
  const told: ToolEffect[] = []
  const call = bench.call('mcp__web__misbehave', { how: 'late' }, { signal: cancel.signal, effects: told })
  while (!existsSync(effects)) await new Promise((resolve) => setImmediate(resolve))
  cancel.abort(new Fault('RUN_CANCELLED', { message: 'enough' }))
  await expect(call).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  while (!remote.seen.some(({ rpc }) => rpc === 'notifications/cancelled')) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await bench.call('mcp__web__echo', { text: 'on' })).toEqual({ content: 'on', is_error: false })
  expect(told).toMatchObject([{ NetworkRequestStarted: { url: remote.url } }]) // no receipt: the call is unknown
  expect(bench.news.filter(({ kind }) => kind === 'Lost')).toEqual([])
})

test.each(['deaf', 'endless'])('a server that is %s to notifications holds nothing for long', async (mode) => {
  const effects = place.path(`effects-${mode}`)
  const remote = await server({ effects, mode })
  await using bench = await benchOf([httpServer('web', remote.url, { startTimeoutMs: 1000 })])
  const cancel = new AbortController()
  const call = bench.call('mcp__web__misbehave', { how: 'late' }, { signal: cancel.signal })
  while (!existsSync(effects)) await new Promise((resolve) => setImmediate(resolve))
  cancel.abort(new Fault('RUN_CANCELLED', { message: 'enough' }))
  await expect(call).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  while (!remote.seen.some(({ rpc }) => rpc === 'notifications/cancelled')) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  const isLost = () => bench.news.some(({ kind }) => kind === 'Lost')
  while (mode === 'deaf' ? !isLost() : remote.held.size > 0) await new Promise((resolve) => setImmediate(resolve))
  expect(await bench.call('mcp__web__echo', { text: 'on' })).toEqual({ content: 'on', is_error: false })
})

test.each(['late', 'late-events'])(
  'a call that was taken back and is never answered (%s) is left after a while',
  async (how) => {
    const effects = place.path(`effects-${how}`)
    const remote = await server({ effects, mode: 'busy' })
    await using bench = await benchOf([httpServer('web', remote.url, { startTimeoutMs: 1000 })])
    const cancel = new AbortController()
    const call = bench.call('mcp__web__misbehave', { how }, { signal: cancel.signal })
    while (!existsSync(effects)) await new Promise((resolve) => setImmediate(resolve))
    cancel.abort(new Fault('RUN_CANCELLED', { message: 'enough' }))
    await expect(call).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
    while (remote.held.size > 0) await new Promise((resolve) => setImmediate(resolve))
    expect(await bench.call('mcp__web__echo', { text: 'on' })).toEqual({ content: 'on', is_error: false })
    expect(bench.news.filter(({ kind }) => kind === 'Lost')).toEqual([])
  },
)

test('a call that is cancelled while its intent is written is not sent', async () => {
  const remote = await server()
  await using bench = await benchOf([httpServer('web', remote.url)])
  const cancel = new AbortController()
  const told: ToolEffect[] = []
  const record = async (effect: ToolEffect): Promise<void> => {
    told.push(effect)
    cancel.abort(new Fault('RUN_CANCELLED', { message: 'enough' }))
    while (!remote.seen.some(({ rpc }) => rpc === 'notifications/cancelled')) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const deadlineMs = nodeWorld().clock.monotonicMs() + 20_000
  const call = bench
    .tool('mcp__web__echo')
    .run({ text: 'a' }, { signal: cancel.signal, effects: { record }, deadlineMs })
  await expect(call).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  expect(await bench.call('mcp__web__echo', { text: 'on' })).toEqual({ content: 'on', is_error: false })
  expect(told).toMatchObject([{ NetworkRequestStarted: { url: remote.url } }])
  expect(remote.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(1)
})

test('a call that is cancelled while the address of its server is looked up is not sent', async () => {
  const remote = await server()
  const cancel = new AbortController()
  const real = nodeWorld()
  let looksUp = false
  const resolve: typeof real.net.resolve = async (name, signal) => {
    const addresses = await real.net.resolve(name, signal)
    if (!looksUp) return addresses
    looksUp = false // of the call alone: that it is taken back is a request of its own
    cancel.abort(new Fault('RUN_CANCELLED', { message: 'enough' }))
    while (!remote.seen.some(({ rpc }) => rpc === 'notifications/cancelled')) {
      await new Promise((next) => setImmediate(next))
    }
    return addresses
  }
  const world = { ...real, net: { ...real.net, resolve } }
  const url = remote.url.replace('127.0.0.1', 'localhost')
  await using bench = await benchOf([httpServer('web', url)], { world })
  const told: ToolEffect[] = []
  const record = async (effect: ToolEffect): Promise<void> => {
    told.push(effect)
    looksUp = true
  }
  const deadlineMs = real.clock.monotonicMs() + 20_000
  const call = bench
    .tool('mcp__web__echo')
    .run({ text: 'a' }, { signal: cancel.signal, effects: { record }, deadlineMs })
  await expect(call).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  expect(await bench.call('mcp__web__echo', { text: 'on' })).toEqual({ content: 'on', is_error: false })
  expect(told).toMatchObject([{ NetworkRequestStarted: { url } }])
  expect(remote.seen.filter(({ rpc }) => rpc === 'tools/call')).toHaveLength(1)
})

test('many calls at once over HTTP come to their end, each with its own answer', async () => {
  const remote = await server()
  await using bench = await benchOf([httpServer('web', remote.url)])
  const texts = Array.from({ length: 30 }, (_, at) => `text ${at}`)
  const answers = await Promise.all(texts.map((text) => bench.call('mcp__web__echo', { text })))
  expect(answers).toEqual(texts.map((content) => ({ content, is_error: false })))
})

test('a server that is gone is not reached, and then nothing was sent', async () => {
  const remote = await server()
  await using bench = await benchOf([httpServer('web', remote.url)])
  await remote.close()
  const effects: ToolEffect[] = []
  const answers = [
    await bench.call('mcp__web__echo', { text: 'a' }, { effects }),
    await bench.call('mcp__web__echo', { text: 'b' }),
  ]
  for (const answer of answers) {
    expect(notDoneIn(answer)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', sent: false })
  }
  expect(effects).toEqual([])
})

test('the session is given back when the servers are closed', async () => {
  const remote = await server()
  await using bench = await benchOf([httpServer('web', remote.url)])
  expect(remote.sessions.size).toBe(1)
  await bench.upstreams.close()
  expect(remote.sessions.size).toBe(0)
})

describe('where a request may go', () => {
  const world = nodeWorld()
  const resolving = (...addresses: readonly string[]) => ({
    ...world,
    net: { ...world.net, resolve: async () => addresses },
  })
  test.each([
    ['http://desk.example/mcp', ['127.0.0.1']],
    ['http://desk.example/mcp', ['10.1.2.3']],
    ['http://desk.example/mcp', ['93.184.216.34', '169.254.169.254']],
    ['http://desk.example/mcp', ['::ffff:127.0.0.1']],
    ['http://desk.example/mcp', []],
    ['http://localhost/mcp', ['169.254.1.1']],
    ['http://metadata.google.internal/mcp', ['93.184.216.34']],
    ['http://169.254.169.254/mcp', []],
    ['http://0.0.0.0/mcp', []],
  ])('%s that leads to %j is refused, and nothing is sent', async (url, addresses) => {
    const world = resolving(...addresses)
    let asked = 0
    const net = { ...world.net, request: () => Promise.reject(new Error(`asked ${++asked}`)) }
    await using bench = await benchOf([httpServer('web', url)], { world: { ...world, net } })
    expect(bench.upstreams.unavailable.get('web')).toMatch(/Cannot reach the tool server/)
    expect(asked).toBe(0)
  })
})
