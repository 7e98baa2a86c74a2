import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { Bug, Fault } from '../../src/core/index.ts'
import type { Mount } from '../../src/server/index.ts'
import { AGENT, OTHER_AGENT } from '../support/key-files.ts'
import { ADMIN, type Envelope, type Fixture, fakeApi, fixture, raw, SCOPED, until } from '../support/server-fixture.ts'

const SECURITY = {
  'strict-transport-security': 'max-age=63072000; includeSubDomains; preload',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'self'; frame-ancestors 'none'",
}

const envelope = async (response: Response): Promise<Envelope> => {
  expect(response.headers.get('content-type')).toContain('application/json')
  for (const [name, value] of Object.entries(SECURITY)) expect(response.headers.get(name)).toBe(value)
  const body = (await response.json()) as Envelope
  expect(Object.keys(body).sort()).toEqual(['code', 'details', 'error'])
  return body
}

/** A door that answers with what it was given. */
const echo = ({ route }: Mount): void => {
  for (const body of ['none', 'optional', 'required'] as const) {
    const path = `/api/v1/echo/${body}`
    route({
      method: 'POST',
      path,
      access: 'admin',
      body,
      handle: async (got) => ({ status: 200, body: { got: got.body ?? null } }),
    })
  }
  route({
    method: 'POST',
    path: '/api/v1/echo/small',
    access: 'public',
    body: 'required',
    bodyBytesMax: 1024,
    handle: async (got) => ({ status: 200, body: { got: got.body ?? null } }),
  })
}

const post = (
  made: Fixture,
  path: string,
  body?: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = {},
): Promise<Response> =>
  made.get(path, ADMIN, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  })

describe('health', () => {
  test('health, liveness and readiness need no credential and tell what they should', async () => {
    let isReady = false
    await using made = await fixture({ isReady: () => isReady })
    const health = await made.get('/api/v1/health', null)
    expect(await health.json()).toEqual({
      status: 'healthy',
      uptime_seconds: expect.any(Number),
      timestamp: expect.stringMatching(/Z$/),
      version: '9.9.9',
    })
    const live = await made.get('/api/v1/health/live', null)
    expect([live.status, await live.text()]).toEqual([200, ''])
    const notReady = await made.get('/api/v1/health/ready', null)
    expect([notReady.status, await notReady.text()]).toEqual([503, ''])
    isReady = true
    expect((await made.get('/api/v1/health/ready', null)).status).toBe(200)
  })

  test('status counts agents, schedules and channels, and is healthy only if the runtime says so', async () => {
    await using made = await fixture()
    expect(await (await made.get('/api/v1/status')).json()).toEqual({
      version: '9.9.9',
      healthy: true,
      agent_count: 2,
      schedule_count: 0,
      channel_count: 0,
    })
    await using ill = await fixture({ api: { ...fakeApi, getSystemHealth: () => Promise.reject(new Bug('x')) } })
    expect(await (await ill.get('/api/v1/status')).json()).toMatchObject({ healthy: false })
  })
})

