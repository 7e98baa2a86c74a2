/** A server as an operator looks at it: what it lists now, beside what was pinned. Pins nothing by itself. */
import { isFault } from '../core/index.ts'
import { raceDeadline, type World } from '../world/index.ts'
import { exposedTools } from './choose.ts'
import { connect } from './connection.ts'
import type { Definition, Listing } from './listing.ts'
import { type Pin, readPins, type ServerPins } from './pins.ts'
import { unavailable } from './refusals.ts'
import type { UpstreamServer } from './server-entry.ts'
import { nameMisfit, schemaJudge } from './upstream-tool.ts'
import type { UpstreamParts } from './upstreams.ts'

export interface ToolState {
  readonly tool: string
  /** `gone`: pinned, and not listed or not exposed any more. `unusable`: pinning it would not help. */
  readonly state: 'pinned' | 'new' | 'changed' | 'gone' | 'unusable'
  readonly reason: string | null
  readonly before: Definition | null
  readonly now: Definition | null
}

export type ServerState =
  | { readonly kind: 'Answered'; readonly tools: readonly ToolState[]; readonly notExposed: readonly string[] }
  | { readonly kind: 'Silent'; readonly reason: string }

export async function inspectServer(
  world: World,
  server: UpstreamServer,
  parts: Omit<UpstreamParts, 'servers'>,
  signal: AbortSignal,
): Promise<ServerState> {
  const pins = await readPins(world, parts.pinFile, server.name)
  try {
    const listing = await listed(world, server, parts, signal)
    const exposed = new Set(exposedTools(server, listing))
    const schemaMisfit = schemaJudge(server.name)
    const names = [...new Set([...exposed, ...Object.keys(pins)])]
    return {
      kind: 'Answered',
      tools: names.map((tool) => stateOf({ server, listing, pins, schemaMisfit }, tool, exposed.has(tool))),
      notExposed: [...listing.keys()].filter((tool) => !exposed.has(tool)),
    }
  } catch (error) {
    signal.throwIfAborted()
    if (!isFault(error)) throw error
    return { kind: 'Silent', reason: error.hint === undefined ? error.message : `${error.message}. ${error.hint}` }
  }
}

async function listed(
  world: World,
  server: UpstreamServer,
  { root, env, report }: Omit<UpstreamParts, 'servers'>,
  signal: AbortSignal,
): Promise<Listing> {
  const { clock } = world
  const late = () => unavailable(`it was not ready after ${server.startTimeoutMs} ms`)
  const race = { clock, deadlineMs: clock.monotonicMs() + server.startTimeoutMs, late }
  const held: Promise<unknown>[] = []
  try {
    return await raceDeadline(race, signal, (inner) => {
      const work = ask(inner)
      held.push(work)
      return work
    })
  } finally {
    await Promise.allSettled(held) // no child outlives the look
  }

  async function ask(inner: AbortSignal): Promise<Listing> {
    const connection = await connect(
      {
        world,
        server,
        root,
        env,
        onBroken: () => undefined,
        onListChanged: () => undefined,
        onSaid: (line) => report({ kind: 'Said', server: server.name, line }),
      },
      inner,
    )
    try {
      return await connection.list(inner)
    } finally {
      await connection.close()
    }
  }
}

const NOBODY: ReadonlySet<string> = new Set()

interface Looking {
  readonly server: UpstreamServer
  readonly listing: Listing
  readonly pins: ServerPins
  readonly schemaMisfit: ReturnType<typeof schemaJudge>
}

function stateOf({ server, listing, pins, schemaMisfit }: Looking, tool: string, exposed: boolean): ToolState {
  const pin: Pin | null = Object.hasOwn(pins, tool) ? (pins[tool] ?? null) : null
  const before = pin?.definition ?? null
  const listed = listing.get(tool)
  const known = { tool, before, now: listed?.kind === 'Usable' ? listed.definition : null }
  if (listed === undefined) return { ...known, state: 'gone', reason: 'the server does not offer it' }
  if (!exposed) return { ...known, state: 'gone', reason: '"expose" does not name it' }
  if (listed.kind === 'Unusable') return { ...known, state: 'unusable', reason: listed.reason }
  const misfit = nameMisfit(server.name, tool, NOBODY) ?? schemaMisfit(listed.definition)
  if (misfit !== null) return { ...known, state: 'unusable', reason: misfit }
  if (pin === null) return { ...known, state: 'new', reason: null }
  return { ...known, state: pin.digest === listed.digest ? 'pinned' : 'changed', reason: null }
}
