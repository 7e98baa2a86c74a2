/**
 * The HTTP application: the front door, the routes of all doors, strict bodies, and one envelope for every refusal.
 *
 * The order is that of the specification: security headers, address, rate limit, origins, route, body limit, credential,
 * scope, body, handler. What happens before the route is ours, because the framework routes first; the framework does the
 * routing, the body limit and the replies.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { ApiKeys } from '../access/index.ts'
import { assert, Bug, Fault, type Json, messageOf, readJson } from '../core/index.ts'
import type { ServerLimits, World } from '../world/index.ts'
import { authenticateHttp, requireAdmin, requireAgent } from './credentials.ts'
import { type FrontDoor, isPreflight, isProbe, pathOf, queryOf } from './front-door.ts'
import {
  badPath,
  brokenRequest,
  emptyBody,
  gone,
  malformed,
  shuttingDown,
  tooLarge,
  unsupported,
} from './http-faults.ts'
import type { Log } from './log.ts'
import type { Route } from './mount.ts'
import { type Refusal, refusalOf, refuseSocket, SECURITY_HEADERS } from './refusal.ts'
import { agentOf, RouteFailure } from './routes.ts'
import { OpenStreams, streamAnswer } from './stream.ts'
import { type Visit, Visits } from './visits.ts'

export type HttpAppParts = {
  readonly routes: readonly Route[]
  readonly front: FrontDoor
  readonly keys: ApiKeys
  readonly log: Log
  readonly limits: ServerLimits & { readonly bodyBytesMax: number }
  readonly takesWork: () => boolean
}

export type HttpApp = {
  readonly app: FastifyInstance
  readonly server: Server
  /** True while a request of this connection is without its answer. */
  isAnswering(socket: Duplex): boolean
  /** Resolves when no admitted request is without its answer. */
  idle(): Promise<void>
  /** Ends the answers that would go on for as long as the server does. */
  endStreams(): void
  /** Aborts the work of every request that is still running. */
  stop(): void
}

const JSON_DEPTH_MAX = 128
const PARAM_CHARS_MAX = 512

export async function buildHttpApp(parts: HttpAppParts, world: World): Promise<HttpApp> {
  const visits = new WeakMap<IncomingMessage, Visit>()
  const active = new Visits()
  const streams = new OpenStreams()
  const holder: { server: Server | null } = { server: null }
  const app = fastify({
    serverFactory: (handler) => {
      const server = world.net.createServer(parts.limits, (request, response) => {
        const address = meet(request, response, parts)
        if (address === null) return
        const startMs = world.clock.monotonicMs()
        const visit: Visit = { address, startMs, work: new AbortController(), route: null, caller: null }
        visits.set(request, visit)
        active.begin(visit, request, response, () => {
          if (!response.writableFinished) visit.work.abort(gone())
          record(request, response, visit, parts.log, world)
        })
        handler(request, response)
      })
      server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
        if (meet(request, response, parts) !== null) write(response, refusalOf(malformed('expectation')))
      })
      holder.server = server
      return server
    },
    bodyLimit: parts.limits.bodyBytesMax,
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    return503OnClosing: false, // a server that shuts down says so itself, in its own words
    frameworkErrors: (_, __, reply) => send(reply, refusalOf(badPath())),
    clientErrorHandler: (error, socket) => {
      // A second answer in the middle of a first one would be read as part of it.
      if (active.holds(socket) || error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
      else refuseSocket(socket, brokenRequest(error.code))
    },
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      done(null, bodyOf(bytes as Buffer, routeOf(request)))
    } catch (error) {
      done(error as Error)
    }
  })
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, bytes, done) => {
    done(bytes.length === 0 ? null : unsupported(), undefined)
  })
  app.setErrorHandler((error: unknown, request, reply) => {
    const refusal = translate(error)
    logFailure(error, refusal, request.routeOptions.url ?? null, parts.log)
    return send(reply, refusal)
  })
  app.setNotFoundHandler((request, reply) => send(reply, refusalOf(notFound(request.raw, parts.routes))))
  for (const route of parts.routes) add(app, route, { ...parts, streams }, visits)
  await app.ready()
  assert(holder.server !== null, 'the framework asked for its server')
  return {
    app,
    server: holder.server,
    isAnswering: (socket) => active.holds(socket),
    idle: () => active.ended(),
    endStreams: () => streams.endAll(),
    stop: () => {
      for (const visit of active) visit.work.abort(shuttingDown())
    },
  }
}

/** Bodies are checked by our own shapes. To say so keeps the framework from loading two compilers, a fifth of a cold start. */
function noSchemas(): never {
  throw new Bug('no route has a schema of the framework')
}

/** Everything before the route. The client's address, or null when the answer has been given. */
function meet(
  request: IncomingMessage,
  response: ServerResponse,
  { front, takesWork, log }: HttpAppParts,
): string | null {
  protect(response)
  try {
    const address = front.admit(request)
    for (const [name, value] of Object.entries(front.corsHeaders(request))) response.setHeader(name, value)
    if (isPreflight(request)) {
      response.writeHead(204).end()
      return null
    }
    if (!takesWork() && !isProbe(request)) {
      throw shuttingDown()
    }
    return address
  } catch (error) {
    const refusal = refusalOf(error)
    // At debug level: whoever sends too much should not fill the log as well.
    log.write('debug', 'request refused', { status: refusal.status, code: refusal.body.code })
    write(response, refusal)
    return null
  }
}

