/** The configured servers as they are now, each asked once. */
import { join } from 'node:path'
import { Fault } from '../../core/index.ts'
import {
  configuredServers,
  inspectServer,
  PIN_FILE,
  type ServerState,
  type UpstreamServer,
} from '../../upstream/index.ts'
import type { Cli } from '../cli.ts'
import type { ProjectPaths } from '../project/project-paths.ts'
import { toolServerVariables } from './variables.ts'

export interface Looked {
  readonly server: UpstreamServer
  readonly state: ServerState
}

export function pinFileOf({ stateFolder }: ProjectPaths): string {
  return join(stateFolder, PIN_FILE)
}

/** One server by name, or all. Throws `USAGE` for a name that is not configured. */
export async function look(cli: Cli, project: ProjectPaths, name: string | null): Promise<readonly Looked[]> {
  const configured = await configuredServers(cli.world, project.root)
  const servers = name === null ? configured : configured.filter((server) => server.name === name)
  if (name !== null && servers.length === 0) {
    const known = configured.map((server) => `"${server.name}"`).join(', ')
    throw new Fault('USAGE', {
      message: `Cannot look at the tool server ${JSON.stringify(name.slice(0, 64))}: it is not configured`,
      hint: known === '' ? 'Configure one in mcp-config.toml: docs/mcp-upstream.md' : `Configured are: ${known}`,
    })
  }
  const stop = new AbortController()
  const forget = cli.console.onInterrupt(() =>
    stop.abort(new Fault('RUN_CANCELLED', { message: 'Cannot look at the tool servers: it was cancelled' })),
  )
  try {
    const env = await toolServerVariables(cli, project.root)
    const parts = { root: project.root, pinFile: pinFileOf(project), env, report: () => undefined }
    return await Promise.all(
      servers.map(async (server) => ({
        server,
        state: await inspectServer(cli.world, server, parts, stop.signal),
      })),
    )
  } finally {
    forget()
  }
}
