/** The tools of a server as they were pinned, for whoever explains calls and makes none: no server is started or asked. */
import { Bug } from '../core/index.ts'
import type { Tool } from '../tools/index.ts'
import type { ServerPins } from './pins.ts'
import type { UpstreamServer } from './server-entry.ts'
import { nameMisfit, schemaJudge, upstreamTool } from './upstream-tool.ts'

/** Those that are exposed and can be ours. To run one is a Bug. */
export function pinnedTools(server: UpstreamServer, pins: ServerPins): readonly Tool[] {
  const schemaMisfit = schemaJudge(server.name)
  const place = {
    server,
    hindrance: () => null,
    call: () => Promise.reject(new Bug('a tool that was only looked at in the pins was run')),
  }
  return Object.values(pins)
    .filter(({ definition: { name } }) => server.expose === '*' || server.expose.includes(name))
    .filter(({ definition }) => nameMisfit(server.name, definition.name, NONE) === null)
    .filter(({ definition }) => schemaMisfit(definition) === null)
    .map(({ definition, digest }) => upstreamTool(place, definition, digest))
}

const NONE: ReadonlySet<string> = new Set()