function protect(response: ServerResponse): void {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value)
  response.setHeader('cache-control', 'no-store')
}

interface RouteSurroundings extends HttpAppParts {
  readonly streams: OpenStreams
}

function add(
  app: FastifyInstance,
  route: Route,
  parts: RouteSurroundings,
  visits: WeakMap<IncomingMessage, Visit>,
): void {
  const bodyBytesMax = route.bodyBytesMax ?? parts.limits.bodyBytesMax
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: bodyBytesMax,
    config: { route },
    onRequest: async (request) => {
      const visit = visits.get(request.raw)
      assert(visit !== undefined, 'a routed request came through the front door')
      visit.route = route.path
      if (route.foreignPages === 'refused') parts.front.refuseForeignPage(request.raw)
      if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) throw tooLarge()
      if (route.access === 'public') return
      const caller = await authenticateHttp(request.raw.headers, parts.keys)
      visit.caller = caller
      if (route.access === 'admin') requireAdmin(caller)
      if (route.access === 'agent') requireAgent(caller, agentOf(request.params as { [name: string]: string }))
    },
    handler: async (request, reply) => {
      if (route.body === 'required' && request.body === undefined) throw emptyBody()
      const visit = visits.get(request.raw)
      assert(visit !== undefined, 'a routed request came through the front door')
      const answer = await route.handle(
        {
          caller: visit.caller,
          params: request.params as { [name: string]: string },
          query: queryOf(request.raw),
          headers: request.raw.headers,
          body: request.body as Json | undefined,
        },
        visit.work.signal,
      )
      if ('takeOver' in answer) {
        reply.hijack()
        answer.takeOver(reply.raw)
        return reply
      }
      const { stream } = answer
      if (stream !== undefined && request.method !== 'HEAD') {
        reply.hijack()
        await streamAnswer(reply.raw, { ...answer, stream }, parts.streams, visit.work.signal, (error) => {
          parts.log.write('error', 'a stream failed', { route: route.path, error })
        })
        return reply
      }
      return reply
        .code(answer.status)
        .headers(answer.headers ?? {})
        .send(answer.body)
    },
  })
}

function bodyOf(bytes: Buffer, route: Route | undefined): Json | undefined {
  if (bytes.length === 0 || route === undefined || (route.body ?? 'none') === 'none') return undefined
  return readJson(bytes, { depthMax: JSON_DEPTH_MAX })
}

function routeOf(request: FastifyRequest): Route | undefined {
  return (request.routeOptions.config as { route?: Route }).route
}

/** The framework's own refusals in our words; what it is not asked to refuse is a failure of ours. */
function translate(error: unknown): Refusal {
  if (error instanceof RouteFailure) return error.refusal
  if (error instanceof Fault || error instanceof Bug) return refusalOf(error)
  const { code, statusCode } = error as FastifyError
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return refusalOf(tooLarge())
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return refusalOf(unsupported())
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return refusalOf(malformed('body'))
  return refusalOf(error)
}

function send(reply: FastifyReply, refusal: Refusal): FastifyReply {
  if (hasUnreadBody(reply.raw.req)) reply.header('connection', 'close') // the rest of the body is not worth reading
  return reply.code(refusal.status).headers(refusal.headers).send(refusal.body)
}

function hasUnreadBody(request: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  return !request.complete && (length !== '0' || encoding !== undefined)
}

function write(response: ServerResponse, refusal: Refusal): void {
  const text = JSON.stringify(refusal.body)
  const headers = {
    ...refusal.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    connection: 'close',
  }
  response.writeHead(refusal.status, headers).end(text)
}

function notFound(request: IncomingMessage, routes: readonly Route[]): Fault {
  const methods = routes.filter((route) => matches(route.path, pathOf(request))).map((route) => route.method)
  if (methods.length === 0) {
    return new Fault('NOT_FOUND', {
      message: 'Cannot find the route: there is none with this path',
      hint: 'Check the path; the API lives under /api/v1, for example /api/v1/health',
    })
  }
  const allow = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].join(', ')
  return new Fault('METHOD_NOT_ALLOWED', {
    message: 'Cannot use this method: the route does not offer it',
    hint: `The route offers ${allow}`,
    facts: { allow },
  })
}

function matches(pattern: string, path: string): boolean {
  const expected = pattern.split('/')
  const found = path.split('/')
  return (
    expected.length === found.length &&
    expected.every((part, index) => (part.startsWith(':') ? found[index] !== '' : part === found[index]))
  )
}

const TRACE_PARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/

function record(request: IncomingMessage, response: ServerResponse, visit: Visit, log: Log, world: World): void {
  const trace = TRACE_PARENT.exec(String(request.headers.traceparent ?? ''))
  log.write(isProbe(request) ? 'debug' : 'info', 'request', {
    method: request.method,
    route: visit.route,
    status: response.writableFinished ? response.statusCode : null,
    ms: Math.round(world.clock.monotonicMs() - visit.startMs),
    address: visit.address,
    key_id: visit.caller?.key_id ?? null,
    ...(trace === null ? {} : { trace_id: trace[1] }),
  })
}

function logFailure(error: unknown, refusal: Refusal, route: string | null, log: Log): void {
  if (refusal.status < 500) return
  const source = error instanceof RouteFailure ? error.cause : error
  if (source instanceof Fault) {
    const { code, message, cause } = source
    log.write('warn', 'request failed', { route, code, message, cause: cause === undefined ? null : messageOf(cause) })
  } else log.write('error', 'failure', { route, error: source })
}