describe('authentication and scopes', () => {
  test.each([
    ['no header', null],
    ['another scheme', 'Basic Zml4dHVyZTp0ZXN0'],
    ['the scheme in lower case', `bearer ${ADMIN}`],
    ['a wrong secret', 'Bearer fixture.wrong-secret'],
    ['an empty token', 'Bearer '],
    ['a second space', `Bearer  ${ADMIN}`],
  ])('%s is answered with 401, the scheme, and a hint', async (_, authorization) => {
    await using made = await fixture()
    const response = await made.get('/api/v1/metrics', null, {
      headers: authorization === null ? {} : { authorization },
    })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    expect(await envelope(response)).toMatchObject({ code: 'UNAUTHORIZED', details: { hint: expect.any(String) } })
  })

  test('a token in the query is never accepted on an HTTP route', async () => {
    await using made = await fixture()
    expect((await made.get(`/api/v1/metrics?token=${ADMIN}`, null)).status).toBe(401)
  })

  test.each(['/api/v1/health/scheduler', '/api/v1/status', '/api/v1/metrics', '/api/v1/schedules'])(
    'a scoped key may not use %s, an admin key may',
    async (path) => {
      await using made = await fixture()
      const response = await made.get(path, SCOPED)
      expect(response.status).toBe(403)
      expect(await envelope(response)).toMatchObject({
        code: 'ADMIN_REQUIRED',
        error: 'Scoped API keys may not access this endpoint',
      })
      expect((await made.get(path)).status).toBe(200)
    },
  )

  test('a scoped key sees its own agents only', async () => {
    await using made = await fixture()
    const agents = async (token: string) =>
      ((await (await made.get('/api/v1/agents', token)).json()) as { id: string }[]).map(({ id }) => id)
    expect(await agents(ADMIN)).toEqual([AGENT, OTHER_AGENT])
    expect(await agents(SCOPED)).toEqual([AGENT])
    expect((await made.get(`/api/v1/agents/${AGENT}/status`, SCOPED)).status).toBe(200)
    const denied = await made.get(`/api/v1/agents/${OTHER_AGENT}/status`, SCOPED)
    expect(denied.status).toBe(403)
    expect(await envelope(denied)).toMatchObject({
      code: 'AGENT_SCOPE_DENIED',
      error: 'API key is not scoped to this agent',
    })
  })

  test('an agent nobody has is 404, an id that is none is 400', async () => {
    await using made = await fixture()
    const missing = await made.get(`/api/v1/agents/${OTHER_AGENT}/status`)
    expect([missing.status, (await envelope(missing)).code]).toEqual([404, 'AGENT_NOT_FOUND'])
    for (const id of ['all', '00000000-0000-0000-0000-000000000000', 'a%20b']) {
      const response = await made.get(`/api/v1/agents/${id}/status`)
      expect([response.status, (await envelope(response)).code]).toEqual([400, 'INVALID_PATH'])
    }
  })

  test('too many credentials waiting to be verified is 503 with the time to wait', async () => {
    await using made = await fixture()
    const keys = Object.create(made.keys)
    keys.authenticate = () => Promise.reject(new Fault('OVERLOADED', { message: 'Cannot verify', hint: 'Try again' }))
    await using busy = await fixture({ keys })
    const response = await busy.get('/api/v1/metrics')
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await envelope(response)).toMatchObject({ code: 'OVERLOADED', details: { hint: 'Try again' } })
  })
})

