/** Requests to the API, through the whole application but the socket: paths, headers and bodies as they come. */
import inject from 'light-my-request'
import { ApiKeys, Tickets } from '../../../src/access/index.ts'
import { CODES, canonical, Fault, readJson } from '../../../src/core/index.ts'
import { approvalRoutes } from '../../../src/server/approval-routes.ts'
import { FrontDoor } from '../../../src/server/front-door.ts'
import { buildHttpApp } from '../../../src/server/http-app.ts'
import type { Route } from '../../../src/server/mount.ts'
import { CORS_ORIGINS, HTTP_LIMITS } from '../../../src/server/options.ts'
import { coreRoutes } from '../../../src/server/routes.ts'
import { nodeWorld } from '../../../src/world/index.ts'
import { AGENT, settingsFor } from '../../support/key-files.ts'
import { answer, must, type Opened, type Target } from '../target.ts'

const TOKEN = 'the-token-of-the-fuzzer'
const BODY_BYTES_MAX = 2048

/** An input is a line with method and path, lines of headers, an empty line, and a body. */
export const httpRequests: Target = {
  name: 'http-requests',
  property:
    'every request is answered with a status and headers of ours; a refusal is the envelope with a code of the table, a sentence, and no path of the host; a body reaches a route as strict JSON, or not at all; and nothing that a client sends is a failure of the server',
  seeds: [
    'GET /api/v1/health\n\n',
    `GET /api/v1/agents/${AGENT}/status\nAuthorization: Bearer ${TOKEN}\n\n`,
    `POST /api/v1/approvals/0123456789abcdef/approve\nAuthorization: Bearer ${TOKEN}\nContent-Type: application/json\n\n{"reason":"x","digest":null}`,
    `POST /echo\nContent-Type: application/json\n\n{"a":[1,{"b":"\\u00e9"}]}`,
    `POST /echo\nContent-Type: text/plain\n\nx`,
    `OPTIONS /api/v1/agents\nOrigin: http://localhost:3000\nAccess-Control-Request-Method: GET\n\n`,
    `POST /api/v1/auth/ws-ticket\nAuthorization: Bearer ${TOKEN}\nX-Forwarded-For: 1.2.3.4\n\n`,
    `GET /api/v1/approvals/%2e%2e%2f%00?x=%\nAuthorization: Bearer ${TOKEN}\n\n`,
    'DELETE /api/v1/agents\nExpect: 100-continue\n\n',
  ],
  words: [
    'GET ',
    'POST ',
    'HEAD ',
    'PUT ',
    '/api/v1/',
    '/echo',
    'Authorization: Bearer ',
    TOKEN,
    'Content-Type: application/json',
    '; charset=utf-16',
    'Content-Length: 5',
    'Content-Encoding: gzip',
    'Transfer-Encoding: chunked',
    'Origin: http://localhost:3000',
    'Host: evil.example',
    '%2f',
    '%',
    '..',
    '?',
    '#',
    '\n\n',
    '__proto__',
    '"digest":',
    '"reason":',
    `sha256:${'0'.repeat(64)}`,
    AGENT,
  ],
  bytesMax: 3072,
  steps: { fixed: 20_000, perByte: 100 },
  open,
}

interface Heard {
  bodies: unknown[]
  failures: unknown[]
}

