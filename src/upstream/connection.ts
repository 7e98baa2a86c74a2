/**
 * One connection to one server: initialised, asked for its tools, and asked to run them. Everything is sent once. The
 * client is that of the official SDK, loaded when the first server is; it gets no way to compile a schema of a server,
 * because a pattern in one could hold the process for hours.
 */
import type { Client, ClientOptions } from '@modelcontextprotocol/sdk/client/index.js'
import type * as Types from '@modelcontextprotocol/sdk/types.js'
import { Bug, canonical, Fault, isFault, type Json, type JsonObject, messageOf, VERSION } from '../core/index.ts'
import type { World } from '../world/index.ts'
import { type CallWitness, HttpWire } from './http-wire.ts'
import { FRAME_BYTES_MAX } from './limits.ts'
import { type Listing, readListing } from './listing.ts'
import { programOf } from './program.ts'
import { unavailable } from './refusals.ts'
import type { UpstreamServer } from './server-entry.ts'
import { StdioTransport } from './stdio-transport.ts'
import { StrictTransport } from './strict-transport.ts'
import { visible } from './visible.ts'

export interface ConnectionParts {
  readonly world: World
  readonly server: UpstreamServer
  readonly root: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly onBroken: (reason: string) => void
  readonly onListChanged: () => void
  readonly onSaid: (line: string) => void
}

/** The SDK has a timeout of its own; ours is the signal. The longest that a timer takes. */
const NO_TIMEOUT_MS = 2_147_483_647
/** Room for what stands around the parameters of a call. */
const ENVELOPE_BYTES = 256

export type CallAnswer =
  | { readonly kind: 'Result'; readonly result: JsonObject }
  /** The server answered that it did not do it, in the protocol's own form of an error. */
  | { readonly kind: 'Refused'; readonly code: number; readonly message: string }

export interface Connection {
  readonly broken: string | null
  list(signal: AbortSignal): Promise<Listing>
  /** Throws `UPSTREAM_FAILED` when nobody knows what the call did. */
  call(params: CallParams, witness: CallWitness | null, signal: AbortSignal): Promise<CallAnswer>
  /** Says why it can be used no more; what is in flight is told at once. */
  break(reason: string): void
  close(): Promise<void>
}

export type CallParams = { readonly name: string; readonly arguments: JsonObject }

/** Throws `UPSTREAM_UNAVAILABLE`, or what starting the program throws. Holds nothing then. */
export async function connect(parts: ConnectionParts, signal: AbortSignal): Promise<Connection> {
  const [{ Client }, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  const client = new Client(
    { name: 'symbi-runtime', version: VERSION },
    { capabilities: {}, jsonSchemaValidator: NO_VALIDATOR },
  )
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => parts.onListChanged())
  let transport: StrictTransport | null = null
  try {
    const wire = parts.server.transport === 'http' ? await HttpWire.open(parts.world, parts.server, parts.env) : null
    transport = new StrictTransport(wire?.transport ?? (await stdioOf(parts, types)), parts.onBroken)
    await client.connect(transport, { signal, timeout: NO_TIMEOUT_MS })
    if (client.getServerCapabilities()?.tools === undefined) throw unavailable('it offers no tools')
    return openConnection(client, transport, wire, types)
  } catch (error) {
    const reason = transport?.broken ?? null
    await transport?.close().catch(() => undefined)
    throw hindrance(error, reason, signal)
  }
}

/** As it was met, where it says what to do about it; else as a server that cannot be used. */
function hindrance(error: unknown, reason: string | null, signal: AbortSignal): unknown {
  if (isFault(error, 'UPSTREAM_UNAVAILABLE', 'PROCESS_FAILED') || error instanceof Bug) return error
  return signal.aborted ? signal.reason : unavailable(reason ?? visible(messageOf(error)), error)
}

const NO_VALIDATOR: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
}

async function stdioOf(parts: ConnectionParts, types: typeof Types): Promise<StdioTransport> {
  const { world, server, root, env, onSaid } = parts
  if (server.transport !== 'stdio') throw new TypeError('a stdio server is started')
  const program = await programOf(world, server, root, env)
  return new StdioTransport({
    world,
    program,
    parse: (value) => types.JSONRPCMessageSchema.parse(value),
    onLine: onSaid,
  })
}

function openConnection(
  client: Client,
  transport: StrictTransport,
  wire: HttpWire | null,
  types: typeof Types,
): Connection {
  const ask = async (method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> =>
    (await client.request({ method, params }, types.ResultSchema, { signal, timeout: NO_TIMEOUT_MS })) as JsonObject
  return {
    get broken() {
      return transport.broken
    },
    list: async (signal) => {
      try {
        return await readListing((cursor) => ask('tools/list', cursor === null ? {} : { cursor }, signal))
      } catch (error) {
        throw hindrance(error, transport.broken, signal)
      }
    },
    call: async (given, witness, signal) => {
      const params: JsonObject = { name: given.name, arguments: given.arguments }
      if (witness !== null) wire?.watch(params, witness)
      try {
        return { kind: 'Result', result: await ask('tools/call', params, signal) }
      } catch (error) {
        if (transport.broken === null && !signal.aborted && error instanceof types.McpError) {
          return { kind: 'Refused', code: error.code, message: visible(error.message, 2000) }
        }
        throw failed(transport.broken ?? visible(messageOf(signal.aborted ? signal.reason : error)), error)
      }
    },
    break: (reason) => transport.break(reason),
    close: async () => {
      await wire?.leave()
      await transport.close()
    },
  }
}

/** Checked before anything is sent: such a call is refused, and nothing happened. */
export function fitsFrame(params: { readonly [name: string]: Json }): boolean {
  return Buffer.byteLength(canonical(params)) + ENVELOPE_BYTES <= FRAME_BYTES_MAX
}

export function failed(state: string, cause?: unknown): Fault {
  return new Fault('UPSTREAM_FAILED', {
    message: `Cannot say what the call did: ${state}`,
    hint: 'Look at the server before anything is asked again; the call is not repeated',
    cause,
  })
}
