/**
 * The foreign tool servers of a project, and their tools. What cannot be used never hinders the rest: it is listed with the
 * reason, and whoever opened the servers is told.
 */
import { isFault, messageOf } from '../core/index.ts'
import type { Tool } from '../tools/index.ts'
import type { World } from '../world/index.ts'
import { ADDED, CHANGED, choose } from './choose.ts'
import type { UpstreamNews } from './news.ts'
import { changePins, type PinChange, readPins, type ServerPins } from './pins.ts'
import { pinHint } from './refusals.ts'
import { exposedName, type UpstreamServer } from './server-entry.ts'
import { Upstream } from './upstream.ts'
import { upstreamTool } from './upstream-tool.ts'
import { visible } from './visible.ts'

export interface UpstreamParts {
  readonly servers: readonly UpstreamServer[]
  /** Canonical: the project's folder, where children run. */
  readonly root: string
  /** Absolute: `.symbiont/mcp-pins.json` of the project. */
  readonly pinFile: string
  /** Our own environment, from which the configured names are taken. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Names that other tools have: no tool of a server may take one. */
  readonly taken?: readonly string[]
  /** What it throws is dropped: who only watches decides nothing. */
  readonly report: (news: UpstreamNews) => void
}

export class Upstreams implements AsyncDisposable {
  readonly #upstreams: Upstream[] = []
  readonly #tools: Tool[] = []
  readonly #unavailable = new Map<string, string>()
  #closed: Promise<void> | null = null

  private constructor() {}

  /** Starts all servers at once. Never fails because of one of them. */
  static async open(world: World, parts: UpstreamParts): Promise<Upstreams> {
    const all = new Upstreams()
    const report = quiet(parts.report)
    const taken = new Set(parts.taken ?? [])
    const adding = parts.servers.map((server) => {
      const upstream = new Upstream(server, { world, root: parts.root, env: parts.env, report })
      all.#upstreams.push(upstream)
      return all.#add(upstream, { world, pinFile: parts.pinFile, taken, report })
    })
    try {
      all.#tools.push(...(await Promise.all(adding)).flat()) // in the order of the configuration, whichever was ready first
      return all
    } catch (error) {
      await all.close() // a mistake of ours: nothing that was started stays
      throw error
    }
  }

  /** Named `mcp__<server>__<tool>`, in the order of the configuration. */
  tools(): readonly Tool[] {
    return this.#tools
  }

  /** `server`, or `server/tool`, to why it cannot be used. Of tools: as it was when the servers were opened. */
  get unavailable(): ReadonlyMap<string, string> {
    return this.#unavailable
  }

  /** Ends every connection and every child, and waits until they are gone. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= Promise.all(this.#upstreams.map((upstream) => upstream.close())).then(() => undefined)
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #add(
    upstream: Upstream,
    { world, pinFile, taken, report }: Pick<UpstreamParts, 'pinFile' | 'report'> & Known,
  ): Promise<readonly Tool[]> {
    const { server } = upstream
    const refuse = (tool: string | null, reason: string): void => {
      this.#unavailable.set(tool === null ? server.name : `${server.name}/${visible(tool, 128)}`, reason)
      report({ kind: 'Unavailable', server: server.name, tool: tool === null ? null : visible(tool, 128), reason })
    }
    try {
      const listing = await upstream.start()
      let choice = choose(server, listing, await readPins(world, pinFile, server.name), taken)
      if (choice.fresh.length > 0) {
        const chosen = (pins: ServerPins): PinChange => {
          choice = choose(server, listing, pins, taken)
          return { pin: choice.fresh }
        }
        await changePins(world, pinFile, server.name, chosen, new AbortController().signal)
      }
      const { usable, fresh, refused } = choice
      if (fresh.length > 0) {
        report({ kind: 'Pinned', server: server.name, tools: fresh.map(({ name }) => exposedName(server.name, name)) })
      }
      for (const [tool, reason] of refused) {
        refuse(tool, reason === CHANGED || reason === ADDED ? `${reason}. ${pinHint(server.name)}` : reason)
      }
      return usable.map(({ definition, digest }) => {
        upstream.offer(definition.name, digest)
        return upstreamTool(upstream, definition, digest)
      })
    } catch (error) {
      if (!isFault(error)) throw error
      refuse(null, error.hint === undefined ? error.message : `${error.message}. ${error.hint}`)
      await upstream.close() // what is not used does not run
      return []
    }
  }
}

interface Known {
  readonly world: World
  readonly taken: ReadonlySet<string>
}

function quiet(report: UpstreamParts['report']): UpstreamParts['report'] {
  return (news) => {
    try {
      report(news)
    } catch (error) {
      void messageOf(error)
    }
  }
}
