/** A tool of a foreign server as one of ours: named for it, judged like any other, and bound to what was pinned. */
import { checkArguments, schemaCost, type ToolContract } from '../calls/index.ts'
import { digest, Fault, type Hash, isFault, type JsonObject } from '../core/index.ts'
import type { ToolDefinition } from '../events/index.ts'
import type { Tool } from '../tools/index.ts'
import { fitsFrame } from './connection.ts'
import type { Definition } from './listing.ts'
import { entryDigest, exposedName, type UpstreamServer } from './server-entry.ts'
import type { Upstream } from './upstream.ts'

export const NAME_MAX = 64

/** Why a tool of this name cannot be one of ours, or null. */
export function nameMisfit(server: string, tool: string, taken: ReadonlySet<string>): string | null {
  const name = exposedName(server, tool)
  if (!/^[A-Za-z0-9_-]+$/.test(tool)) return 'its name holds characters other than letters, digits, "_" and "-"'
  if (name.length > NAME_MAX) return `its name here, "${name}", is longer than ${NAME_MAX} characters`
  return taken.has(name) ? `another tool is called "${name}"` : null
}

/** Each of them holds everybody up for half a second; a server has hundreds of tools. */
const LATE_SCHEMAS_MAX = 3

/** Says of the tools of one server, one after the other, why the schema of each cannot be used, or null. */
export function schemaJudge(server: string): (definition: Definition) => string | null {
  let late = 0
  return (definition) => {
    if (late >= LATE_SCHEMAS_MAX && schemaCost(definition.inputSchema) === 'slow')
      return `its input schema was not looked at: ${late} others of the server took too long`
    const misfit = schemaMisfit(server, definition)
    if (misfit !== null && schemaCost(definition.inputSchema) === 'late') late += 1
    return misfit
  }
}

function schemaMisfit(server: string, definition: Definition): string | null {
  try {
    checkArguments(definitionOf(server, definition), {})
    return null
  } catch (error) {
    // A fault with a cause speaks about the schema; one without says only that the tool needs arguments.
    if (!isFault(error, 'CALL_INVALID')) throw error
    return error.cause === undefined ? null : 'its input schema cannot be used'
  }
}

/** Where the calls of a tool go. */
export type CallPlace = Pick<Upstream, 'server' | 'hindrance' | 'call'>

export function upstreamTool(upstream: CallPlace, pinned: Definition, pinnedDigest: Hash): Tool {
  const { server } = upstream
  const definition = definitionOf(server.name, pinned)
  return {
    definition,
    contract: contractOf(server, definition.name, pinnedDigest),
    oneAction: true,
    resolve: (args) => {
      const hindrance = upstream.hindrance(pinned.name)
      if (hindrance !== null) throw hindrance
      if (!fitsFrame({ name: pinned.name, arguments: args })) {
        throw new Fault('CALL_INVALID', {
          message: `Cannot prepare the call of "${definition.name}": it is longer than a message to a tool server may be`,
          hint: 'Call the tool again with less',
        })
      }
      return { resolved: { mcp: placeOf(server, pinned.name) } }
    },
    run: (args, call) => upstream.call(pinned.name, args, call),
  }
}

function definitionOf(server: string, { name, description, inputSchema }: Definition): ToolDefinition {
  return { name: exposedName(server, name), description: description ?? '', parameters: inputSchema }
}

function contractOf(server: UpstreamServer, name: string, pinnedDigest: Hash): ToolContract {
  return {
    name,
    version: '',
    digest: digest({ server: entryDigest(server), tool: pinnedDigest }),
    action_type: 'Action',
    action_id: `tool_call::${name}`,
    resource_type: 'Resource',
    resource_id: 'default',
    requires_approval: server.approval,
  }
}

/** What policy and approvers see of where the call goes. */
function placeOf(server: UpstreamServer, tool: string): JsonObject {
  const place = { server: server.name, tool, risk: server.risk, transport: server.transport }
  return server.transport === 'http' ? { ...place, url: server.url } : { ...place, command: server.command }
}
