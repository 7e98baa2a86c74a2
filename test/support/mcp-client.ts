/**
 * An MCP client and a broker in one process, over two streams as a terminal would connect them: for what a client may send,
 * however it is formed, and what comes back. The session is real: its project, its policies, its signed journal.
 */
import { PassThrough } from 'node:stream'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { expect } from 'vitest'
import { type BrokerParts, Connection, type ConnectionLimits, serveStream, ToolBroker } from '../../src/broker/index.ts'
import { digest, type Hash } from '../../src/core/index.ts'
import type { Entry, EventKind } from '../../src/events/index.ts'
import {
  parsePublicKey,
  type RecoveryReport,
  recoveryReport,
  verifyRun,
  verifyRunPrefix,
} from '../../src/journal/index.ts'
import { openToolSession, type ToolSession, type ToolSessionOptions } from '../../src/runtime/index.ts'
import { type TemporaryProject, temporaryProject } from '../../src/testing/index.ts'
import { nodeWorld } from '../../src/world/index.ts'
import { RawClient } from './raw-mcp-client.ts'

export { type Message, RawClient, type ToolAnswer, textOf } from './raw-mcp-client.ts'

export type BrokeredOptions = Omit<ToolSessionOptions, 'project' | 'agent' | 'world'> & {
  /** Source of the agent that the client acts as. Default: no restriction. */
  readonly source?: string
  /** Cedar text. Default: every tool is permitted. */
  readonly policy?: string
  readonly held?: BrokerParts['held']
  /** Its owner removes it. Default: one of its own. */
  readonly project?: TemporaryProject
  /** Whose ids of calls they are. */
  readonly caller?: Hash
  readonly connectionLimits?: ConnectionLimits
  readonly world?: ToolSessionOptions['world']
}

export interface Brokered extends AsyncDisposable {
  readonly project: TemporaryProject
  readonly session: ToolSession
  readonly raw: RawClient
  readonly reports: readonly string[]
  /** The official client on the same streams, in place of the raw one. */
  client(): Promise<Client>
  /** Ends the client's input, and waits until the broker is gone. What kept the session from a clean end, or null. */
  hangUp(): Promise<unknown>
  /** The verified journal, after the end. */
  entries(): Promise<readonly Entry[]>
  kinds(): Promise<readonly EventKind[]>
  /** What an auditor is told of it. */
  report(): Promise<RecoveryReport>
}

export const PERMIT_TOOLS = 'permit(principal, action, resource);'

export function projectOf(source = 'agent clerk() {}', policy = PERMIT_TOOLS): TemporaryProject {
  return temporaryProject({ policies: { default: policy }, agents: { clerk: source } })
}

/** Connects a client to the tools of one agent. */
export async function brokered(options: BrokeredOptions = {}): Promise<Brokered> {
  const {
    source = 'agent clerk() {}',
    policy = PERMIT_TOOLS,
    held = null,
    caller = digest('a caller'),
    ...rest
  } = options
  const { connectionLimits, ...sessionOptions } = rest
  const world = options.world ?? nodeWorld()
  const project = options.project ?? projectOf(source, policy)
  const stop = new AbortController()
  const session = await openToolSession(
    { ...sessionOptions, world, project: project.path, agent: 'clerk' },
    stop.signal,
  )
  const reports: string[] = []
  const connection = new Connection('00000000-0000-4000-8000-000000000001', connectionLimits)
  let broker: ToolBroker
  try {
    broker = new ToolBroker({
      clock: world.clock,
      session,
      connection,
      sessionId: session.audit.run_id,
      version: '9.9.9',
      held,
      identified: { call: (id, call, inner, given) => session.callOnce(call, { id, caller }, inner, given) },
      report: (what, error) => void reports.push(`${what}: ${String(error)}`),
    })
  } catch (error) {
    await session[Symbol.asyncDispose]()
    if (options.project === undefined) project[Symbol.dispose]()
    throw error
  }
  await broker.open()
  const input = new PassThrough()
  const output = new PassThrough()
  const raw = new RawClient((text) => void input.write(text))
  let listening = (chunk: string): void => raw.heard(chunk)
  output.setEncoding('utf8').on('data', (chunk: string) => listening(chunk))
  const served = serveStream(connection, { input, output }, stop.signal).then(async () => {
    const problem = await broker.end()
    raw.gone()
    return problem
  })
  const hangUp = async (): Promise<unknown> => {
    input.end()
    return await served
  }
  const { path, public_key, run_id } = session.audit
  const key = parsePublicKey(public_key)
  const entries = (): Promise<readonly Entry[]> => verifyRun(nodeWorld(), path, key, run_id)
  return {
    project,
    session,
    raw,
    reports,
    client: async () => {
      const client = new Client({ name: 'official', version: '1' })
      const buffer = new ReadBuffer()
      const transport: Transport = {
        start: async () => {
          listening = (chunk) => {
            buffer.append(Buffer.from(chunk))
            for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage()) {
              transport.onmessage?.(message)
            }
          }
        },
        send: async (message: JSONRPCMessage) => void input.write(serializeMessage(message)),
        close: async () => {
          input.end()
          transport.onclose?.()
        },
      }
      await client.connect(transport)
      return client
    },
    hangUp,
    entries,
    kinds: async () => (await entries()).map(({ event }) => event.kind),
    report: async () => recoveryReport(await verifyRunPrefix(nodeWorld(), path, key, run_id)),
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      input.end()
      await served
      if (options.project === undefined) project[Symbol.dispose]()
    },
  }
}

/** Every call of the journal has its intent and its receipt, and the run has an end. */
export function expectAccounted(entries: readonly Entry[], effects: number): void {
  const kinds = entries.map(({ event }) => event.kind)
  expect(kinds.at(0)).toBe('Started')
  expect(kinds.at(-1)).toBe('Terminated')
  expect(kinds.filter((kind) => kind === 'ToolDispatchStarted')).toHaveLength(effects)
}
