/** The list of tools of a server, as it sent it: read strictly and bounded. What cannot be used says why. */
import {
  canonical,
  digestOfCanonical,
  Fault,
  type Hash,
  isJsonObject,
  type Json,
  type JsonObject,
} from '../core/index.ts'
import { DEFINITIONS_BYTES_MAX, DESCRIPTION_BYTES_MAX, SCHEMA_BYTES_MAX, TOOLS_MAX } from './limits.ts'

/** What is pinned: all of a tool that a model sees or that says how it behaves. */
export type Definition = {
  readonly name: string
  readonly description: string | null
  readonly inputSchema: JsonObject
  readonly outputSchema: JsonObject | null
  readonly annotations: JsonObject | null
}

export type Listed =
  | { readonly kind: 'Usable'; readonly definition: Definition; readonly digest: Hash }
  | { readonly kind: 'Unusable'; readonly reason: string }

/** By the server's own names. */
export type Listing = ReadonlyMap<string, Listed>

const NAME_UNITS_MAX = 128

/** One page after the other; null asks for the first one. */
export type AskPage = (cursor: string | null) => Promise<JsonObject>

/** Throws `UPSTREAM_UNAVAILABLE` when the list as a whole cannot be used. */
export async function readListing(ask: AskPage): Promise<Listing> {
  const listing = new Map<string, Listed>()
  let count = 0
  let bytes = 0
  let cursor: string | null = null
  for (let page = 0; page <= TOOLS_MAX; page += 1) {
    const { tools, nextCursor }: JsonObject = await ask(cursor)
    if (!Array.isArray(tools)) throw unusable('its list of tools is no list')
    count += tools.length
    if (count > TOOLS_MAX) throw unusable(`it lists more than ${TOOLS_MAX} tools`)
    for (const raw of tools as readonly Json[]) {
      bytes += Buffer.byteLength(canonical(raw))
      if (bytes > DEFINITIONS_BYTES_MAX)
        throw unusable(`its tools are described with more than ${DEFINITIONS_BYTES_MAX} bytes`)
      const name = isJsonObject(raw) && typeof raw.name === 'string' ? raw.name.slice(0, NAME_UNITS_MAX) : ''
      listing.set(name, listing.has(name) ? unfit('it is listed twice') : readTool(raw))
    }
    if (nextCursor === undefined || nextCursor === null) return listing
    if (typeof nextCursor !== 'string' || nextCursor.length > 4096)
      throw unusable('the cursor of its list is no short text')
    cursor = nextCursor
  }
  throw unusable('its list of tools does not end')
}

export function readTool(raw: Json): Listed {
  if (!isJsonObject(raw)) return unfit('its definition is no object')
  const { name, description = null, inputSchema, outputSchema = null, annotations = null, execution } = raw
  if (typeof name !== 'string' || name === '' || name.length > NAME_UNITS_MAX)
    return unfit('its name is not 1 to 128 characters')
  if (
    description !== null &&
    (typeof description !== 'string' || Buffer.byteLength(description) > DESCRIPTION_BYTES_MAX)
  )
    return unfit(`its description is not a text of at most ${DESCRIPTION_BYTES_MAX} bytes`)
  if (!isJsonObject(inputSchema) || inputSchema.type !== 'object')
    return unfit('its input schema is not of the type "object"')
  if (outputSchema !== null && !isJsonObject(outputSchema)) return unfit('its output schema is no object')
  if (annotations !== null && !isJsonObject(annotations)) return unfit('its annotations are no object')
  for (const [what, schema] of Object.entries({ inputSchema, outputSchema, annotations })) {
    if (schema !== null && Buffer.byteLength(canonical(schema)) > SCHEMA_BYTES_MAX)
      return unfit(`its ${what} is larger than ${SCHEMA_BYTES_MAX} bytes`)
  }
  if (isJsonObject(execution) && execution.taskSupport === 'required') return unfit('it can be called as a task only')
  return usable({ name, description, inputSchema, outputSchema, annotations })
}

export function usable(definition: Definition): Listed {
  return { kind: 'Usable', definition, digest: digestOfDefinition(definition) }
}

export function digestOfDefinition(definition: Definition): Hash {
  return digestOfCanonical(canonical(definition))
}

function unfit(reason: string): Listed {
  return { kind: 'Unusable', reason }
}

function unusable(state: string): Fault {
  return new Fault('UPSTREAM_UNAVAILABLE', { message: `Cannot use the tool server: ${state}` })
}
