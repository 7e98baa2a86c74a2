/** Real sockets: servers that answer, lie, stop, stall and send you elsewhere; and a journal that is asked before and after. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createPlain, type Server as PlainServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { ToolEffect } from '../../src/events/index.ts'
import { type HttpOrigin, httpRequestTool } from '../../src/tools/index.ts'
import { nodeWorld, type World } from '../../src/world/index.ts'
import { asked, recordInto, signalled } from './support.ts'

const real = nodeWorld()

interface Listening extends AsyncDisposable {
  readonly port: number
  readonly origin: string
  /** What the server saw of each request. */
  readonly seen: {
    readonly method: string
    readonly url: string
    readonly headers: IncomingMessage['headers']
    readonly body: string
  }[]
}

async function listening(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<Listening> {
  const seen: Listening['seen'] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    seen.push({
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(pieces).toString(),
    })
    answer(request, response)
  })
  return await bound(server, seen)
}

/** A server that speaks bytes of the test's choice once a request began. */
async function speaking(answer: (socket: Socket, first: Buffer) => void): Promise<Listening> {
  return await bound(
    createPlain((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', (first) => answer(socket, first))
    }),
    [],
  )
}

async function bound(server: Server | PlainServer, seen: Listening['seen']): Promise<Listening> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The tool for these origins, and the effects that it told the journal. */
function client(
  origins: readonly (string | HttpOrigin)[],
  parts: { net?: Partial<World['net']>; refuse?: boolean } = {},
) {
  const effects: ToolEffect[] = []
  const tool = httpRequestTool(origins, { ...real, net: { ...real.net, ...parts.net } })
  const journal =
    parts.refuse === true ? { record: () => Promise.reject(new Error('the disk is full')) } : recordInto(effects)
  return { effects, ask: asked([tool], { effectsOf: () => journal }), tool }
}

const kinds = (effects: readonly ToolEffect[]) => effects.flatMap((effect) => Object.keys(effect))
const get = (url: string) => ['http_request', { method: 'GET', url }] as const

/** Names lead where the test says, and each look-up is counted. */
function names(table: Readonly<Record<string, readonly string[]>>) {
  const lookups: string[] = []
  const resolve = async (name: string): Promise<readonly string[]> => {
    lookups.push(name)
    return table[name] ?? []
  }
  return { lookups, net: { resolve } }
}

