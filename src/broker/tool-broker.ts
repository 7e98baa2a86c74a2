/**
 * The broker: one untrusted MCP client, one governed session. Everything that a client may cause goes through the session's
 * `call`; what it may see is the session's tools and what became of its own calls.
 *
 * Protocol and methods are the SDK's low-level server. Ids, limits and bytes are the connection's.
 */
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { Bug, CODES, Fault, isFault } from '../core/index.ts'
import type { Observation } from '../events/index.ts'
import type { BrokerCall, IdentifiedOutcome } from '../session/index.ts'
import type { Clock } from '../world/index.ts'
import { approvalStatus, approvalTools, refuseTakenNames } from './approval-tools.ts'
import type { Connection } from './connection.ts'
import type { RequestId } from './frame.ts'
import { instructionsFor } from './instructions.ts'
import { Line } from './line.ts'
import { type Progress, progressTo, SILENT } from './progress.ts'
import {
  APPROVAL_STATUS,
  CALL_WITH_APPROVAL,
  failure,
  identifiedResult,
  refusal,
  resultOf,
  type ToolResult,
} from './results.ts'
import type { ClientSession, HeldCalls, IdentifiedCalls } from './session-port.ts'
import { type AskedCall, readApprovedCall, readHandle, readToolCall } from './tool-call.ts'

export const SERVER_NAME = 'symbi-governed-tools'

export interface BrokerParts {
  readonly clock: Clock
  readonly session: ClientSession
  readonly connection: Connection
  /** Names this session where ids of clients need a place to be unique in. */
  readonly sessionId: string
  readonly version: string
  /** Null where nobody can approve: then a call that needs it is refused, and the tools for it are not shown. */
  readonly held: HeldCalls | null
  /** Null where a caller's ids are not taken: then a call that names one is refused. */
  readonly identified: IdentifiedCalls | null
  /** Told what went wrong where the client may not be told. */
  readonly report: (what: string, error: unknown) => void
}

export class ToolBroker {
  readonly #parts: BrokerParts
  readonly #line = new Line()
  /** The held calls of this session: nobody asks here about those of others. */
  readonly #handles = new Set<string>()
  #server: Server | null = null
  #closing: Promise<unknown> | null = null

  /** Throws `CONFIG_INVALID` when a tool of the session has the name of one of the broker's. */
  constructor(parts: BrokerParts) {
    if (parts.held !== null) refuseTakenNames(parts.session.definitions)
    this.#parts = parts
    const { ended } = parts.session
    ended.addEventListener('abort', () => void this.close(), { once: true })
  }

  /** Begins to answer the connection. The SDK is loaded now: most commands never need it. */
  async open(): Promise<void> {
    const { connection, session, held, version } = this.#parts
    const { Server } = await import('@modelcontextprotocol/sdk/server/index.js')
    const { ListToolsRequestSchema, CallToolRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
    const server = new Server(
      { name: SERVER_NAME, version },
      {
        capabilities: { tools: {} },
        instructions: instructionsFor(held !== null),
        jsonSchemaValidator: { getValidator: noSchemas },
      },
    )
    const own = held === null ? [] : approvalTools()
    // asked each time: policies change while a session lives
    server.setRequestHandler(ListToolsRequestSchema, async (_, { signal }) => ({
      tools: [...(await session.permitted(signal)), ...own].map(({ name, description, parameters }) => ({
        name,
        description,
        inputSchema: { ...parameters, type: 'object' as const },
      })),
    }))
    server.setRequestHandler(CallToolRequestSchema, async (_, { requestId, signal, sendNotification }) => {
      const tell = (token: string | number) => (progress: number, message: string) => {
        const params = { progressToken: token, progress, message }
        void sendNotification({ method: 'notifications/progress', params }).catch(() => undefined)
      }
      return (await this.#answer(requestId, tell, signal)) as unknown as CallToolResult
    })
    server.fallbackNotificationHandler = async ({ method }) => {
      if (method === 'notifications/symbi/close') await connection.close()
    }
    server.onerror = (error) => this.#parts.report('the connection of a tool client', error)
    this.#server = server
    await server.connect(connection)
  }

  /** Ends the session, once, whoever asks: the end of what runs is awaited, and recorded. Never rejects. */
  close(): Promise<unknown> {
    // in a later breath, because closing a session tells that it ended, and who hears that closes it
    this.#closing ??= Promise.resolve().then(() => this.#closeSession())
    return this.#closing
  }

  async #closeSession(): Promise<unknown> {
    try {
      await this.#parts.session.close()
      return null
    } catch (error) {
      this.#parts.report('the end of a tool session', error)
      return error
    }
  }

  /** Lets go of the connection too. Resolves with what kept the session from a clean end, or null. */
  async end(): Promise<unknown> {
    const problem = await this.close()
    await this.#server?.close()
    return problem
  }

  async #answer(
    request: RequestId,
    tell: (token: string | number) => (step: number, message: string) => void,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const { connection, clock, sessionId } = this.#parts
    const callId = connection.callIdOf(request)
    let progress: Progress = SILENT
    let isProtocol = false
    try {
      const asked = readToolCall(connection.requestOf(request).params, sessionId)
      isProtocol = asked === null
      if (asked === null) throw await invalidParams()
      if (asked.progressToken !== null) progress = progressTo(tell(asked.progressToken), clock)
      return await this.#make(asked, callId, progress, signal)
    } catch (error) {
      if (isFault(error)) return refusal(error)
      if (isProtocol || signal.aborted) throw error
      // what is no fault was written for nobody: a path or a secret may stand in it
      this.#parts.report('a tool call', error)
      return failure('INTERNAL', CODES.INTERNAL.says, NOT_KNOWN_WHY, 'unknown')
    } finally {
      progress.stop()
    }
  }

