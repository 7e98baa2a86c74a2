/**
 * The MCP door over HTTP: one path, POST for every message and DELETE for the end, as the streamable HTTP transport has it.
 * There is no stream of our own to GET, because we tell a client nothing that does not belong to one of its requests.
 *
 * The caller, the size and the JSON of a body were checked by the server before anything here is called. A client's session
 * is found by its id and its key together.
 */
import type { ServerResponse } from 'node:http'
import type { Caller } from '../access/index.ts'
import { Fault, type Json, newId } from '../core/index.ts'
import type { DelegationTarget } from '../delegation/index.ts'
import type { World } from '../world/index.ts'
import { Connection } from './connection.ts'
import { type Frame, frameOf, PROTOCOL } from './frame.ts'
import { HttpExchange } from './http-exchange.ts'
import { HTTP_SESSION_LIMITS, type HttpSession, type HttpSessionLimits, HttpSessions } from './http-sessions.ts'
import type { ClientSession, HeldCalls, IdentifiedCalls } from './session-port.ts'
import { ToolBroker } from './tool-broker.ts'

export interface McpHttpParts {
  readonly world: World
  readonly version: string
  /** Whom a caller acts as. Throws when it may not, or did not say. */
  readonly agentFor: (caller: Caller, query: URLSearchParams) => DelegationTarget
  readonly open: (target: DelegationTarget, caller: Caller) => Promise<OpenedSession>
  readonly report: (what: string, error: unknown) => void
  readonly limits?: Partial<HttpSessionLimits>
}

export interface OpenedSession {
  readonly session: ClientSession
  readonly held: HeldCalls | null
  readonly identified: IdentifiedCalls | null
}

export interface McpRequest {
  readonly caller: Caller
  readonly query: URLSearchParams
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly body: Json | undefined
}

export type McpAnswer =
  | { readonly status: number; readonly body?: object; readonly headers?: { readonly [name: string]: string } }
  | { takeOver(response: ServerResponse): void }

const SESSION = 'mcp-session-id'
const VERSION_HEADER = 'mcp-protocol-version'

export class McpHttp {
  readonly #parts: McpHttpParts
  readonly #sessions: HttpSessions
  #closing = false

  constructor(parts: McpHttpParts) {
    this.#parts = parts
    this.#sessions = new HttpSessions({ ...HTTP_SESSION_LIMITS, ...parts.limits }, parts.world.clock)
  }

  /** Sessions that are open. */
  get count(): number {
    return this.#sessions.count
  }

  async post(request: McpRequest): Promise<McpAnswer> {
    const frame = frameOf(request.body ?? null)
    const bytes = bytesOf(request)
    const id = headerOf(request, SESSION)
    if (frame.kind === 'Broken') return protocolError(400, frame.problem)
    if (id === null) return await this.#first(frame, bytes, request)
    const session = this.#sessions.find(id, request.caller)
    if (session === null) return unknownSession()
    const version = headerOf(request, VERSION_HEADER)
    if (version !== null && !(await supported()).includes(version)) return badVersion(version)
    return this.#receive(session, frame, bytes, request)
  }

  async delete(request: McpRequest): Promise<McpAnswer> {
    const id = headerOf(request, SESSION)
    if (id === null || this.#sessions.find(id, request.caller) === null) return unknownSession()
    await this.#sessions.end(id)
    return { status: 204 }
  }

  /** Ends each session when its requests are answered, and opens no more. */
  async drain(): Promise<void> {
    this.#closing = true
    await this.#sessions.drain()
  }

  async cancel(): Promise<void> {
    this.#closing = true
    await this.#sessions.cancel()
  }

  /**
   * Without a session there is only the one request that opens one. A client that vanishes meanwhile does not stop that: what
   * has begun is recorded to its end, and a start without one would look like a crash.
   */
  async #first(frame: Frame, bytes: number, request: McpRequest): Promise<McpAnswer> {
    if (frame.kind !== 'Request' || frame.method !== 'initialize') {
      const problem = new Fault('INVALID_REQUEST', {
        message: 'Cannot take the message: it names no session',
        hint: 'Send "initialize" first, and its Mcp-Session-Id with everything else',
      })
      return protocolError(400, problem)
    }
    if (this.#closing)
      throw new Fault('SHUTTING_DOWN', { message: 'Cannot open a tool session: the server is shutting down' })
    const target = this.#parts.agentFor(request.caller, request.query)
    const id = newId('run', this.#parts.world.random)
    const session = await this.#sessions.open(id, request.caller, () => this.#open(id, target, request.caller))
    return this.#receive(session, frame, bytes, request, (isDelivered) => {
      // the greeting was refused, or nobody heard it: then nobody knows the id, and the place would be taken for nothing
      if (!session.connection.isOpen || !isDelivered) void this.#sessions.end(id)
    })
  }

