/** `read_file`: a piece of one text file. Bytes are counted, characters stay whole, and what follows the piece is said. */
import type { ToolDefinition } from '../../events/index.ts'
import type { World } from '../../world/index.ts'
import type { Tool } from '../tool.ts'
import { kept, openToRead } from './reach.ts'
import { type Reached, reachingTool } from './reaching-tool.ts'
import type { Roots } from './roots.ts'
import { textOf, wholeCharacters } from './utf8.ts'

const LIMIT_USUAL = 32_768
/** Room for a whole character behind the rest of another. */
const LIMIT_MIN = 16
const LIMIT_MAX = 65_536
const OFFSET_MAX = 10_000_000

export function readFileTool(roots: Roots, world: Pick<World, 'files'>): Tool {
  const definition: ToolDefinition = {
    name: 'read_file',
    description: `Reads a piece of a UTF-8 text file. Roots: ${[...roots.keys()].join(', ')}.`,
    parameters: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, maxLength: 1024, description: 'root/folder/file' },
        offset: { type: 'integer', minimum: 0, maximum: OFFSET_MAX, description: 'The byte to begin at; 0 by default' },
        limit: {
          type: 'integer',
          minimum: LIMIT_MIN,
          maximum: LIMIT_MAX,
          description: `Bytes; ${LIMIT_USUAL} by default`,
        },
      },
      required: ['path'],
      additionalProperties: false,
    },
  }
  return reachingTool({ definition, usual: { offset: 0, limit: LIMIT_USUAL }, roots, world }, pieceOf)
}

async function pieceOf({ args, path, place, home }: Reached): Promise<object> {
  const offset = Number(args.offset)
  await using file = await openToRead(place, home, path)
  const { size } = await file.facts()
  const read = await file.read(offset, Number(args.limit))
  const more = offset + read.length < size
  const { skipped, bytes } = wholeCharacters(read, offset > 0, more)
  const text = textOf(bytes)
  if (text === null) throw kept(path, 'it is not UTF-8 text')
  const begin = offset + skipped
  const end = begin + bytes.length
  return { path, size, offset: begin, bytes: bytes.length, cut: more, ...(more ? { next_offset: end } : {}), text }
}
