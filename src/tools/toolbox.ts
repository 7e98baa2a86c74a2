/**
 * The Toolbox port, made from simple tools. Its set of tools is fixed and frozen when it is made, so what was prepared is
 * what is executed and nothing needs to be looked up again.
 *
 * Owns preparation (6.1): the tool is offered by the run and by this box, its arguments are strict, normalised and fit the
 * schema, and all of it is frozen (law 8). Leaves execution to `batch.ts`, and grants to dispatch.
 */
import {
  type ActionName,
  assertAuthorised,
  checkArguments,
  defaultContract,
  type PreparedCall,
  preparedCall,
  proposedArguments,
  type Toolbox,
  type ToolContract,
} from '../calls/index.ts'
import { Bug, canonical, deepFreeze, Fault, isFault, type JsonObject } from '../core/index.ts'
import type { ProposedAction, ToolDefinition } from '../events/index.ts'
import type { World } from '../world/index.ts'
import { performBatch } from './batch.ts'
import { type Breakers, openBreakers } from './breaker.ts'
import type { Resolution, Tool } from './tool.ts'
import { TOOL_NAME, TOOL_NAME_RULE } from './tool-name.ts'
import { Workers } from './workers.ts'

export interface ToolboxParts {
  readonly tools: readonly Tool[]
  /** Entries for the trusted context of every run that uses this box. */
  readonly context?: JsonObject
  /** Default: breakers of this box alone, which then serve every run that uses it. */
  readonly breakers?: Breakers
  /** What the results of one batch may hold together, as JSON text: they share one journal entry of at most 1 MiB. */
  readonly resultBytesMax?: number
}

export const RESULT_BYTES_MAX = 512 * 1024

export function toolbox(parts: ToolboxParts, world: Pick<World, 'clock'>): Toolbox {
  const definitions = frozenCopy(parts.tools.map(({ definition }) => definition))
  const context = frozenCopy(parts.context ?? {})
  const shelf = new Map<string, Shelved>()
  parts.tools.forEach((tool, index) => {
    const definition = definitions[index] as ToolDefinition
    shelf.set(definition.name, { tool, definition, contract: frozenCopy(tool.contract ?? defaultContract(definition)) })
  })
  const workers = new Workers()
  const means = {
    clock: world.clock,
    breakers: parts.breakers ?? openBreakers(world.clock),
    workers,
    toolOf: (name: string) => shelf.get(name)?.tool,
    resultBytesMax: parts.resultBytesMax ?? RESULT_BYTES_MAX,
  }
  return Object.freeze({
    validate: () => checkDefinitions(definitions),
    definitions: () => definitions,
    context: () => context,
    prepare: (action, offered) => prepare(action, offered, shelf),
    restrict: () => null,
    mayPass: () => true,
    actionOf: (name) => actionOf(shelf.get(name)),
    async execute(calls, scope, signal) {
      for (const call of calls) assertAuthorised(call) // all of them before the first effect (law 8)
      return performBatch(calls, scope, means, signal)
    },
    cancelRun: (runKey) => workers.cancel(runKey),
    cleanUp: (runKey) => workers.cleanUp(runKey),
  } satisfies Toolbox)
}

interface Shelved {
  readonly tool: Tool
  readonly definition: ToolDefinition
  readonly contract: ToolContract
}

function prepare(
  action: ProposedAction,
  offered: readonly ToolDefinition[],
  shelf: ReadonlyMap<string, Shelved>,
): PreparedCall {
  if (!('ToolCall' in action)) return preparedCall({ action: structuredClone(action), arguments: null, contract: null })
  const { call_id, name, arguments: text } = action.ToolCall
  const advertised = offered.find((definition) => definition.name === name)
  if (advertised === undefined)
    throw refused(name, 'this run does not offer it', 'Call one of the tools that are offered')
  const shelved = shelf.get(name)
  if (shelved === undefined) throw refused(name, 'nothing here executes it', 'Call one of the tools that are offered')

  const proposed = deepFreeze(proposedArguments(name, text))
  const check = (value: JsonObject): void => {
    checkArguments(advertised, value)
    if (advertised !== shelved.definition) checkArguments(shelved.definition, value) // a run may narrow, never widen
  }
  check(proposed)
  const resolution = resolve(shelved.tool, proposed)
  if (resolution.arguments !== undefined) check(resolution.arguments)
  if (shelved.tool.oneAction === true && !hasActionOf(resolution.contract ?? shelved.contract, shelved.contract)) {
    throw refused(name, 'it came to another action than its tool promises', 'Report this to the author of the tool')
  }
  const settled = resolution.arguments ?? proposed
  return preparedCall({
    action: { ToolCall: { call_id, name, arguments: canonical(settled) } },
    arguments: settled,
    contract: resolution.contract ?? shelved.contract,
    resolved: resolution.resolved ?? {},
  })
}

function actionOf(shelved: Shelved | undefined): ActionName | null {
  if (shelved === undefined || (shelved.tool.resolve !== undefined && shelved.tool.oneAction !== true)) return null
  return { type: shelved.contract.action_type, id: shelved.contract.action_id }
}

function hasActionOf(resolved: ToolContract, own: ToolContract): boolean {
  return resolved.action_type === own.action_type && resolved.action_id === own.action_id
}

/** A copy, because a tool could keep what it returned and change it after the gate has judged it. */
function resolve(tool: Tool, args: JsonObject): Resolution {
  if (tool.resolve === undefined) return {}
  try {
    return frozenCopy(tool.resolve(args))
  } catch (error) {
    if (error instanceof Bug || isFault(error, 'CALL_INVALID')) throw error
    const reason = error instanceof Fault ? error.message : 'its arguments cannot be resolved'
    throw refused(tool.definition.name, reason, 'Call the tool again with other arguments', error)
  }
}

function checkDefinitions(definitions: readonly ToolDefinition[]): void {
  const names = new Set<string>()
  for (const definition of definitions) {
    const { name } = definition
    if (!TOOL_NAME.test(name)) throw unusable(name, TOOL_NAME_RULE)
    if (names.has(name)) throw unusable(name, 'another tool has the same name')
    names.add(name)
    try {
      checkArguments(definition, {})
    } catch (error) {
      // A fault with a cause speaks about the schema; one without says only that this tool needs arguments.
      if (!isFault(error, 'CALL_INVALID')) throw error
      if (error.cause !== undefined) throw unusable(name, 'its schema cannot be used', error.cause)
    }
  }
}

function frozenCopy<T>(value: T): T {
  return deepFreeze(structuredClone(value))
}

function refused(name: string, reason: string, hint: string, cause?: unknown): Fault {
  return new Fault('CALL_INVALID', {
    message: `Cannot prepare the call of "${name.slice(0, 128)}": ${reason}`,
    hint,
    cause,
  })
}

function unusable(name: string, reason: string, cause?: unknown): Fault {
  return new Fault('CONFIG_INVALID', {
    message: `Cannot use the tool "${name.slice(0, 128)}": ${reason}`,
    hint: 'Correct the definition of the tool and open the runtime again',
    cause,
  })
}