  async #open(id: string, target: DelegationTarget, caller: Caller): Promise<HttpSession> {
    const { world, version, report } = this.#parts
    const opened = await this.#parts.open(target, caller)
    const connection = new Connection(newId('run', world.random))
    try {
      const broker = new ToolBroker({ clock: world.clock, connection, sessionId: id, version, report, ...opened })
      await broker.open()
      connection.onclose = ended(connection.onclose, () => void this.#sessions.end(id))
      return { id, connection, broker }
    } catch (error) {
      await opened.session.close().catch(() => undefined)
      throw error
    }
  }

  #receive(
    session: HttpSession,
    frame: Frame,
    bytes: number,
    request: McpRequest,
    answered: (isDelivered: boolean) => void = () => undefined,
  ): McpAnswer {
    const { id, connection } = session
    if (connection.closed) return unknownSession()
    if (frame.kind !== 'Request') {
      connection.receive(frame, bytes, { write: async () => undefined, drop: () => undefined })
      return { status: 202, headers: { [SESSION]: id } }
    }
    const streams = String(request.headers.accept ?? '').includes('text/event-stream')
    const how = { clock: this.#parts.world.clock, streams, headers: { [SESSION]: id } }
    return {
      takeOver: (response) => {
        response.once('close', () => answered(response.writableFinished))
        if (response.destroyed) answered(false) // its close was told before anybody listened
        connection.receive(frame, bytes, new HttpExchange(response, how))
      },
    }
  }
}

function ended(before: (() => void) | undefined, then: () => void): () => void {
  return () => {
    before?.()
    then()
  }
}

/** A body that comes in chunks says nothing of its length, and counts all the same. */
function bytesOf({ headers, body }: McpRequest): number {
  const told = headers['content-length']
  return told === undefined ? Buffer.byteLength(JSON.stringify(body ?? null)) : Number(told)
}

function headerOf({ headers }: McpRequest, name: string): string | null {
  const value = headers[name]
  return typeof value === 'string' ? value : null
}

async function supported(): Promise<readonly string[]> {
  return (await import('@modelcontextprotocol/sdk/types.js')).SUPPORTED_PROTOCOL_VERSIONS
}

function badVersion(version: string): McpAnswer {
  const problem = new Fault('INVALID_REQUEST', {
    message: `Cannot take the message: the version ${JSON.stringify(version.slice(0, 40))} of the protocol is not spoken here`,
    hint: 'Send the version that "initialize" agreed on',
  })
  return protocolError(400, problem)
}

/** One answer for a session that ended, that never was, and that belongs to another key. */
function unknownSession(): McpAnswer {
  const problem = new Fault('NOT_FOUND', {
    message: 'Cannot find the tool session: there is none with this id',
    hint: 'Open a new one with "initialize"',
  })
  return protocolError(404, problem, PROTOCOL.refused)
}

function protocolError(status: number, problem: Fault, number: number = PROTOCOL.invalidRequest): McpAnswer {
  const { code, message, hint } = problem
  const error = { code: number, message, data: { code, hint: hint ?? null } }
  return { status, body: { jsonrpc: '2.0', id: null, error } }
}