describe('a request', () => {
  test('is journalled before it is sent and after its answer, with hashes and counts and nothing else', async () => {
    const order: string[] = []
    await using server = await listening((_request, response) => {
      order.push('served')
      response.setHeader('set-cookie', 'session=1').setHeader('content-type', 'text/plain').end('hello')
    })
    const { effects, ask } = client([server.origin])
    const { said, is_error } = await ask(...get(`${server.origin}/a?q=1#part`))
    expect(is_error).toBe(false)
    expect(said).toMatchObject({
      method: 'GET',
      url: `${server.origin}/a?q=1`,
      status: 200,
      bytes: 5,
      cut: false,
      text: 'hello',
    })
    expect(said.headers).not.toHaveProperty('set-cookie')
    expect(order).toEqual(['served'])
    const [started, finished] = effects as [{ NetworkRequestStarted: object }, { NetworkRequestFinished: object }]
    expect(started.NetworkRequestStarted).toEqual({
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      method: 'GET',
      url: `${server.origin}/a?q=1`,
      request_hash: expect.stringMatching(/^sha256:/),
      request_bytes: 0,
    })
    expect(finished.NetworkRequestFinished).toMatchObject({
      status: 200,
      response_hash: 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
      response_bytes: 5,
      error: null,
    })
    expect(JSON.stringify(effects)).not.toContain('session=1')
  })

  test('is not sent when the journal does not take its intent', async () => {
    await using server = await listening((_request, response) => void response.end())
    const { is_error, content } = await client([server.origin], { refuse: true }).ask(...get(`${server.origin}/`))
    expect(is_error).toBe(true)
    expect(content).toContain('the disk is full')
    expect(server.seen).toEqual([])
  })

  test('carries its body and the headers that a call may set, beside those of the origin, which nobody is told', async () => {
    await using server = await listening((request, response) => {
      response
        .setHeader('x-echo', String(request.headers.authorization))
        .end(`you are ${request.headers.authorization}`)
    })
    const origin: HttpOrigin = {
      origin: server.origin,
      methods: ['GET', 'POST'],
      headers: { Authorization: 'Bearer swordfish-swordfish' },
    }
    const { ask, effects } = client([origin])
    const { call, content, said } = await ask('http_request', {
      method: 'POST',
      url: server.origin,
      headers: { 'Content-Type': 'application/json' },
      body: '{"a":"ü"}',
    })
    expect(server.seen).toMatchObject([{ method: 'POST', body: '{"a":"ü"}' }])
    expect(server.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer swordfish-swordfish',
      'content-type': 'application/json',
      host: `127.0.0.1:${server.port}`,
      'content-length': '10',
    })
    expect(said.text).toBe('you are [masked]')
    expect(JSON.stringify([call, content, effects])).not.toContain('swordfish')
    expect(effects[0]).toMatchObject({ NetworkRequestStarted: { request_bytes: 10 } })
  })

  test.each([
    ['a secret that the end of the answer cuts', ['swordfish-swordfish'], 'swordfish-swordfis', '[masked]'],
    ['a longer secret that begins as another', ['swordfish', 'swordfish-tail'], 'swordfish-tail', '[masked]'],
  ])('tells nothing of %s', async (_what, values, repeated, shown) => {
    const room = 48 * 1024 - repeated.length
    await using server = await listening((_request, response) => {
      response.setHeader('content-type', 'text/plain').end(`${'.'.repeat(room)}${repeated}${'h'.repeat(100)}`)
    })
    const headers = Object.fromEntries(values.map((value, at) => [`X-Key-${at}`, value]))
    const { said } = await client([{ origin: server.origin, headers }]).ask(...get(server.origin))
    expect(said).toMatchObject({ cut: true, text: `${'.'.repeat(room)}${shown}` })
  })

  test('is judged with its URL in one form, its origin as the resource, and an approval where it may change something', async () => {
    await using server = await listening((_request, response) => void response.end())
    const { ask } = client([{ origin: server.origin, methods: ['GET', 'DELETE'] }])
    const read = await ask(...get(`${server.origin.toUpperCase()}/a/../b/%7e?x=1`))
    expect(read.call.arguments).toEqual({ method: 'GET', url: `${server.origin}/b/%7e?x=1` })
    expect(read.call.contract).toMatchObject({
      resource_type: 'HttpOrigin',
      resource_id: server.origin,
      requires_approval: false,
    })
    expect(read.call.resolved).toEqual({
      execution_transport: 'native_http_broker',
      http_method: 'GET',
      http_url: `${server.origin}/b/%7e?x=1`,
      http_origin: server.origin,
      http_path: '/b/%7e',
      http_body_bytes: 0,
      http_sends_credentials: false,
    })
    const remove = await ask('http_request', { method: 'DELETE', url: `${server.origin}/b` })
    expect(remove.call.contract?.requires_approval).toBe(true)
    expect(remove.call.contract?.digest).toBe(read.call.contract?.digest)
  })
})

