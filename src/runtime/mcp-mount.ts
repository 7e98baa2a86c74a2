/** The MCP door on the server: `/mcp`, for callers with an API key. The agents are those that the runtime found. */
import { agentFor, type IdentifiedCalls, McpHttp } from '../broker/index.ts'
import { assert, VERSION } from '../core/index.ts'
import type { Log, Mount, RouteRequest } from '../server/index.ts'
import { neverStopped } from '../world/index.ts'
import type { Runtime } from './runtime.ts'

const PATH = '/mcp'
/** A call holds at most 1 MiB. */
const BODY_BYTES_MAX = 1024 * 1024

export function mcpMount(runtime: Runtime, log: Log): (mount: Mount) => void {
  const { world, agents, approvals } = runtime
  const door = new McpHttp({
    world,
    version: VERSION,
    agentFor: (caller, query) => agentFor(agents, caller, query),
    open: async (target, caller) => {
      const client = { transport: 'http', ...(caller.key_id === null ? {} : { key_id: caller.key_id }) }
      const session = await runtime.openToolSession(target, { client }, neverStopped())
      log.write('info', 'tool session opened', { agent: target.name, key_id: caller.key_id, run: session.audit.run_id })
      const identified: IdentifiedCalls = {
        call: (id, call, inner, options) => session.callOnce(call, { id, caller: caller.fingerprint }, inner, options),
      }
      return { session, held: approvals, identified }
    },
    report: (what, error) => log.write('warn', what, { error }),
  })
  return (mount) => {
    const route = { path: PATH, access: 'key', foreignPages: 'refused', bodyBytesMax: BODY_BYTES_MAX } as const
    mount.route({
      ...route,
      method: 'POST',
      body: 'required',
      handle: (request) => door.post(asked(request)),
    })
    mount.route({ ...route, method: 'DELETE', handle: (request) => door.delete(asked(request)) })
    mount.closing(door)
  }
}

function asked({ caller, ...request }: RouteRequest): RouteRequest & { readonly caller: NonNullable<typeof caller> } {
  assert(caller !== null, 'a route that is not public has a caller')
  return { ...request, caller }
}
