/**
 * Which surface a run belonged to, and so which folder of policies judged it: as its start says. A run that was claimed
 * names the entry point of its claim; a delegated run was judged by the gate of the run that delegated it, so its surface
 * is that of the first run of its chain, read from the journals that their links name.
 */
import {
  type AgentId,
  fits,
  idOrNull,
  isFault,
  isJsonObject,
  type JsonObject,
  type RunId,
  shapes,
  type TypeOf,
} from '../core/index.ts'
import type { Entry, EventOf } from '../events/index.ts'
import { firstEntry, locateJournal } from '../journal/index.ts'
import type { PublicKey } from '../keys/index.ts'
import { isPlainName, SURFACE } from '../policy/index.ts'
import type { World } from '../world/index.ts'

/** The entry points that claim their runs, and the folder of policies of each. */
const SURFACE_OF_SCOPE: ReadonlyMap<unknown, string> = new Map([
  ['ws:chat:v1', SURFACE.chat],
  ['cli:orga', SURFACE.run],
  ['mcp:call:v1', SURFACE.toolClient],
])

const CHAIN_MAX = 64
const KNOWN_MAX = 4096

export class Surfaces {
  readonly #world: World
  readonly #key: PublicKey
  /** By run, for parents: siblings ask about the same ones. */
  readonly #known = new Map<RunId, string | null>()

  constructor(world: World, key: PublicKey) {
    this.#world = world
    this.#key = key
  }

  /** Null when the evidence does not say it. `path` is where the journal lies that begins so. */
  async of(path: string, started: EventOf<'Started'>): Promise<string | null> {
    let context = started.execution_context ?? {}
    let at = path
    const passed: RunId[] = []
    for (let depth = 0; depth <= CHAIN_MAX; depth += 1) {
      const parent = parentIn(context)
      if (parent === null) return this.#remember(passed, surfaceIn(context))
      const known = this.#known.get(parent.runId)
      if (known !== undefined) return this.#remember(passed, known)
      passed.push(parent.runId)
      const located = await locateJournal(this.#world, at, parent)
      const entry = await this.#firstOf(located.path, parent)
      if (entry?.event.kind !== 'Started') break
      context = entry.event.execution_context ?? {}
      at = located.path
    }
    return this.#remember(passed, null)
  }

  /** What cannot be read or believed says nothing. */
  async #firstOf(path: string, { runId, agentId }: Parent): Promise<Entry | null> {
    try {
      const entry = await firstEntry(this.#world, path, this.#key, runId)
      return entry?.agent_id === agentId ? entry : null
    } catch (error) {
      if (isFault(error)) return null
      throw error
    }
  }

  #remember(runs: readonly RunId[], surface: string | null): string | null {
    if (this.#known.size + runs.length > KNOWN_MAX) this.#known.clear()
    for (const run of runs) this.#known.set(run, surface)
    return surface
  }
}

function surfaceIn({ surface, invocation }: JsonObject): string | null {
  if (typeof surface === 'string') return isPlainName(surface) ? surface : null
  return isJsonObject(invocation) ? (SURFACE_OF_SCOPE.get(invocation.scope) ?? null) : null
}

interface Parent {
  readonly agentId: AgentId
  readonly runId: RunId
  readonly recordedPath: string
}

const linkShape = shapes.open({
  parent_agent_id: shapes.text,
  parent_audit: shapes.open({ run_id: shapes.text, path: shapes.text }),
})

function parentIn({ delegation }: JsonObject): Parent | null {
  if (!fits<TypeOf<typeof linkShape>>(linkShape, delegation)) return null
  const agentId = idOrNull('agent', delegation.parent_agent_id)
  const runId = idOrNull('run', delegation.parent_audit.run_id)
  return agentId === null || runId === null ? null : { agentId, runId, recordedPath: delegation.parent_audit.path }
}
