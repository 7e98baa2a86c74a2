/**
 * Pins: what each exposed tool looked like when it was first used, or when an operator last accepted a change. A tool that
 * looks different is another tool, and is refused until somebody looked at it.
 *
 * Owns the private file `.symbiont/mcp-pins.json`. A server is known by its name in the configuration, so that an edited
 * command does not open trust on first use again.
 */
import { basename, dirname, join } from 'node:path'
import { Fault, fit, type Hash, isFault, readJson, shapes, type Timestamp, type TypeOf } from '../core/index.ts'
import { ensurePrivateDirectory, readPrivateFile, replacePrivateFile, takeLock } from '../store/index.ts'
import type { World } from '../world/index.ts'
import type { Definition } from './listing.ts'
import { digestOfDefinition } from './listing.ts'

const { object, record, literal, hash, text, nullable, jsonObject, timestamp } = shapes

const pinShape = object({
  digest: hash,
  pinned_at: timestamp,
  definition: object({
    name: text,
    description: nullable(text),
    inputSchema: jsonObject,
    outputSchema: nullable(jsonObject),
    annotations: nullable(jsonObject),
  }),
})
const pinsShape = object({ version: literal(1), servers: record(record(pinShape)) })

export type Pin = TypeOf<typeof pinShape>
/** Tool name to pin. */
export type ServerPins = Readonly<Record<string, Pin>>
type Pins = TypeOf<typeof pinsShape>

/** Beside the evidence in `.symbiont`: private, and never committed. */
export const PIN_FILE = 'mcp-pins.json'
const FILE = { what: 'file of pinned tools', bytesMax: 32 * 1024 * 1024 }
const LOCK_WAIT_MS = 5000

/** The pins of one server; empty where it has none. Throws `STORAGE_UNSAFE`, or `CONFIG_INVALID` for a file that is damaged. */
export async function readPins(world: World, path: string, server: string): Promise<ServerPins> {
  const { servers } = await readFile(world, path)
  return own(servers, server) ?? {}
}

export interface PinChange {
  /** Added, or put in place of those that are there. */
  readonly pin: readonly Definition[]
  /** Tools whose pins are removed. */
  readonly gone?: readonly string[]
}

export function writePins(
  world: World,
  path: string,
  server: string,
  change: PinChange,
  signal: AbortSignal,
): Promise<void> {
  return changePins(world, path, server, () => change, signal)
}

/**
 * Changes the pins of one server; others keep theirs. `change` is asked once nobody else can write: two that start at once
 * must not both be the first to use a tool.
 */
export async function changePins(
  world: World,
  path: string,
  server: string,
  change: (pins: ServerPins) => PinChange,
  signal: AbortSignal,
): Promise<void> {
  const folder = dirname(path)
  await ensurePrivateDirectory(world, folder, 'state folder of the project')
  await using _lock = await takeLock(
    world,
    join(folder, 'mcp-pins.lock'),
    'lock of the pinned tools',
    LOCK_WAIT_MS,
    signal,
  )
  const { servers } = await readFile(world, path)
  const before = own(servers, server) ?? {}
  const { pin, gone = [] } = change(before)
  if (pin.length + gone.length === 0) return
  const pins = new Map(Object.entries(before))
  for (const name of gone) pins.delete(name)
  for (const definition of pin) pins.set(definition.name, pinOf(definition, world.clock.wall()))
  const next: Pins = { version: 1, servers: { ...servers, [server]: Object.fromEntries(pins) } }
  await replacePrivateFile(world, folder, basename(path), Buffer.from(`${JSON.stringify(next, null, 1)}\n`))
}

function pinOf(definition: Definition, pinned_at: Timestamp): Pin {
  return { digest: digestOfDefinition(definition), pinned_at, definition }
}

async function readFile(world: World, path: string): Promise<Pins> {
  const bytes = await readPrivateFile(world, path, FILE)
  if (bytes === null) return { version: 1, servers: {} }
  try {
    const pins = fit(pinsShape, readJson(bytes, { bytesMax: FILE.bytesMax }), `the ${FILE.what}`, 'CONFIG_INVALID')
    for (const [name, { digest, definition }] of Object.values(pins.servers).flatMap((tools) =>
      Object.entries(tools),
    )) {
      if (definition.name !== name || digest !== digestOfDefinition(definition))
        throw damaged(`the pin of "${name.slice(0, 64)}" was changed`)
    }
    return pins
  } catch (cause) {
    if (isFault(cause, 'CONFIG_INVALID')) throw cause
    throw damaged('it cannot be read', cause)
  }
}

/** Not a prototype's: a server may be called "constructor". */
function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

export function pinnedDigest(pins: ServerPins, tool: string): Hash | null {
  return own(pins, tool)?.digest ?? null
}

function damaged(state: string, cause?: unknown): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot use the ${FILE.what}: ${state}`,
    hint: 'Restore ".symbiont/mcp-pins.json" from a copy, or remove it and look at every tool again with "symbi mcp pin"',
    cause,
  })
}