describe('the envelope', () => {
  test('an unknown route is 404; a known one with another method is 405 and says which methods it offers', async () => {
    await using made = await fixture()
    for (const path of ['/', '/api/v1/nothing', '/api/v1/schedule', '/api/v1/audit', '/ws/chat/x']) {
      const response = await made.get(path)
      expect([path, response.status, (await envelope(response)).code]).toEqual([path, 404, 'NOT_FOUND'])
    }
    const response = await made.get('/api/v1/agents', ADMIN, { method: 'DELETE' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect(await envelope(response)).toMatchObject({ code: 'METHOD_NOT_ALLOWED', details: { allow: 'GET, HEAD' } })
    expect((await made.get(`/api/v1/agents/${AGENT}/status`, ADMIN, { method: 'PUT' })).status).toBe(405)
  })

  test.each(['/api/v1/agents/%/status', '/%zz', `/api/v1/agents/${'x'.repeat(600)}/status`])(
    'the malformed path %.30s is answered in the envelope',
    async (path) => {
      await using made = await fixture()
      const response = await made.get(path)
      expect(response.status).toBe(400)
      expect((await envelope(response)).code).toBe('INVALID_PATH')
    },
  )

  test('a failure of ours shows its code and nothing of itself, and the log has it whole', async () => {
    const api = { ...fakeApi, getMetrics: () => Promise.reject(new TypeError('secret detail in /srv/app/main.ts')) }
    await using made = await fixture({ api })
    const response = await made.get('/api/v1/metrics')
    const body = await envelope(response)
    expect([response.status, body.code, body.error]).toEqual([500, 'METRICS_FAILED', 'The metrics cannot be read'])
    expect(JSON.stringify(body)).not.toMatch(/secret detail|main\.ts|TypeError/)
    expect(made.lines).toContainEqual(
      expect.objectContaining({ level: 'error', facts: expect.objectContaining({ error: expect.any(TypeError) }) }),
    )
  })

  test('a Fault keeps the code of the route and its own status, and a path of this machine never leaves', async () => {
    const api = {
      ...fakeApi,
      getSchedulerHealth: () =>
        Promise.reject(
          new Fault('NOT_CONFIGURED', {
            message: 'Cannot read "/srv/app/project/x": not there',
            hint: 'Look at /srv/app/project/x',
          }),
        ),
      getAgentStatus: () =>
        Promise.reject(new Fault('AGENT_NOT_FOUND', { message: 'Cannot open "/srv/app/agents/a.symbi": gone' })),
    }
    await using made = await fixture({ api })
    const scheduler = await made.get('/api/v1/health/scheduler')
    expect(scheduler.status).toBe(503)
    expect(await envelope(scheduler)).toEqual({
      error: 'The scheduler health cannot be read',
      code: 'SCHEDULER_HEALTH_FAILED',
      details: null,
    })
    expect(await envelope(await made.get(`/api/v1/agents/${AGENT}/status`))).toEqual({
      error: 'No agent has this id',
      code: 'AGENT_NOT_FOUND',
      details: null,
    })
  })

  test('bytes that are no HTTP, a header beyond the limit and a foreign expectation get the envelope too', async () => {
    await using made = await fixture()
    const cases = [
      ['NONSENSE\r\n\r\n', 400, 'INVALID_HTTP'],
      ['GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400, 'INVALID_HTTP'],
      [`GET /api/v1/health HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'HEADERS_TOO_LARGE'],
      ['GET /api/v1/health HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n', 400, 'INVALID_HTTP'],
      ['GET /api/v1/health HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'INVALID_HTTP'],
    ] as const
    for (const [bytes, status, code] of cases) {
      const answer = await raw(made.server, bytes)
      expect(answer).toContain(`HTTP/1.1 ${status} `)
      expect(answer.toLowerCase()).toContain('x-frame-options: deny')
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({
        code,
        details: { hint: expect.any(String) },
      })
    }
  })

  test.each([
    ['header', 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n'],
    [
      'body',
      'POST /api/v1/echo/small HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    ],
  ])(
    'a request whose %s never ends loses its connection, and is told so where nothing was answered yet',
    async (part, bytes) => {
      await using made = await fixture({ mounts: [echo], http: { headersTimeoutMs: 100, requestTimeoutMs: 200 } })
      const answer = await raw(made.server, bytes)
      if (part === 'header') expect(answer).toContain('"code":"REQUEST_TIMEOUT"')
      expect(made.lines.filter((line) => line.level === 'error')).toEqual([])
    },
  )

  test('nothing is written into the middle of an answer when the bytes behind the request are no HTTP', async () => {
    let release = (): void => undefined
    const api = {
      ...fakeApi,
      getMetrics: () =>
        new Promise<object>((resolve) => {
          release = () => resolve({})
        }),
    }
    await using made = await fixture({ api })
    const answer = raw(
      made.server,
      `GET /api/v1/metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ADMIN}\r\n\r\nNONSENSE\r\n\r\n`,
    )
    expect(await answer).not.toContain('INVALID_HTTP')
    release()
  })
})

describe('bodies', () => {
  test('an empty body with a JSON content type is accepted where no body is required', async () => {
    await using made = await fixture({ mounts: [echo] })
    for (const path of ['/api/v1/echo/none', '/api/v1/echo/optional']) {
      const response = await post(made, path)
      expect([response.status, await response.json()]).toEqual([200, { got: null }])
    }
    const headers = { 'content-type': 'application/json' }
    expect((await made.get('/api/v1/agents', ADMIN, { headers })).status).toBe(200)
    const required = await post(made, '/api/v1/echo/required')
    expect([required.status, (await envelope(required)).code]).toEqual([400, 'INVALID_JSON'])
  })

  test.each([
    ['text that is no JSON', '{"a":'],
    ['two equal names', '{"a":1,"a":2}'],
    ['__proto__', '{"__proto__":{"admin":true}}'],
    ['a lone surrogate', '"\\ud800"'],
    ['an integer beyond 2^53-1', '{"n":9007199254740993}'],
    ['more than 128 levels', `${'['.repeat(129)}${']'.repeat(129)}`],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a byte order mark', '\ufeff{}'],
  ])('%s is refused with 400', async (_, body) => {
    await using made = await fixture({ mounts: [echo] })
    const response = await post(made, '/api/v1/echo/required', body)
    expect(response.status).toBe(400)
    expect(await envelope(response)).toMatchObject({ code: 'INVALID_JSON', details: { hint: expect.any(String) } })
  })

  test('128 levels, any charset parameter and chunks are accepted', async () => {
    await using made = await fixture({ mounts: [echo] })
    const deep = `${'['.repeat(128)}${']'.repeat(128)}`
    const response = await post(made, '/api/v1/echo/required', deep, {
      'content-type': 'application/json; charset=UTF-8',
    })
    expect(JSON.stringify(await response.json())).toBe(`{"got":${deep}}`)
  })

  test('another media type is refused with 415', async () => {
    await using made = await fixture({ mounts: [echo] })
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '']) {
      const response = await post(made, '/api/v1/echo/optional', '{}', { 'content-type': type })
      expect([type, response.status]).toEqual([type, 415])
      expect((await envelope(response)).code).toBe('UNSUPPORTED_MEDIA_TYPE')
    }
  })

  test('a body beyond the limit is refused with 413, whether it says its length or not, and before the credential', async () => {
    await using made = await fixture({ mounts: [echo] })
    const declared = await made.get('/api/v1/echo/none', null, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `"${'x'.repeat(2 * 1024 * 1024)}"`,
    })
    expect([declared.status, (await envelope(declared)).code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(
        `${made.server.url}/api/v1/echo/small`,
        { method: 'POST', headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' } },
        (response) => resolve(response.resume().statusCode),
      )
      request.on('error', reject)
      request.end(`"${'x'.repeat(2000)}"`)
    })
    expect(status).toBe(413)
  })
})

describe('CORS', () => {
  const origin = 'http://localhost:3001'

  test('a listed origin may read answers and errors, without credentials', async () => {
    await using made = await fixture()
    for (const [path, token] of [
      ['/api/v1/agents', ADMIN],
      ['/api/v1/agents', null],
    ] as const) {
      const { headers } = await made.get(path, token, { headers: { origin } })
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-expose-headers')).toBe('idempotency-key, idempotency-replayed')
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('vary')).toBe('Origin')
    }
  })

  test.each(['http://localhost:3002', 'http://localhost:3001.example', 'null', 'HTTP://localhost:3001'])(
    'the origin %s gets its answer without CORS headers',
    async (other) => {
      await using made = await fixture()
      const response = await made.get('/api/v1/agents', ADMIN, { headers: { origin: other } })
      expect(response.status).toBe(200)
      expect(response.headers.get('access-control-allow-origin')).toBeNull()
    },
  )

  test('a preflight needs no credential and names methods and headers', async () => {
    await using made = await fixture()
    const ask = (from: string) =>
      made.get('/api/v1/agents', null, {
        method: 'OPTIONS',
        headers: { origin: from, 'access-control-request-method': 'DELETE' },
      })
    const response = await ask(origin)
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, DELETE')
    expect(response.headers.get('access-control-allow-headers')).toBe('authorization, content-type, idempotency-key')
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    expect((await ask('http://evil.example')).headers.get('access-control-allow-methods')).toBeNull()
  })

  test('no origins at all means no CORS headers at all', async () => {
    await using made = await fixture({ corsOrigins: [] })
    const { headers } = await made.get('/api/v1/agents', ADMIN, { headers: { origin } })
    expect([headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([null, null])
  })
})

describe('rate limit', () => {
  const rateLimit = { perMinute: 60, burst: 3, clientsMax: 2 }

  test('what exceeds the burst is 429 with the seconds to wait, on every route, and time gives it back', async () => {
    await using made = await fixture({ rateLimit })
    const statuses: number[] = []
    for (const path of ['/api/v1/agents', '/nothing', '/api/v1/metrics']) statuses.push((await made.get(path)).status)
    const refused = await made.get('/api/v1/agents')
    expect(statuses).toEqual([200, 404, 200])
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await envelope(refused)).toMatchObject({ code: 'RATE_LIMITED', details: { hint: expect.any(String) } })
    made.world.advance(1_000)
    expect((await made.get('/api/v1/agents')).status).toBe(200)
    expect((await made.get('/api/v1/agents')).status).toBe(429)
  })

  test('the probes have a bucket of their own, and it is a limit as well', async () => {
    await using made = await fixture({ rateLimit })
    for (let count = 0; count < 4; count += 1) await made.get('/api/v1/agents')
    for (let count = 0; count < 3; count += 1) expect((await made.get('/api/v1/health/live', null)).status).toBe(200)
    expect((await made.get('/api/v1/health/live', null)).status).toBe(429)
  })

  test('upgrades are charged like requests [trap:rate-limit-table]', async () => {
    await using made = await fixture({ rateLimit })
    for (let count = 0; count < 3; count += 1) expect((await made.refused('?token=')).status).toBe(401)
    expect(await made.refused('?token=')).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    expect((await made.get('/api/v1/agents')).status).toBe(429)
  })

  test('a foreign expectation is charged like any other request', async () => {
    await using made = await fixture({ rateLimit: { ...rateLimit, burst: 1 } })
    const ask = `GET /api/v1/agents HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n`
    expect(await raw(made.server, ask)).toMatch(/^HTTP\/1.1 400 /)
    expect(await raw(made.server, ask)).toMatch(/^HTTP\/1.1 429 /)
  })

  test('a trusted proxy is not charged for its clients, and a full table refuses clients it does not know', async () => {
    await using made = await fixture({ rateLimit, trustedProxies: ['127.0.0.0/8'] })
    const from = async (forwarded: string) =>
      (await made.get('/api/v1/agents', ADMIN, { headers: { 'x-forwarded-for': forwarded } })).status
    for (let count = 0; count < 3; count += 1) expect(await from('203.0.113.1')).toBe(200)
    expect(await from('203.0.113.1')).toBe(429)
    expect(await from('198.51.100.7, 203.0.113.1')).toBe(429)
    expect(await from('203.0.113.2')).toBe(200)
    expect(await from('203.0.113.3')).toBe(429)
    expect(await from('garbage')).toBe(400)
    made.world.advance(60_000)
    expect(await from('203.0.113.3')).toBe(200)
  })

  test('forwarding headers of a peer that is not trusted are not believed', async () => {
    await using made = await fixture({ rateLimit })
    const statuses: number[] = []
    for (let count = 0; count < 4; count += 1) {
      const headers = { 'x-forwarded-for': `203.0.113.${count}`, 'x-real-ip': `203.0.113.${count}` }
      statuses.push((await made.get('/api/v1/agents', ADMIN, { headers })).status)
    }
    expect(statuses).toEqual([200, 200, 200, 429])
  })
})

test('work for a client that is gone is told to stop', async () => {
  const reasons: unknown[] = []
  let entered = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    entered = resolve
  })
  const api = {
    ...fakeApi,
    getMetrics: (signal: AbortSignal) =>
      new Promise<object>((_, reject) => {
        entered()
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason)
          reject(signal.reason)
        })
      }),
  }
  await using made = await fixture({ api })
  const leave = new AbortController()
  const asked = made.get('/api/v1/metrics', ADMIN, { signal: leave.signal }).catch((error: Error) => error.name)
  await begun
  leave.abort()
  expect(await asked).toBe('AbortError')
  await expect.poll(() => reasons).toEqual([expect.objectContaining({ code: 'CONNECTION_LOST' })])
})

describe('requests that are sent before the answer to the one in front', () => {
  const slow = `GET /api/v1/schedules HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN}\r\n\r\n`
  const quick = 'GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n'
  const handshake =
    `GET /ws/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

  test('are let go with their connection, so that the server can end', async () => {
    const asked: AbortSignal[] = []
    const listSchedules = (signal: AbortSignal): Promise<never> => {
      asked.push(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    await using made = await fixture({ api: { ...fakeApi, listSchedules } })
    const socket = connect(made.server.port, made.server.host)
    socket.write(slow + quick.repeat(20))
    await until(() => asked.length === 1)
    socket.destroy()
    await until(() => asked[0]?.aborted === true)
    await made.server.close({ drainMs: 60_000 })
    expect(made.lines.filter(({ event }) => event === 'request')).toHaveLength(21)
  })

  test('are answered in order', async () => {
    await using made = await fixture()
    const answers = await raw(made.server, slow + quick + quick.replace('\r\n', '\r\nConnection: close\r\n'))
    expect(answers.match(/HTTP\/1.1 200/g)).toHaveLength(3)
  })

  test('may not be a handshake: its frames would be mixed with the answer', async () => {
    const listSchedules = (): Promise<never> => new Promise(() => undefined)
    await using made = await fixture({ api: { ...fakeApi, listSchedules } })
    expect(await raw(made.server, slow + handshake)).toBe('')
    expect(made.server.connections).toBe(0)
  })
})

test('a request whose body was read is not taken for a client that left [trap:request-close-event]', async () => {
  let entered = (): void => undefined
  let release = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    entered = resolve
  })
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = (mount: Mount): void =>
    mount.route({
      method: 'POST',
      path: '/api/v1/slow',
      access: 'public',
      body: 'required',
      handle: async (_, signal) => {
        entered()
        await held
        return { status: 200, body: { aborted: signal.aborted } }
      },
    })
  await using made = await fixture({ mounts: [slow] })
  const answer = post(made, '/api/v1/slow', '{}')
  await begun
  expect((await made.get('/api/v1/health')).status).toBe(200) // a whole exchange later the first request has closed
  release()
  const response = await answer
  expect([response.status, await response.json()]).toEqual([200, { aborted: false }])
})

test('two doors may not offer one route', async () => {
  await expect(fixture({ mounts: [echo, echo] })).rejects.toThrow(Bug)
})
