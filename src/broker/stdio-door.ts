/**
 * The MCP door over two streams, as MCP clients start their servers: one client, one governed session, for as long as the client
 * keeps its end open. Whoever opened the session closes it in any case; here its end is awaited, so that it is told how it was.
 */
import type { Readable, Writable } from 'node:stream'
import { digest, type Hash, type InvocationId, newId, type RunId, VERSION } from '../core/index.ts'
import type { BrokerCall, CallOptions, IdentifiedOutcome } from '../session/index.ts'
import type { World } from '../world/index.ts'
import { Connection } from './connection.ts'
import type { ClientSession, HeldCalls } from './session-port.ts'
import { serveStream } from './stream.ts'
import { ToolBroker } from './tool-broker.ts'

export interface StdioParts {
  readonly world: World
  readonly session: StdioSession
  /** Null where nobody can be asked. */
  readonly held: HeldCalls | null
  readonly report: (what: string, error: unknown) => void
  /** Called when the client will be answered. */
  readonly ready?: () => void
}

export interface StdioSession extends ClientSession {
  readonly audit: { readonly run_id: RunId }
  /** As `call`, under an id of this caller. */
  callOnce(
    call: BrokerCall,
    by: { readonly id: InvocationId; readonly caller: Hash },
    signal: AbortSignal,
    options?: CallOptions,
  ): Promise<IdentifiedOutcome>
}

/** Whoever may start such a process is one caller, however often they do. */
const CALLER = digest(['mcp', 'stdio'])

/**
 * Serves until the client ends its input, or the signal interrupts it. Resolves with what kept the session from a clean end, or
 * null.
 */
export async function serveStdio(
  { world, session, held, report, ready }: StdioParts,
  streams: { readonly input: Readable; readonly output: Writable },
  signal: AbortSignal,
): Promise<unknown> {
  const connection = new Connection(newId('run', world.random))
  const broker = new ToolBroker({
    clock: world.clock,
    session,
    connection,
    sessionId: session.audit.run_id,
    version: VERSION,
    held,
    identified: { call: (id, call, inner, given) => session.callOnce(call, { id, caller: CALLER }, inner, given) },
    report,
  })
  await broker.open()
  ready?.()
  await serveStream(connection, streams, signal)
  return await broker.end()
}
