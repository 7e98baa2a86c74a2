/**
 * A prepared call: a proposed action that was parsed strictly, normalised, validated, frozen and named by its fingerprint.
 * What the gate judges is the very object that the executor receives (law 8); the model's text is not parsed again.
 */
import { assert, deepFreeze, digest, Fault, type Hash, type JsonObject } from '../core/index.ts'
import type { ProposedAction, ToolDefinition } from '../events/index.ts'

/** What a tool promises, and how policy names it. */
export interface ToolContract {
  readonly name: string
  readonly version: string
  readonly digest: Hash
  readonly action_type: string
  readonly action_id: string
  readonly resource_type: string
  readonly resource_id: string
  readonly requires_approval: boolean
}

export interface PreparedCall {
  /** With normalised arguments: canonical JSON text. */
  readonly action: ProposedAction
  /** The same arguments as a value; null for actions that carry none. */
  readonly arguments: JsonObject | null
  /** Null for Delegate, Respond and Terminate. */
  readonly contract: ToolContract | null
  /** The concrete effect: argv, URL, file grants, delegation target; `{}` by default. */
  readonly resolved: JsonObject
  /** Metadata of the inline policy that judges this call, where there is one. */
  readonly source_policy: JsonObject | null
  readonly fingerprint: Hash
}

export interface CallParts {
  readonly action: ProposedAction
  readonly arguments: JsonObject | null
  readonly contract: ToolContract | null
  readonly resolved?: JsonObject
  readonly source_policy?: JsonObject | null
}

const prepared = new WeakSet<PreparedCall>()

export function preparedCall(parts: CallParts): PreparedCall {
  const resolved = parts.resolved ?? {}
  const source_policy = parts.source_policy ?? null
  const call = deepFreeze({
    action: parts.action,
    arguments: parts.arguments,
    contract: parts.contract,
    resolved,
    source_policy,
    fingerprint: fingerprintOf(parts.action, parts.contract, resolved, source_policy),
  })
  prepared.add(call)
  return call
}

/**
 * The same call, judged by an inline policy as well: a new prepared call with a fingerprint of its own. A call accepts one
 * (6.2). `arguments`, `contract` and `resolved` stay the very same frozen objects.
 */
export function boundTo(call: PreparedCall, sourcePolicy: JsonObject): PreparedCall {
  assertPrepared(call)
  if (call.source_policy !== null) {
    throw new Fault('CALL_INVALID', {
      message: 'Cannot bind the call to the inline policy of an agent: a prepared call accepts one inline policy',
      hint: 'Restrict the tools of a run by the policy of one agent',
    })
  }
  return preparedCall({ ...call, source_policy: sourcePolicy })
}

/** For dispatch: refuses what only looks like a prepared call, and so could change or bear the name of another. */
export function assertPrepared(call: PreparedCall): void {
  assert(prepared.has(call), 'a call is judged only as it was prepared')
}

export function fingerprintOf(
  action: ProposedAction,
  contract: ToolContract | null,
  resolved: JsonObject,
  sourcePolicy: JsonObject | null,
): Hash {
  if (sourcePolicy !== null) return digest({ call: { action, contract, resolved }, source_policy: sourcePolicy })
  return Object.keys(resolved).length === 0 ? digest({ action, contract }) : digest({ action, contract, resolved })
}

/** The contract of a tool that brings none of its own. */
export function defaultContract(definition: ToolDefinition): ToolContract {
  return {
    name: definition.name,
    version: '',
    digest: digest(definition),
    action_type: 'Action',
    action_id: `tool_call::${definition.name}`,
    resource_type: 'Resource',
    resource_id: 'default',
    requires_approval: false,
  }
}

/** The call as policy, approvers and the journal see it. */
export function invocationView(call: PreparedCall): JsonObject {
  return {
    fingerprint: call.fingerprint,
    action: call.action,
    arguments: call.arguments,
    contract: call.contract as unknown as JsonObject | null,
    resolved: call.resolved,
    ...(call.source_policy === null ? {} : { source_policy: call.source_policy }),
  }
}

/** The id that a result must carry; Respond and Terminate have none. */
export function callIdOf(action: ProposedAction): string | null {
  if ('ToolCall' in action) return action.ToolCall.call_id
  return 'Delegate' in action ? action.Delegate.call_id : null
}

export function isTerminal(action: ProposedAction): boolean {
  return 'Respond' in action || 'Terminate' in action
}

/** The name that observations and messages use: the tool, `delegate:<target>`, `respond` or `terminate`. */
export function sourceOf(action: ProposedAction): string {
  if ('ToolCall' in action) return action.ToolCall.name
  if ('Delegate' in action) return `delegate:${action.Delegate.target}`
  return 'Respond' in action ? 'respond' : 'terminate'
}