  async #make(asked: AskedCall, callId: string, progress: Progress, signal: AbortSignal): Promise<ToolResult> {
    const { held } = this.#parts
    if (held !== null && asked.name === APPROVAL_STATUS) {
      return approvalStatus(readHandle(asked.arguments), this.#handles, held)
    }
    if (held !== null && asked.name === CALL_WITH_APPROVAL) {
      return await this.#call({ ...asked, ...readApprovedCall(asked.arguments) }, callId, progress, signal)
    }
    return await this.#call(asked, callId, progress, signal)
  }

  async #call(asked: AskedCall, callId: string, progress: Progress, signal: AbortSignal): Promise<ToolResult> {
    const { session, identified } = this.#parts
    if (session.ended.aborted) return this.#ended()
    if (asked.invocation !== null && identified === null) throw noIds()
    const call: BrokerCall = { call_id: callId, name: asked.name, arguments: asked.arguments }
    const options = { presented: asked.presented }
    const presented = asked.presented !== null
    const before = this.#line.length
    if (before > 0) progress.say(`waiting for ${before} earlier ${before === 1 ? 'call' : 'calls'}`)
    const leave = this.#line.enter(() => progress.say('running'))
    try {
      const hasTool = session.definitions.some(({ name }) => name === asked.name)
      if (asked.invocation === null || identified === null) {
        const observation = await session.call(call, signal, options)
        return hasTool ? this.#shown(observation, presented) : await this.#unknownTool(asked.name)
      }
      const outcome = await identified.call(asked.invocation, call, signal, options)
      // a session that had the tool may have made the call: then "nothing was executed" would be untrue
      return hasTool || !neverPrepared(outcome)
        ? this.#shownOnce(outcome, presented)
        : await this.#unknownTool(asked.name)
    } finally {
      leave()
    }
  }

  #shown(observation: Observation, presented: boolean): ToolResult {
    const handle = observation.metadata?.approval_id
    if (handle !== undefined) this.#handles.add(handle)
    return resultOf(observation, presented)
  }

  #shownOnce(outcome: IdentifiedOutcome, presented: boolean): ToolResult {
    if (outcome.kind === 'Recorded' && !outcome.replayed) this.#shown(outcome.observation, presented)
    return identifiedResult(outcome, presented)
  }

  async #unknownTool(name: string): Promise<ToolResult> {
    const names = (await this.#parts.session.permitted()).map((tool) => tool.name)
    if (names.length === 0) names.push('none that policy permits')
    const shown = names.length > 20 ? [...names.slice(0, 20), `and ${names.length - 20} more`] : names
    return failure(
      'TOOL_UNKNOWN',
      `Cannot make the call: this session has no tool ${JSON.stringify(name.slice(0, 128))}`,
      `Nothing was executed. The tools are: ${shown.join(', ')}`,
    )
  }

  #ended(): ToolResult {
    const reason = this.#parts.session.failureReason
    return failure(
      'TOOL_SESSION_CLOSED',
      `Cannot make the call: the session has ended${reason === null ? '' : `, ${reason}`}`,
      'Nothing was executed. Connect again for a new session; what is unconfirmed stays so until a person has looked at the journal',
      'ended',
    )
  }
}

function neverPrepared(outcome: IdentifiedOutcome): boolean {
  return outcome.kind === 'Recorded' && outcome.observation.metadata?.denied_by === 'preparation'
}

const NOT_KNOWN_WHY = 'Whether the call took effect is not known. A person finds what happened in its journal'

function noSchemas(): never {
  throw new Bug('the broker asks its clients nothing, so there is no answer of theirs to check')
}

async function invalidParams(): Promise<Error> {
  const { McpError } = await import('@modelcontextprotocol/sdk/types.js')
  return new McpError(-32602, 'Cannot take the call: its parameters do not fit', {
    code: 'INVALID_REQUEST',
    hint: 'Send "name", "arguments" as an object and "_meta", and nothing else',
  })
}

function noIds(): Fault {
  return new Fault('NOT_CONFIGURED', {
    message: 'Cannot take the id of the call: this broker has nowhere to keep what happened under it',
    hint: 'Make the call without an invocation id',
  })
}