describe('refused before policy', () => {
  const origins: readonly HttpOrigin[] = [
    { origin: 'https://api.example.org', methods: ['GET', 'POST'], headers: { accept: 'text/html' } },
    { origin: 'https://read.example.org' },
  ]
  const url = 'https://api.example.org/'
  test.each<[string, object, string]>([
    ['an origin that is not listed', { method: 'GET', url: 'https://evil.example.org/' }, 'is not listed'],
    ['another port', { method: 'GET', url: 'https://api.example.org:444/' }, 'is not listed'],
    ['another scheme', { method: 'GET', url: 'http://api.example.org/' }, 'is not listed'],
    ['the name with a dot behind it', { method: 'GET', url: 'https://api.example.org./' }, 'is not listed'],
    ['a name before an at sign', { method: 'GET', url: 'https://api.example.org@evil.example.org/' }, 'user name'],
    ['a password', { method: 'GET', url: 'https://u:p@api.example.org/' }, 'user name or a password'],
    ['no URL', { method: 'GET', url: '/path' }, 'not an absolute URL'],
    ['a file', { method: 'GET', url: 'file:///etc/passwd' }, 'not of http'],
    ['the address of an object at a listed origin', { method: 'GET', url: `blob:${url}a` }, 'not of http'],
    ['a path that climbs when it is decoded', { method: 'GET', url: `${url}public/..%2fprivate` }, 'leads upwards'],
    [
      'a path that climbs when it is decoded twice',
      { method: 'GET', url: `${url}a/%252e%252e%252fb` },
      'leads upwards',
    ],
    ['a path that climbs for some servers', { method: 'GET', url: `${url}a/..;/b` }, 'leads upwards'],
    ['a path that climbs in a longer form', { method: 'GET', url: `${url}a/%c0%ae%C0%AE/b` }, 'leads upwards'],
    ['a path that climbs in a form of its own', { method: 'GET', url: `${url}a/%u002e%u002e%u002fb` }, 'leads upwards'],
    ['a path that climbs before a blank', { method: 'GET', url: `${url}a/..%20%09/b` }, 'leads upwards'],
    ['a backslash in a path', { method: 'GET', url: `${url}a%5c..%5cb` }, 'leads upwards'],
    ['a method that no origin has', { method: 'DELETE', url }, '#/method'],
    ['a method that this origin has not', { method: 'POST', url: 'https://read.example.org/' }, '#/method'],
    ['a body of a GET', { method: 'GET', url, body: 'x' }, '#/body'],
    ['too large a body', { method: 'POST', url, body: 'é'.repeat(524_289) }, 'more than the 1048576'],
    ['a header of the connection', { method: 'GET', url, headers: { Host: 'evil' } }, '#/headers/Host'],
    ['a credential', { method: 'GET', url, headers: { authorization: 'Bearer x' } }, '#/headers/authorization'],
    ['a cookie', { method: 'GET', url, headers: { cookie: 'a=b' } }, '#/headers/cookie'],
    [
      'another method in a header',
      { method: 'GET', url, headers: { 'x-http-method-override': 'DELETE' } },
      'may not set',
    ],
    ['a header of the origin', { method: 'GET', url, headers: { Accept: 'x' } }, 'set for every request'],
    ['a header twice', { method: 'GET', url, headers: { Prefer: 'a', prefer: 'b' } }, 'there twice'],
    ['a line break in a value', { method: 'GET', url, headers: { prefer: 'a\r\nx: y' } }, 'printable ASCII'],
    ['a header that is no text', { method: 'GET', url, headers: { prefer: 1 } }, '#/headers/prefer'],
  ])('%s', async (_what, args, says) => {
    const { ask, effects } = client(origins)
    await expect(ask('http_request', args)).rejects.toMatchObject({
      code: 'CALL_INVALID',
      message: expect.stringContaining(says),
    })
    expect(effects).toEqual([])
  })

  test.each<[string, readonly (string | HttpOrigin)[]]>([
    ['a path behind an origin', ['https://api.example.org/']],
    ['another protocol', ['ftp://api.example.org']],
    ['an origin twice', ['https://a.example.org', { origin: 'https://a.example.org' }]],
    ['an origin in capitals', ['https://A.example.org']],
    ['the address of a metadata service', [{ origin: 'http://169.254.169.254', private: true }]],
    ['no method', [{ origin: 'https://a.example.org', methods: [] }]],
    ['a method of no name', [{ origin: 'https://a.example.org', methods: ['TRACE' as never] }]],
    ['a header of the connection', [{ origin: 'https://a.example.org', headers: { Host: 'b' } }]],
    ['a value with a line break', [{ origin: 'https://a.example.org', headers: { 'x-a': 'b\nc: d' } }]],
    ['no value', [{ origin: 'https://a.example.org', headers: { 'x-a': undefined as never } }]],
  ])('%s is refused in the configuration', (_what, given) => {
    expect(() => httpRequestTool(given, real)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })
})

describe('where a name leads', () => {
  test.each([
    ['this machine', ['127.0.0.1']],
    ['a private network', ['10.1.2.3']],
    ['a public address and a private one', ['93.184.215.14', '192.168.0.1']],
    ['a metadata service', ['169.254.169.254']],
    ['an IPv4 address inside of an IPv6 one', ['::ffff:127.0.0.1']],
    ['the unique local addresses', ['fd00:ec2::254']],
    ['nothing that is an address', ['api.example.org']],
  ])('to %s is refused: nothing is sent, which is a known answer', async (_what, addresses) => {
    await using server = await listening((_request, response) => void response.end('SECRET'))
    const { net } = names({ 'api.test': addresses })
    const { ask, effects } = client([`http://api.test:${server.port}`], { net })
    const { is_error, said } = await ask(...get(`http://api.test:${server.port}/`))
    expect({ is_error, ...said }).toMatchObject({ is_error: false, code: 'ADDRESS_REFUSED', sent: false })
    expect(effects).toEqual([])
    expect(server.seen).toEqual([])
  })

  test('a private address is reached where the configuration says so, and a link-local one never', async () => {
    await using server = await listening((_request, response) => void response.end('fine'))
    const origin = `http://api.test:${server.port}`
    const inside = client([{ origin, private: true }], names({ 'api.test': ['127.0.0.1'] }))
    expect((await inside.ask(...get(`${origin}/`))).said).toMatchObject({ status: 200, text: 'fine' })
    const cloud = client([{ origin, private: true }], names({ 'api.test': ['169.254.169.254'] }))
    expect((await cloud.ask(...get(`${origin}/`))).said).toMatchObject({ code: 'ADDRESS_REFUSED' })
  })

  test('is asked once: the connection goes to the address that was checked, under the name of the origin', async () => {
    await using server = await listening((_request, response) => void response.end('fine'))
    const { lookups, net } = names({ 'no-such-name.test': ['127.0.0.1'] }) // the system knows no such name
    const origin = `http://no-such-name.test:${server.port}`
    const { said } = await client([{ origin, private: true }], { net }).ask(...get(`${origin}/x`))
    expect(said).toMatchObject({ status: 200 })
    expect(lookups).toEqual(['no-such-name.test'])
    expect(server.seen[0]?.headers.host).toBe(`no-such-name.test:${server.port}`)
  })

  test('over TLS the server is told the name, and a server that cannot prove it gets no request', async () => {
    const hello = signalled<Buffer>()
    await using server = await speaking((socket, first) => {
      hello.resolve(first)
      socket.end('HTTP/1.1 200 OK\r\n\r\n')
    })
    const origin = `https://no-such-name.test:${server.port}`
    const { net } = names({ 'no-such-name.test': ['127.0.0.1'] })
    const { ask, effects } = client([{ origin, private: true }], { net })
    const { is_error } = await ask(...get(`${origin}/secret-path`))
    const first = await hello.promise
    expect(first[0]).toBe(22) // a TLS record
    expect(first.includes('no-such-name.test')).toBe(true)
    expect(first.includes('secret-path')).toBe(false)
    expect(is_error).toBe(true)
    expect(kinds(effects)).toEqual(['NetworkRequestStarted', 'NetworkRequestFinished'])
  })

  test('to nowhere is a known answer', async () => {
    const { ask, effects } = client(['http://none.test'], names({}))
    const { is_error, said } = await ask(...get('http://none.test/'))
    expect({ is_error, ...said }).toMatchObject({ is_error: false, code: 'CONNECTION_LOST', sent: false })
    expect(effects).toEqual([])
  })
})

describe('a server that', () => {
  test('sends you elsewhere is not followed: the answer says where, and asking again is another call', async () => {
    await using other = await listening((_request, response) => void response.end('SECRET'))
    await using server = await listening((_request, response) => {
      response.writeHead(302, { location: `${other.origin}/` }).end()
    })
    const { ask, effects } = client([server.origin])
    const { said } = await ask(...get(`${server.origin}/`))
    expect(said).toMatchObject({ status: 302, headers: { location: `${other.origin}/` } })
    expect(other.seen).toEqual([])
    expect(kinds(effects)).toHaveLength(2)
    await expect(ask(...get(said.headers.location))).rejects.toMatchObject({ code: 'CALL_INVALID' })
  })

  test('answers with an error is an answer', async () => {
    await using server = await listening((_request, response) => void response.writeHead(503).end('busy'))
    const { is_error, said } = await client([server.origin]).ask(...get(`${server.origin}/`))
    expect({ is_error, ...said }).toMatchObject({ is_error: false, status: 503, text: 'busy' })
  })

  test('never stops is cut, and the answer says so', async () => {
    await using server = await listening((_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    })
    const { effects, ask } = client([server.origin])
    const { is_error, said } = await ask(...get(`${server.origin}/`))
    expect({ is_error, ...said }).toMatchObject({ is_error: false, status: 200, cut: true, bytes: 49_152 })
    expect(said.text).toHaveLength(49_152)
    expect(effects[1]).toMatchObject({ NetworkRequestFinished: { response_bytes: 49_152, error: null } })
  })

  test('cuts a character in half at the bound, or sends no text at all, is told as what it is', async () => {
    await using server = await listening((request, response) => {
      if (request.url === '/half') response.end(`x${'é'.repeat(40_000)}`)
      else if (request.url === '/latin')
        response.setHeader('content-type', 'text/plain; charset=iso-8859-1').end(Buffer.from([0xe9]))
      else response.end(Buffer.from([0xff, 0xfe, 0x00]))
    })
    const { ask } = client([server.origin])
    const half = await ask(...get(`${server.origin}/half`))
    expect(half.said.cut).toBe(true)
    expect(half.said.text).toMatch(/^xé+$/)
    const latin = await ask(...get(`${server.origin}/latin`))
    expect(latin.said).toMatchObject({ text: 'é', charset: 'windows-1252' })
    const none = await ask(...get(`${server.origin}/binary`))
    expect(none.said).toMatchObject({ text: null, bytes: 3, body_hash: expect.stringMatching(/^sha256:/) })
  })

  const unfinished: readonly (readonly [string, (socket: Socket) => void, number | null])[] = [
    ['resets the connection', (socket) => void socket.resetAndDestroy(), null],
    ['closes without a word', (socket) => void socket.end(), null],
    ['speaks no HTTP', (socket) => void socket.end('SSH-2.0-server\r\n'), null],
    ['sends headers without end', (socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`), null],
    [
      'claims two lengths',
      (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'),
      null,
    ],
    [
      'changes the protocol',
      (socket) => void socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      null,
    ],
    [
      'promises more than it sends',
      (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nfour'),
      200,
    ],
    [
      'breaks off in a chunk',
      (socket) => void socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nfour'),
      200,
    ],
  ]
  test.each(unfinished)('%s leaves the call unknown, with a receipt that says so', async (_what, answer, status) => {
    await using server = await speaking(answer)
    const { effects, ask } = client([server.origin])
    const { is_error, content } = await ask(...get(`${server.origin}/`))
    expect(is_error).toBe(true)
    expect(content).toContain('what it did is not known')
    expect(kinds(effects)).toEqual(['NetworkRequestStarted', 'NetworkRequestFinished'])
    expect(effects[1]).toMatchObject({
      NetworkRequestFinished: { status, response_hash: null, error: expect.any(String) },
    })
  })

  test('is not there leaves the call unknown as well: nobody proves that nothing was sent', async () => {
    const gone = await speaking(() => undefined)
    await gone[Symbol.asyncDispose]()
    const { effects, ask } = client([gone.origin])
    expect((await ask(...get(`${gone.origin}/`))).is_error).toBe(true)
    expect(effects[1]).toMatchObject({ NetworkRequestFinished: { status: null, error: 'ECONNREFUSED' } })
  })

  test('says more than it promised is read as far as it promised', async () => {
    await using server = await speaking(
      (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokSMUGGLED'),
    )
    const { said } = await client([server.origin]).ask(...get(`${server.origin}/`))
    expect(said).toMatchObject({ status: 200, text: 'ok' })
  })

  test.each([
    ['never answers', ''],
    ['stalls in the middle', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'],
  ])('%s is left when the run is cancelled, and its connection is closed', async (_what, words) => {
    const waiting = signalled()
    const closed = signalled()
    await using server = await speaking((socket) => {
      socket.once('close', () => closed.resolve())
      socket.write(words)
      waiting.resolve()
    })
    const stop = new AbortController()
    const { effects, ask } = client([server.origin])
    const asking = ask(...get(`${server.origin}/`), stop.signal)
    await waiting.promise
    stop.abort(new Error('cancelled'))
    const { is_error, content } = await asking
    expect(is_error).toBe(true)
    expect(content).toContain('may have taken effect')
    await closed.promise
    expect(effects.at(-1)).toMatchObject({ NetworkRequestFinished: { error: 'cancelled' } })
  })

  test('is too slow for the time of the request leaves the call unknown', async () => {
    const waiting = signalled()
    await using server = await speaking(() => waiting.resolve())
    const late = signalled()
    const timer = (_ms: number, callback: () => void) => {
      void late.promise.then(callback)
      return () => undefined
    }
    const clock = { ...real.clock, timer }
    const effects: ToolEffect[] = []
    const ask = asked([httpRequestTool([server.origin], { ...real, clock })], { effectsOf: () => recordInto(effects) })
    const asking = ask(...get(`${server.origin}/`))
    await waiting.promise
    late.resolve()
    expect((await asking).is_error).toBe(true)
    expect(effects[1]).toMatchObject({ NetworkRequestFinished: { status: null, error: 'timeout' } })
  })
})
