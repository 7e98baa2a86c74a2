/** The tool servers that a project configures: found in its two files, started together, and closed by whoever opened them. */
import { join } from 'node:path'
import { configuredServers, PIN_FILE, type UpstreamNews, Upstreams } from '../upstream/index.ts'
import type { World } from '../world/index.ts'
import type { Project } from './project.ts'

export interface UpstreamOptions {
  /** The environment from which configured names are taken. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Told what an operator should hear. */
  readonly report?: (news: UpstreamNews) => void
  /** Names that other tools have. */
  readonly taken?: readonly string[]
}

/**
 * Starts the tool servers of a project. A server that cannot be used is in `unavailable`, and hinders nothing. Throws
 * `CONFIG_INVALID` when what is configured cannot be understood.
 */
export async function openUpstreams(world: World, project: Project, options: UpstreamOptions): Promise<Upstreams> {
  return Upstreams.open(world, {
    servers: await configuredServers(world, project.root),
    root: project.root,
    pinFile: join(project.stateFolder, PIN_FILE),
    env: options.env,
    taken: options.taken ?? [],
    report: options.report ?? (() => undefined),
  })
}
