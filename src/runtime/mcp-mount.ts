/**
 * The MCP door on the server: `/mcp`, for callers with an API key. The agents are those that the runtime found. Most servers
 * never meet such a client, so the door is loaded for the first one, or when it closes.
 */
import type { IdentifiedCalls, McpHttp } from '../broker/index.ts'
import { assert, VERSION } from '../core/index.ts'
import type { Log, Mount, RouteRequest } from '../server/index.ts'
import { neverStopped } from '../world/index.ts'
import type { Runtime } from './runtime.ts'

const PATH = '/mcp'
/** A call holds at most 1 MiB. */
const BODY_BYTES_MAX = 1024 * 1024

export function mcpMount(runtime: Runtime, log: Log): (mount: Mount) => void {
  let opened: Promise<McpHttp> | null = null
  const door = (): Promise<McpHttp> => {
    opened ??= openDoor(runtime, log)
    return opened
  }
  return (mount) => {
    const route = { path: PATH, access: 'key', foreignPages: 'refused', bodyBytesMax: BODY_BYTES_MAX } as const
    mount.route({
      ...route,
      method: 'POST',
      body: 'required',
      handle: async (request) => (await door()).post(asked(request)),
    })
    mount.route({ ...route, method: 'DELETE', handle: async (request) => (await door()).delete(asked(request)) })
    // one that nobody has used is loaded to be closed: a request that was admitted before must find it closed
    mount.closing({ drain: async () => (await door()).drain(), cancel: async () => (await door()).cancel() })
  }
}

async function openDoor({ world, agents, approvals, openToolSession }: Runtime, log: Log): Promise<McpHttp> {
  const { agentFor, McpHttp } = await import('../broker/index.ts')
  return new McpHttp({
    world,
    version: VERSION,
    agentFor: (caller, query) => agentFor(agents, caller, query),
    open: async (target, caller) => {
      const client = { transport: 'http', ...(caller.key_id === null ? {} : { key_id: caller.key_id }) }
      const session = await openToolSession(target, { client }, neverStopped())
      log.write('info', 'tool session opened', { agent: target.name, key_id: caller.key_id, run: session.audit.run_id })
      const identified: IdentifiedCalls = {
        call: (id, call, inner, options) => session.callOnce(call, { id, caller: caller.fingerprint }, inner, options),
      }
      return { session, held: approvals, identified }
    },
    report: (what, error) => log.write('warn', what, { error }),
  })
}

function asked({ caller, ...request }: RouteRequest): RouteRequest & { readonly caller: NonNullable<typeof caller> } {
  assert(caller !== null, 'a route that is not public has a caller')
  return { ...request, caller }
}
