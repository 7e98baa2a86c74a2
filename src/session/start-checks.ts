/**
 * What must hold before a session exists, in the order of 12.2: its bounds, its tools, its trusted context, the registry and
 * the subset that is offered. Everything that the session goes by afterwards is taken here, once, and frozen.
 */
import type { Toolbox } from '../calls/index.ts'
import {
  canonical,
  deepFreeze,
  digestOfCanonical,
  Fault,
  fits,
  type Hash,
  type JsonObject,
  messageOf,
  millisecondsOf,
  shapes,
} from '../core/index.ts'
import { type LoopConfig, loopConfigShape, type ToolDefinition } from '../events/index.ts'
import { CALL_BYTES_MAX, isIdentifier } from './broker-call.ts'
import type { SessionSetup } from './session.ts'

const CALLS_MAX = 1000
const TIMEOUT_MS_MAX = 86_400_000
const TOOLS_MAX = 256

export interface CheckedSetup {
  /** The effective configuration: `tool_definitions` is what the session offers. */
  readonly config: LoopConfig
  /** Merged with the context of the tools. */
  readonly trustedContext: JsonObject
  readonly registry: Registry
}

export interface Registry {
  /** True while the tools are those that the session was opened with. */
  isUnchanged(): boolean
}

/** Throws `CONFIG_INVALID`, or what the toolbox says of itself. */
export function checkSetup({
  toolbox,
  config: given,
  trustedContext: trusted = {},
  ...at
}: SessionSetup): CheckedSetup {
  checkBounds(given)
  const { ageMs = 0, iteration = 0 } = at
  if (!(ageMs >= 0 && ageMs < Number.POSITIVE_INFINITY)) throw invalid('its age is no number of milliseconds')
  if (!fits(shapes.u32, iteration)) throw invalid('its iteration is no whole number')
  toolbox.validate()
  const trustedContext = mergedContext(trusted, toolbox.context())
  const { definitions, registry } = registryOf(toolbox)
  const config = deepFreeze({ ...structuredClone(given), tool_definitions: offeredOf(given, definitions) })
  return { config, trustedContext, registry }
}

function checkBounds(config: LoopConfig): void {
  if (!fits(loopConfigShape, config)) throw invalid('its configuration has not the expected shape')
  const { max_iterations, timeout, tool_timeout } = config
  if (max_iterations < 1 || max_iterations > CALLS_MAX) throw invalid(`it may take 1 to ${CALLS_MAX} calls`)
  const timeoutMs = millisecondsOf(timeout)
  if (!(timeoutMs > 0 && timeoutMs <= TIMEOUT_MS_MAX))
    throw invalid('it may be open for up to a day, and not for no time')
  if (!(millisecondsOf(tool_timeout) > 0)) throw invalid('its tools have no time')
}

/** The same value twice is no conflict: a session may be opened with what its tools say of themselves. */
function mergedContext(trusted: JsonObject, own: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(own)) {
    if (!Object.hasOwn(trusted, name) || sameJson(trusted[name], value)) continue
    throw invalid(`its trusted context says of "${name}" something else than its tools do`)
  }
  return deepFreeze(structuredClone({ ...trusted, ...own }))
}

export function sameJson(left: unknown, right: unknown): boolean {
  return left === right || (left !== undefined && right !== undefined && canonical(left) === canonical(right))
}

function registryOf(toolbox: Toolbox): {
  readonly definitions: readonly ToolDefinition[]
  readonly registry: Registry
} {
  const live = toolbox.definitions()
  const { text, hash } = writtenOut(live)
  if (live.length < 1 || live.length > TOOLS_MAX)
    throw invalid(`it needs 1 to ${TOOLS_MAX} tools and has ${live.length}`)
  const names = new Set<string>()
  for (const { name } of live) {
    if (!isIdentifier(name)) throw invalid('the name of a tool is not 1 to 128 letters, digits or "_-.:/"')
    if (names.has(name)) throw invalid(`two of its tools are called "${name}"`)
    names.add(name)
  }
  if (Buffer.byteLength(text) > CALL_BYTES_MAX)
    throw invalid(`its tools are described in more than ${CALL_BYTES_MAX} bytes`)
  // what is frozen through cannot change, so the same object again needs no second look, and is offered as it is
  const fixed = isFrozenThrough(live)
  return {
    definitions: fixed ? live : deepFreeze(structuredClone(live)),
    registry: {
      isUnchanged: () => {
        const now = toolbox.definitions()
        return (fixed && now === live) || writtenOut(now).hash === hash
      },
    },
  }
}

function writtenOut(definitions: readonly ToolDefinition[]): { readonly text: string; readonly hash: Hash } {
  try {
    const text = canonical(definitions)
    return { text, hash: digestOfCanonical(text) }
  } catch (cause) {
    throw invalid(`its tools cannot be written down: ${messageOf(cause)}`)
  }
}

function isFrozenThrough(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.isFrozen(value) && Object.values(value).every(isFrozenThrough)
}

/** An empty list offers everything. A subset repeats its entries letter by letter: nothing is widened on the way. */
function offeredOf(config: LoopConfig, definitions: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const wanted = config.tool_definitions ?? []
  if (wanted.length === 0) return definitions
  const known = new Map(definitions.map((definition) => [definition.name, definition]))
  const names = new Set<string>()
  return wanted.map((entry) => {
    const definition = known.get(entry.name)
    if (definition === undefined || !sameJson(entry, definition)) {
      throw invalid('a tool that it is to offer is not exactly one of its tools')
    }
    if (names.has(entry.name)) throw invalid('a tool that it is to offer stands twice in the list')
    names.add(entry.name)
    return definition
  })
}

function invalid(reason: string): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot open the tool session: ${reason}`,
    hint: 'Correct the configuration of the session or its tools, and open it again',
  })
}
