import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { networkCaller } from '../../src/access/index.ts'
import { AGENT, SECRET, testKey } from '../support/key-files.ts'
import { ADMIN, fixture, OTHER, raw, SCOPED, until } from '../support/server-fixture.ts'

const query = (token: string): string => `?token=${encodeURIComponent(token)}`
const ticketOf = async (made: Awaited<ReturnType<typeof fixture>>, token = ADMIN): Promise<string> => {
  const response = await made.get('/api/v1/auth/ws-ticket', token, { method: 'POST' })
  expect(response.headers.get('cache-control')).toBe('no-store')
  return ((await response.json()) as { ticket: string }).ticket
}

describe('before the upgrade', () => {
  test.each([
    ['no token', ''],
    ['an empty token', '?token='],
    ['white space', '?token=%20%09'],
    ['a token of more than 8192 bytes', query(`fixture.${'s'.repeat(8192)}`)],
    ['an unknown key', query(`nobody.${SECRET}`)],
    ['a scoped key with its right secret', query(SCOPED)],
    ['a wrong secret', query('fixture.wrong-secret')],
    ['two tokens', `${query(ADMIN)}&token=x`],
    ['a token and a ticket', `${query(ADMIN)}&ticket=x`],
    ['an unknown ticket', '?ticket=x'],
  ])('%s is refused with 401 and the envelope [C1.1]', async (_, text) => {
    await using made = await fixture()
    const { status, body, headers } = await made.refused(text)
    expect(status).toBe(401)
    expect(body).toEqual({
      error: 'A valid credential is required',
      code: 'UNAUTHORIZED',
      details: { hint: expect.any(String) },
    })
    expect(headers['www-authenticate']).toBe('Bearer')
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(made.chats.all).toEqual([])
  })

  test('a revoked key is refused with 401 [C1.1]', async () => {
    await using made = await fixture({ records: [await testKey('fixture', { revoked: true }), await testKey('other')] })
    expect((await made.refused(query(ADMIN))).status).toBe(401)
  })

  test('the legacy token opens a chat only while there are no keys and no setting refuses it', async () => {
    const access = { legacyToken: 'legacy' }
    await using made = await fixture({ records: [], access })
    await made.chat({ query: '?token=legacy' })
    expect(made.chats.last.caller).toBe(networkCaller('legacy', null).fingerprint)
    await using refusing = await fixture({ records: [], access: { ...access, refuseLegacyToken: true } })
    expect((await refusing.refused('?token=legacy')).status).toBe(401)
    await using keyed = await fixture({ access })
    expect((await keyed.refused('?token=legacy')).status).toBe(401)
  })

  test('a plain request gets 401 without a credential, and with one the advice to upgrade', async () => {
    await using made = await fixture()
    expect((await made.get('/ws/chat', null)).status).toBe(401)
    const response = await made.get('/ws/chat')
    expect([response.status, response.headers.get('upgrade')]).toEqual([426, 'websocket'])
    expect(await response.json()).toMatchObject({ code: 'UPGRADE_REQUIRED' })
  })

  test('an origin that is not listed is refused with 403 and its credential is not looked at', async () => {
    await using made = await fixture()
    const ticket = await ticketOf(made)
    const refused = await made.refused(`?ticket=${ticket}`, { origin: 'http://evil.example' })
    expect(refused).toMatchObject({ status: 403, body: { code: 'ORIGIN_REFUSED' } })
    await made.chat({ query: `?ticket=${ticket}`, headers: { origin: 'http://localhost:3000' } })
  })

  test.each([
    ['another path', 'GET /ws/other HTTP/1.1', 'websocket', 404],
    ['another protocol', 'GET /ws/chat HTTP/1.1', 'h2c', 400],
    ['another method', 'POST /ws/chat HTTP/1.1', 'websocket', 400],
  ])('%s is refused in the envelope', async (_, line, upgrade, status) => {
    await using made = await fixture()
    const answer = await raw(
      made.server,
      `${line}\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\nAuthorization: Bearer ${ADMIN}\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    expect(answer).toContain(`HTTP/1.1 ${status} `)
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({ details: expect.anything() })
  })

  test('without a model to talk to there is no chat route', async () => {
    await using made = await fixture({ chats: null })
    expect(await made.refused(query(ADMIN))).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
    expect((await made.get('/ws/chat')).status).toBe(404)
  })

  test('more sockets than the limit are refused, and a closed one makes room', async () => {
    await using made = await fixture({ chat: { socketsMax: 2 } })
    const first = await made.chat()
    await made.chat()
    expect(await made.refused(query(ADMIN))).toMatchObject({ status: 503, body: { code: 'OVERLOADED' } })
    first.ws.close()
    await first.closed
    await until(() => made.server.connections === 1)
    await made.chat()
  })
})

describe('credentials', () => {
  test('header, query and ticket of one token are one caller; another token is another', async () => {
    await using made = await fixture()
    await made.chat()
    await made.chat({ query: query(ADMIN) })
    await made.chat({ query: `?ticket=${await ticketOf(made)}` })
    await made.chat({ token: OTHER })
    const [header, inQuery, ticket, other] = made.chats.all.map((chat) => chat.caller)
    expect(header).toBe(networkCaller(ADMIN, { key_id: 'fixture', agent_scope: null }).fingerprint)
    expect([inQuery, ticket]).toEqual([header, header])
    expect(other).not.toBe(header)
  })

  test('a ticket is spent once, expires after 30 seconds, and dies with its key', async () => {
    await using made = await fixture()
    const spent = await ticketOf(made)
    await made.chat({ query: `?ticket=${spent}` })
    expect((await made.refused(`?ticket=${spent}`)).status).toBe(401)
    const late = await ticketOf(made)
    made.world.advance(30_000)
    expect((await made.refused(`?ticket=${late}`)).status).toBe(401)
    const orphan = await ticketOf(made)
    await made.folder.write(made.records.map((key) => ({ ...key, revoked: key.key_id === 'fixture' })))
    expect((await made.refused(`?ticket=${orphan}`)).status).toBe(401)
  })

  test('a plain request does not spend a ticket', async () => {
    await using made = await fixture()
    const ticket = await ticketOf(made)
    expect((await made.get(`/ws/chat?ticket=${ticket}`, null)).status).toBe(426)
    await made.chat({ query: `?ticket=${ticket}` })
  })

  test('a scoped key gets no ticket', async () => {
    await using made = await fixture()
    expect((await made.get('/api/v1/auth/ws-ticket', SCOPED, { method: 'POST' })).status).toBe(403)
    expect((await made.get('/api/v1/auth/ws-ticket', null, { method: 'POST' })).status).toBe(401)
  })

  test('a frame that comes after its key was revoked is not heard, however far the next heartbeat is', async () => {
    await using made = await fixture({ chat: { heartbeatMs: 600_000 } })
    const mine = await made.chat()
    mine.send('before')
    expect(await mine.nextSaid()).toMatchObject({ content: 'before' })
    await made.folder.write(made.records.map((key) => ({ ...key, revoked: key.key_id === 'fixture' })))
    mine.send('after')
    expect(await mine.closed).toBe(1008)
    expect(made.chats.last.frames).toEqual(['before'])
  })

  test.each([
    ['revoked', { revoked: true }],
    ['limited to an agent', { agent_scope: [AGENT] }],
  ])('a key that is %s loses its open sockets within a heartbeat, and the others stay', async (_, change) => {
    await using made = await fixture({ chat: { heartbeatMs: 20 } })
    const mine = await made.chat()
    const theirs = await made.chat({ token: OTHER })
    await made.folder.write(made.records.map((key) => (key.key_id === 'fixture' ? { ...key, ...change } : key)))
    expect(await mine.closed).toBe(1008)
    await made.chats.all[0]!.closed
    theirs.send('still here')
    expect(await theirs.nextSaid()).toMatchObject({ content: 'still here' })
  })

  test('tokens, tickets and the query never reach the log', async () => {
    await using made = await fixture()
    const ticket = await ticketOf(made)
    const socket = await made.chat({ query: `?ticket=${ticket}` })
    await made.chat({ query: query(ADMIN) })
    await made.refused(query('fixture.wrong-secret'))
    await made.get(`/api/v1/agents?token=${ADMIN}&q=private-text`)
    await made.get('/private-path/x')
    socket.send('private-content')
    await socket.nextSaid()
    socket.ws.close()
    await made.server.close()
    const text = JSON.stringify(made.lines)
    expect(made.lines.map((line) => line.event)).toEqual(
      expect.arrayContaining(['listening', 'request', 'chat opened', 'chat closed', 'upgrade refused', 'closed']),
    )
    for (const secret of [
      SECRET,
      ticket,
      'wrong-secret',
      'private-text',
      'private-path',
      'private-content',
      'token=',
    ]) {
      expect(text).not.toContain(secret)
    }
  })
})

describe('frames', () => {
  test('the upgrade carries the security headers, and the server says Pong first and with every heartbeat', async () => {
    await using made = await fixture({ chat: { heartbeatMs: 10 } })
    const socket = await made.chat()
    for (let count = 0; count < 3; count += 1) expect(await socket.next()).toEqual({ type: 'Pong' })
    const answer = await new Promise<string>((resolve) => {
      const client = connect(made.server.port, made.server.host)
      client.once('data', (bytes) => {
        resolve(String(bytes))
        client.destroy()
      })
      client.write(
        `GET /ws/chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer ${ADMIN}\r\n` +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      )
    })
    expect(answer).toContain('HTTP/1.1 101 ')
    expect(answer).toContain('x-frame-options: DENY')
  })

  test('frames reach the chat one after the other and in order', async () => {
    await using made = await fixture()
    let active = 0
    let most = 0
    made.chats.onFrame = async (chat, frame) => {
      active += 1
      most = Math.max(most, active)
      await new Promise((resolve) => setImmediate(resolve))
      active -= 1
      if (frame === '99') await chat.outbound.send({ type: 'Pong' })
    }
    const socket = await made.chat()
    await socket.next()
    for (let count = 0; count < 100; count += 1) socket.send(String(count))
    await socket.next()
    expect(made.chats.last.frames).toEqual(Array.from({ length: 100 }, (_, index) => String(index)))
    expect(most).toBe(1)
  })

  test('a client that sends faster than its chat works is not read further, and loses nothing', async () => {
    await using made = await fixture()
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    made.chats.onFrame = (chat, frame) => (frame === 'echo' ? chat.outbound.send({ type: 'Pong' }) : gate)
    const socket = await made.chat()
    const other = await made.chat()
    const count = 200 // 20 MB: far more than the system holds for a connection
    for (let sent = 0; sent < count; sent += 1) socket.send('x'.repeat(100_000))
    await until(() => made.chats.all[0]?.frames.length === 1)
    for (let round = 0; round < 50; round += 1) {
      other.send('echo') // the server is at work all the time, and still it does not read on
      await other.next()
    }
    expect(socket.ws.bufferedAmount).toBeGreaterThan(5_000_000)
    release()
    await until(() => made.chats.all[0]?.frames.length === count)
  })

  test('a binary frame is answered with PARSE_ERROR without an id, and the socket stays open', async () => {
    await using made = await fixture()
    const socket = await made.chat()
    socket.send(Buffer.from('{"type":"Ping"}'))
    expect(await socket.nextSaid()).toEqual({
      type: 'Error',
      request_id: null,
      code: 'PARSE_ERROR',
      message: expect.stringContaining('text frame'),
    })
    socket.send('text')
    expect(await socket.nextSaid()).toMatchObject({ content: 'text' })
    expect(made.chats.last.frames).toEqual(['text'])
  })

  test('128 KiB pass; one byte more closes the socket with 1009 and its chat, and others go on', async () => {
    await using made = await fixture()
    const socket = await made.chat()
    const other = await made.chat()
    socket.send('x'.repeat(128 * 1024))
    expect(await socket.nextSaid()).toMatchObject({ type: 'ChatChunk' })
    socket.send('x'.repeat(128 * 1024 + 1))
    expect(await socket.closed).toBe(1009)
    await made.chats.all[0]!.closed
    other.send('fine')
    expect(await other.nextSaid()).toMatchObject({ content: 'fine' })
  })

  test('text that is not UTF-8 closes the socket with 1007', async () => {
    await using made = await fixture()
    const socket = await made.chat()
    socket.ws.send(Buffer.from([0xff, 0xfe]), { binary: false })
    expect(await socket.closed).toBe(1007)
    await made.chats.last.closed
  })

  test('a chat that breaks its promise ends its own socket with 1011 and is logged, and others go on', async () => {
    await using made = await fixture()
    made.chats.onFrame = (chat, frame) =>
      frame === 'break' ? Promise.reject(new Error('bug')) : chat.outbound.send({ type: 'Pong' })
    const socket = await made.chat()
    const other = await made.chat()
    socket.send('break')
    expect(await socket.closed).toBe(1011)
    await made.chats.all[0]!.closed
    expect(made.lines).toContainEqual(expect.objectContaining({ level: 'error', event: 'chat failed' }))
    other.send('fine')
    await other.next()
  })
})

describe('the end of a connection', () => {
  test.each([
    ['closes it', (ws: import('ws').WebSocket) => ws.close()],
    ['vanishes', (ws: import('ws').WebSocket) => ws.terminate()],
  ])('when the client %s, the chat is closed and nothing of the connection is held', async (_, leave) => {
    await using made = await fixture()
    const socket = await made.chat()
    made.chats.last.startTurn()
    leave(socket.ws)
    await made.chats.last.closed
    await until(() => made.server.connections === 0)
    await expect(made.chats.last.outbound.send({ type: 'Pong' })).rejects.toMatchObject({ code: 'SESSION_CLOSED' })
    expect(made.chats.last.outbound.offer({ type: 'Pong' })).toBe(false)
  })

  test('a slow reader loses its connection, and another client notices nothing [trap:slow-reader]', async () => {
    const outbound = { messagesMax: 64, bytesMax: 4_000_000, sendWaitMsMax: 50, writeMsMax: 10_000 }
    await using made = await fixture({ chat: { outbound } })
    const content = 'x'.repeat(200_000)
    const failures: unknown[] = []
    made.chats.onFrame = async (chat, frame) => {
      if (frame === 'flood') {
        try {
          for (;;)
            await chat.outbound.send({ type: 'ChatChunk', request_id: 'r', content, done: false, replayed: false })
        } catch (error) {
          failures.push(error)
        }
      } else await chat.outbound.send({ type: 'Pong' })
    }
    const slow = await made.chat()
    const other = await made.chat()
    await slow.next()
    slow.ws.pause()
    slow.send('flood')
    await made.chats.all[0]!.closed
    await until(() => failures.length > 0)
    expect(failures).toEqual([expect.objectContaining({ code: 'SESSION_CLOSED' })])
    slow.ws.resume()
    await slow.closed
    other.send('fine')
    expect(await other.next()).toEqual({ type: 'Pong' })
    await until(() => made.server.connections === 1)
  })

  test('a write that the network does not take in time ends the connection', async () => {
    const outbound = { messagesMax: 64, bytesMax: 64_000_000, sendWaitMsMax: 10_000, writeMsMax: 50 }
    await using made = await fixture({ chat: { outbound } })
    const slow = await made.chat()
    await slow.next()
    slow.ws.pause()
    const chunk = {
      type: 'ChatChunk',
      request_id: 'r',
      content: 'x'.repeat(20_000_000),
      done: true,
      replayed: false,
    } as const
    await made.chats.last.outbound.send(chunk)
    await made.chats.last.closed
    expect(made.lines).toContainEqual(
      expect.objectContaining({ event: 'chat ended', facts: expect.objectContaining({ reason: 'reader too slow' }) }),
    )
  })

  test('a ping frame of the protocol is answered', async () => {
    await using made = await fixture()
    const socket = await made.chat()
    socket.ws.ping('once')
    const [data] = await once(socket.ws, 'pong')
    expect(String(data)).toBe('once')
  })
})

test('three hundred idle sockets are held and released', async () => {
  await using made = await fixture()
  const sockets = await Promise.all(Array.from({ length: 300 }, () => made.chat()))
  expect(made.server.connections).toBe(300)
  for (const socket of sockets) expect(await socket.next()).toEqual({ type: 'Pong' })
  for (const socket of sockets.slice(0, 150)) socket.ws.close()
  await Promise.all(sockets.slice(0, 150).map((socket) => socket.closed))
  await until(() => made.server.connections === 150)
  await made.server.close()
  expect(new Set(await Promise.all(sockets.slice(150).map((socket) => socket.closed)))).toEqual(new Set([1001]))
  expect(made.chats.all.every((chat) => chat.closes > 0)).toBe(true)
})
