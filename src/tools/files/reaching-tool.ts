/** What the file tools share: the path is located before policy, and held from its root down while it is looked at. */
import type { JsonObject } from '../../core/index.ts'
import type { ToolDefinition } from '../../events/index.ts'
import type { Place, World } from '../../world/index.ts'
import type { Tool } from '../tool.ts'
import { answered, reach } from './reach.ts'
import { fileResolution, type Location, locate, pathOf, type Roots } from './roots.ts'

export interface Reached {
  /** With the usual values filled in. */
  readonly args: JsonObject
  readonly location: Location
  /** As a model writes it: the root and what follows. */
  readonly path: string
  readonly place: Place
  /** The place of the root. */
  readonly home: Place
  readonly signal: AbortSignal
}

export interface ReachingToolParts {
  readonly definition: ToolDefinition
  /** Values of arguments that may be left out: policy judges what is in effect. */
  readonly usual: JsonObject
  readonly roots: Roots
  readonly world: Pick<World, 'files'>
}

export function reachingTool(
  { definition, usual, roots, world }: ReachingToolParts,
  look: (reached: Reached) => Promise<object>,
): Tool {
  const locationOf = (args: JsonObject): Location => locate(definition.name, String(args.path), roots)
  return {
    definition,
    oneAction: true,
    resolve: (args) => fileResolution(definition, locationOf(args), { ...usual, ...args }),
    run: (args, { signal }) =>
      answered(async () => {
        const location = locationOf(args)
        const path = pathOf(location)
        return await reach(world, location, signal, (place, home) =>
          look({ args, location, path, place, home, signal }),
        )
      }),
  }
}
