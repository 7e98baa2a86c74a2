/** What one tool session may see and use up, as the embedding code says it, and the configuration that comes of it. */
import { durationOf, Fault, millisecondsOf } from '../../core/index.ts'
import type { DelegationTarget } from '../../delegation/index.ts'
import { DEFAULT_LOOP_CONFIG, type LoopConfig, type ToolDefinition } from '../../events/index.ts'

/** What a session may use up unless somebody says less. */
export const TOOL_SESSION_LIMITS = { callsMax: 1000, timeoutMs: 8 * 3_600_000 } as const

export interface ToolSessionBounds {
  /** Names of the tools that are offered. Default: all of them. */
  readonly only?: readonly string[]
  /** Calls of the session, refused ones included: 1 to 1,000, which is the default. */
  readonly callsMax?: number
  /** How long the session lasts: up to a day, by default eight hours. A timeout in the agent's source makes it shorter. */
  readonly timeoutMs?: number
  /** How long one call may take. Default 30,000. */
  readonly toolTimeoutMs?: number
  /** Tools whose every call needs a person, beside those that say so themselves and those that the runtime lists. */
  readonly approvalTools?: readonly string[]
}

/** Throws `CONFIG_INVALID` for tools that there are not. Numbers out of range are refused by the session itself. */
export function sessionConfig(
  { only, callsMax, timeoutMs, toolTimeoutMs }: ToolSessionBounds,
  target: DelegationTarget,
  all: readonly ToolDefinition[],
): LoopConfig {
  const ofSource = target.timeout_seconds === null ? Number.POSITIVE_INFINITY : target.timeout_seconds * 1000
  const lifeMs = Math.min(timeoutMs ?? TOOL_SESSION_LIMITS.timeoutMs, ofSource)
  return {
    ...DEFAULT_LOOP_CONFIG,
    max_iterations: callsMax ?? TOOL_SESSION_LIMITS.callsMax,
    timeout: durationOf(lifeMs),
    tool_timeout: durationOf(toolTimeoutMs ?? millisecondsOf(DEFAULT_LOOP_CONFIG.tool_timeout)),
    tool_definitions: only === undefined ? [...all] : offeredOf(only, all),
  }
}

/** An empty list is a mistake of whoever made it: for the session it would mean everything. */
function offeredOf(only: readonly string[], all: readonly ToolDefinition[]): ToolDefinition[] {
  if (only.length > 0) return only.map((name) => definitionOf(name, all))
  throw new Fault('CONFIG_INVALID', {
    message: 'Cannot open the tool session: the list of its tools is empty',
    hint: 'Name at least one tool, or leave the list out for all of them',
  })
}

function definitionOf(name: string, all: readonly ToolDefinition[]): ToolDefinition {
  const found = all.find((definition) => definition.name === name)
  if (found !== undefined) return found
  throw new Fault('CONFIG_INVALID', {
    message: `Cannot offer the tool ${JSON.stringify(name.slice(0, 128))}: there is none of this name`,
    hint: all.length === 0 ? 'The project has no tools' : `The tools are: ${all.map((each) => each.name).join(', ')}`,
  })
}
