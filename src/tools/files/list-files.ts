/** `list_files`: what lies in a folder, and below it. Links and special files are named as what they are, and not followed. */
import type { ToolDefinition } from '../../events/index.ts'
import type { Place, World } from '../../world/index.ts'
import type { Tool } from '../tool.ts'
import { nameMatches } from './name-pattern.ts'
import { ANSWER_BYTES_MAX, kept, whyNotEntered, whyNotRead } from './reach.ts'
import { type Reached, reachingTool } from './reaching-tool.ts'
import type { Roots } from './roots.ts'
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
  return reachingTool({ definition, usual: { depth: 1 }, roots, world }, listed)
}

async function listed({ args, location, path, place, home, signal }: Reached): Promise<object> {
  const why = whyNotEntered(place, home)
  if (why !== null) throw kept(path, `it is ${why}`)
  const walk = walkIn(location.root, home, Number(args.depth), signal)
  const entries: object[] = []
  let bytes = 0
  await visitBelow(walk, place, path, async (found) => {
    if (typeof args.name === 'string' && !nameMatches(args.name, found.name)) return true
    const entry = { path: found.path, ...factsOf(found.place, home) }
    bytes += Buffer.byteLength(JSON.stringify(entry))
    if (entries.length < LISTED_MAX && bytes <= ANSWER_BYTES_MAX) return entries.push(entry) > 0
    walk.cuts.add('the list is as long as an answer may be')
    return false
  })
  const cuts = [...walk.cuts]
  return { path, entries, cut: cuts.length > 0, ...(cuts.length > 0 ? { cuts } : {}), not_entered: walk.closed }
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
