/** `list_files`: what lies in a folder, and below it. Links and special files are named as what they are, and not followed. */
import type { JsonObject } from '../../core/index.ts'
import type { ToolDefinition } from '../../events/index.ts'
import type { Place, World } from '../../world/index.ts'
import type { Tool } from '../tool.ts'
import { nameMatches } from './name-pattern.ts'
import { ANSWER_BYTES_MAX, answered, kept, reach, whyNotEntered, whyNotRead } from './reach.ts'
import { fileResolution, locate, pathOf, type Roots } from './roots.ts'
import { DEPTH_MAX, visitBelow, walkIn } from './tree.ts'

const LISTED_MAX = 2_000

export function listFilesTool(roots: Roots, world: Pick<World, 'files'>): Tool {
  const definition: ToolDefinition = {
    name: 'list_files',
    description: `Lists what lies in a folder. Roots: ${[...roots.keys()].join(', ')}.`,
    parameters: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, maxLength: 1024, description: 'root, or root/folder' },
        depth: { type: 'integer', minimum: 1, maximum: DEPTH_MAX, description: 'Levels of folders; 1 by default' },
        name: {
          type: 'string',
          minLength: 1,
          maxLength: 128,
          description: 'Only these names: * is any text, ? one character',
        },
      },
      required: ['path'],
      additionalProperties: false,
    },
  }
  return {
    definition,
    oneAction: true,
    resolve: (args) =>
      fileResolution(definition, locate('list_files', String(args.path), roots), { depth: 1, ...args }),
    run: (args, { signal }) => answered(() => listed(args, roots, world, signal)),
  }
}

async function listed(
  args: JsonObject,
  roots: Roots,
  world: Pick<World, 'files'>,
  signal: AbortSignal,
): Promise<object> {
  const location = locate('list_files', String(args.path), roots)
  const path = pathOf(location)
  return await reach(world, location, signal, async (folder, home) => {
    const why = whyNotEntered(folder, home)
    if (why !== null) throw kept(path, `it is ${why}`)
    const walk = walkIn(location.root, home, Number(args.depth), signal)
    const entries: object[] = []
    let bytes = 0
    await visitBelow(walk, folder, path, async (found) => {
      if (typeof args.name === 'string' && !nameMatches(args.name, found.name)) return true
      const entry = { path: found.path, ...factsOf(found.place, home) }
      bytes += Buffer.byteLength(JSON.stringify(entry))
      if (entries.length < LISTED_MAX && bytes <= ANSWER_BYTES_MAX) return entries.push(entry) > 0
      walk.cuts.add('the list is as long as an answer may be')
      return false
    })
    const cuts = [...walk.cuts]
    return { path, entries, cut: cuts.length > 0, ...(cuts.length > 0 ? { cuts } : {}), not_entered: walk.closed }
  })
}

/** Of a file that `read_file` would refuse, also why. */
function factsOf(place: Place, home: Place): object {
  const { facts } = place
  if (facts.kind === 'file') {
    const why = whyNotRead(place, home)
    return { kind: 'file', bytes: facts.size, ...(why === null ? {} : { not_read: why }) }
  }
  return { kind: facts.kind === 'directory' ? 'folder' : facts.kind }
}
