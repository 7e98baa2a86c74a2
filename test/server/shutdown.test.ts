import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { ApiKeys } from '../../src/access/index.ts'
import { startServer } from '../../src/server/index.ts'
import { keyFolder, settingsFor, testKey } from '../support/key-files.ts'
import { ADMIN, fakeApi, fixture, until } from '../support/server-fixture.ts'
import { testWorld } from '../support/test-world.ts'

describe('listening', () => {
  const start = async (host: string, records: Parameters<typeof keyFolder>[0], more = {}) => {
    const folder = await keyFolder(records)
    const world = testWorld()
    const keys = await ApiKeys.open(settingsFor(folder.path, more), world, () => undefined)
    const log = { write: () => undefined }
    return await startServer({ api: fakeApi, keys, chats: null, log, version: '1', host, port: 0 }, world)
  }

  test.each(['0.0.0.0', '::', '192.0.2.1'])('the public address %s is refused without any credential', async (host) => {
    await expect(start(host, undefined)).rejects.toMatchObject({
      code: 'PUBLIC_BIND_REFUSED',
      hint: expect.any(String),
    })
    const revoked = [await testKey('fixture', { revoked: true })]
    await expect(start(host, revoked, { legacyToken: 'x' })).rejects.toMatchObject({ code: 'PUBLIC_BIND_REFUSED' })
    const refused = { legacyToken: 'x', refuseLegacyToken: true }
    await expect(start(host, undefined, refused)).rejects.toMatchObject({ code: 'PUBLIC_BIND_REFUSED' })
  })

  test('a public address with a key, and a loopback address without one, are served', async () => {
    await using wide = await start('0.0.0.0', [await testKey('fixture')])
    await using narrow = await start('127.0.0.1', undefined)
    for (const { port } of [wide, narrow]) {
      expect((await fetch(`http://127.0.0.1:${port}/api/v1/health/live`)).status).toBe(200)
    }
    expect((await fetch(`${narrow.url}/api/v1/metrics`, { headers: { authorization: 'Bearer x' } })).status).toBe(401)
  })

  test('a port in use is named with what to do', async () => {
    await using made = await fixture()
    await expect(fixture({ port: made.server.port })).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: expect.stringContaining(String(made.server.port)),
      hint: expect.stringContaining('--port'),
    })
  })

  test('a proxy setting that is no address is refused before listening', async () => {
    await expect(fixture({ trustedProxies: ['10.0.0.0/33'] })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})

describe('shutdown', () => {
  test('with nothing to wait for it ends at once, and takes idle keep-alive connections along', async () => {
    await using made = await fixture()
    await made.get('/api/v1/health', null) // fetch keeps this connection
    const silent = connect(made.server.port, made.server.host)
    silent.on('error', () => undefined)
    await new Promise((resolve) => silent.once('connect', resolve))
    const gone = new Promise((resolve) => silent.once('close', resolve))
    await made.server.close({ drainMs: 3_600_000 })
    await gone
    await expect(made.get('/api/v1/health', null)).rejects.toThrow()
  })

  test('after all sockets closed it waits for no timer [I13]', async () => {
    await using made = await fixture()
    const socket = await made.chat()
    socket.ws.close()
    await socket.closed
    await made.server.close({ drainMs: 3_600_000 })
    expect(made.server.connections).toBe(0)
  })

  test('an idle chat is closed with 1001; one with an active turn may finish it first', async () => {
    await using made = await fixture()
    const idle = await made.chat()
    const busy = await made.chat()
    await busy.next()
    const turn = made.chats.last
    turn.startTurn()
    const closed = made.server.close({ drainMs: 3_600_000 })
    expect(await idle.closed).toBe(1001)
    expect(turn.closes).toBe(0)
    await turn.outbound.send({ type: 'ChatChunk', request_id: 'r', content: 'done', done: true, replayed: false })
    turn.finishTurn()
    expect(await busy.next()).toMatchObject({ content: 'done' })
    expect(await busy.closed).toBe(1001)
    await closed
    expect(turn.closes).toBeGreaterThan(0)
  })

  test('while it drains, readiness is gone, liveness stays, and new work of every kind is refused', async () => {
    await using made = await fixture()
    const busy = await made.chat()
    await busy.next()
    const turn = made.chats.last
    turn.startTurn()
    const closed = made.server.close({ drainMs: 3_600_000 })
    expect((await made.get('/api/v1/health/ready', null)).status).toBe(503)
    expect((await made.get('/api/v1/health/live', null)).status).toBe(200)
    const response = await made.get('/api/v1/agents')
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'SHUTTING_DOWN', details: { hint: expect.any(String) } })
    expect(await made.refused(`?token=${ADMIN}`)).toMatchObject({ status: 503, body: { code: 'SHUTTING_DOWN' } })
    busy.send('{"type":"ChatSend"}')
    expect(await busy.next()).toMatchObject({ type: 'Error', request_id: null, code: 'SHUTTING_DOWN' })
    expect(turn.frames).toEqual([])
    turn.finishTurn()
    await closed
  })

  test('an admitted request is answered before the server ends', async () => {
    let release = (): void => undefined
    let entered = false
    const getMetrics = () =>
      new Promise<object>((resolve) => {
        entered = true
        release = () => resolve({ late: true })
      })
    await using made = await fixture({ api: { ...fakeApi, getMetrics } })
    const answer = made.get('/api/v1/metrics')
    await until(() => entered)
    const closed = made.server.close({ drainMs: 3_600_000 })
    release()
    expect(await (await answer).json()).toEqual({ late: true })
    await closed
  })

  test('when the drain ends, an active turn is cancelled, its cleanup is awaited, and then its socket is closed', async () => {
    await using made = await fixture()
    const socket = await made.chat()
    const turn = made.chats.last
    turn.startTurn()
    let finishCleanup = (): void => undefined
    turn.cleanup = new Promise<void>((resolve) => {
      finishCleanup = resolve
    })
    let isOver = false
    const closed = made.server.close({ drainMs: 1 }).then(() => {
      isOver = true
    })
    await turn.closed
    for (let round = 0; round < 5; round += 1) await made.get('/api/v1/health/live', null) // the server goes on meanwhile
    expect([isOver, socket.ws.readyState]).toEqual([false, socket.ws.OPEN])
    finishCleanup()
    expect(await socket.closed).toBe(1001)
    await closed
  })

  test('cancelNow() ends a drain at once and tells running requests to stop', async () => {
    const reasons: unknown[] = []
    let entered = false
    const getMetrics = (signal: AbortSignal) =>
      new Promise<object>((_, reject) => {
        entered = true
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason)
          reject(signal.reason)
        })
      })
    await using made = await fixture({ api: { ...fakeApi, getMetrics } })
    const socket = await made.chat()
    made.chats.last.startTurn()
    const answer = made.get('/api/v1/metrics')
    await until(() => entered)
    const closed = made.server.close({ drainMs: 3_600_000 })
    await made.server.cancelNow()
    await closed
    expect(await socket.closed).toBe(1001)
    expect(reasons).toEqual([expect.objectContaining({ code: 'SHUTTING_DOWN' })])
    expect((await answer).status).toBe(503)
  })

  test('close() twice is one shutdown', async () => {
    await using made = await fixture()
    await made.chat()
    await Promise.all([made.server.close(), made.server.close(), made.server.close({ drainMs: 0 })])
    expect(made.lines.filter((line) => line.event === 'closed')).toHaveLength(1)
  })

  test('a client that never answers the closing handshake is destroyed', async () => {
    await using made = await fixture({ chat: { closeMsMax: 50 } })
    const socket = await made.chat()
    await socket.next()
    socket.ws.pause()
    await made.server.close()
    expect(made.server.connections).toBe(0)
  })
})