async function open(): Promise<Opened> {
  const world = nodeWorld()
  const keys = await ApiKeys.open(settingsFor(null, { legacyToken: TOKEN }), world, () => undefined)
  const heard: Heard = { bodies: [], failures: [] }
  const desk = {
    list: () => [],
    recall: async () => null,
    resolve: async (): Promise<never> => {
      throw new Fault('APPROVAL_NOT_FOUND', { message: 'Cannot decide: there is no such action' })
    },
    subscribe: () => () => undefined,
  }
  const api = {
    getSystemHealth: async () => ({ status: 'healthy' }),
    listAgents: async () => [],
    getAgentStatus: async (): Promise<never> => {
      throw new Fault('AGENT_NOT_FOUND', { message: 'Cannot find the agent: no agent has this id' })
    },
    getMetrics: async () => ({}),
    listSchedules: async () => [],
    getSchedulerHealth: async () => ({}),
  }
  const echo: Route = {
    method: 'POST',
    path: '/echo',
    access: 'public',
    body: 'required',
    bodyBytesMax: BODY_BYTES_MAX,
    handle: async ({ body }) => {
      heard.bodies.push(body)
      return { status: 200, body: { taken: body } }
    },
  }
  const routes = [
    ...coreRoutes({ api, tickets: new Tickets(keys, world), version: '1', isReady: () => true }, world),
    ...approvalRoutes(desk, keys, world.clock).filter(({ path }) => !path.endsWith('/stream')),
    echo,
  ]
  const front = new FrontDoor(
    { trustedProxies: ['127.0.0.1'], corsOrigins: CORS_ORIGINS, rateLimit: null, host: '127.0.0.1' },
    world.clock,
  )
  const log = {
    write: (level: string, event: string, facts?: object) =>
      void (level === 'error' && heard.failures.push([event, facts])),
  }
  const http = await buildHttpApp({ routes, front, keys, log, limits: HTTP_LIMITS, takesWork: () => true }, world)
  return {
    run: (input) => check(input, http.server, heard),
    [Symbol.asyncDispose]: () => http.app.close(),
  }
}

const NAME = /^[A-Za-z][\w-]*$/
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'] as const

async function check(
  input: Uint8Array,
  server: { emit(event: string, request: unknown, response: unknown): boolean },
  heard: Heard,
): Promise<void> {
  const all = Buffer.from(input)
  const split = all.indexOf('\n\n')
  const [first = '', ...lines] = all.toString('latin1', 0, split === -1 ? all.length : split).split('\n')
  const payload = split === -1 ? Buffer.alloc(0) : all.subarray(split + 2)
  const [verb = '', target = '/'] = first.split(' ')
  const method = METHODS.find((name) => name === verb) ?? 'GET'
  const headers: Record<string, string> = { host: '127.0.0.1' }
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon)
    if (colon > 0 && NAME.test(name) && !/^(?:content-length|transfer-encoding)$/i.test(name))
      headers[name.toLowerCase()] = line.slice(colon + 1).trim()
  }
  heard.bodies = []
  heard.failures = []
  const url = `/${target.replace(/[^\x21-\x7e]/g, '').replace(/^\/+/, '')}`
  const response = await inject((request, reply) => void server.emit('request', request, reply), {
    method,
    url: {
      pathname: url.split('?')[0] ?? '/',
      ...(url.includes('?') ? { query: url.slice(url.indexOf('?') + 1) } : {}),
    },
    headers,
    payload,
  })
  const { statusCode, body } = response
  must(
    heard.failures.length === 0,
    `nothing that a client sends is a failure of the server: ${JSON.stringify(heard.failures)}`,
  )
  must(statusCode >= 200 && statusCode < 500, `a status says what the client did, and this was ${statusCode}`)
  must(
    response.headers['x-content-type-options'] === 'nosniff' && response.headers['cache-control'] === 'no-store',
    'every answer has the headers of ours',
  )
  if (statusCode >= 400 && method !== 'HEAD') checkEnvelope(body)
  if (url.startsWith('/echo') && statusCode === 200) {
    const sent = answer(() => readJson(payload, { depthMax: 128 }))
    must(
      sent.kind === 'Value' && heard.bodies.length === 1 && canonical(heard.bodies[0]) === canonical(sent.value),
      'a route is given the body that was sent',
    )
    must(payload.length <= BODY_BYTES_MAX, 'a body is bounded')
  } else must(heard.bodies.length === 0, 'a request that is refused reaches no route')
}

function checkEnvelope(body: string): void {
  const envelope = JSON.parse(body)
  must(Object.keys(envelope).sort().join() === 'code,details,error', 'a refusal has its three members')
  const spelled: readonly string[] = Object.entries(CODES).map(([code, row]) => ('wire' in row ? row.wire : code))
  must(spelled.includes(envelope.code), `"${envelope.code}" is a code of the table`)
  must(
    typeof envelope.error === 'string' && envelope.error !== '' && !body.includes(process.cwd()),
    'it has a sentence, and no path of the host',
  )
}
