/**
 * The runtime's own mapping of a prepared call to a Cedar request: who, what, on what, in which context.
 *
 * The context is the trusted context, then what only the runtime may say: `invocation`, `has_human_approval` and
 * `approved_fingerprint`, which overwrite whatever the trusted context holds under these names (law 9). There is no
 * fallback to an emptier context: what cannot be shown to policy is not judged, and so is denied (law 5).
 */

import { invocationView, type PreparedCall } from '../../calls/index.ts'
import type { AgentId, JsonObject } from '../../core/index.ts'
import type { GateQuestion } from '../gate.ts'
import type { CedarName, CedarRequest } from './cedar-engine.ts'
import { cedarValue, Unfit } from './cedar-value.ts'

export type RequestOutcome =
  | { readonly kind: 'Request'; readonly request: CedarRequest }
  | { readonly kind: 'Unfit'; readonly reason: string }

export interface Judged {
  readonly call: PreparedCall
  readonly agent_id: AgentId
  readonly trusted_context: JsonObject
  /** Fingerprint of the approval that was just obtained, or null. */
  readonly approvedFingerprint: string | null
}

/** The request for a gate's question, or why there is none; as it would be once the call was approved, if that is asked. */
export function requestOf(question: GateQuestion, asIfApproved = false): RequestOutcome {
  if (!approvalFits(question)) return { kind: 'Unfit', reason: 'the approval was given for another call' }
  const { call, run, approval } = question
  return cedarRequest({
    call,
    agent_id: run.agent_id,
    trusted_context: run.trusted_context,
    approvedFingerprint: asIfApproved ? call.fingerprint : (approval?.fingerprint ?? null),
  })
}

/** Whether the approval that goes with a question, if any, is one for this call and this principal. */
export function approvalFits({ call, run, approval }: Pick<GateQuestion, 'call' | 'run' | 'approval'>): boolean {
  if (approval === null) return true
  const { resolution, fingerprint } = approval
  return fingerprint === call.fingerprint && resolution.decision === 'approve' && resolution.agent_id === run.agent_id
}

export function cedarRequest({ call, agent_id, trusted_context, approvedFingerprint }: Judged): RequestOutcome {
  try {
    const action = named(cedarActionOf(call), 'action')
    const context = cedarValue(
      {
        ...trusted_context,
        has_human_approval: approvedFingerprint !== null,
        approved_fingerprint: approvedFingerprint ?? '',
        invocation: invocationView(call),
      },
      'context',
    ) as CedarRequest['context']
    const resource = named(resourceOf(call), 'resource')
    const attributes = attributesOf(call)
    const entities = attributes === null ? [] : [{ uid: { ...resource }, attrs: attributes, parents: [] }]
    return { kind: 'Request', request: { principal: agentName(agent_id), action, resource, context, entities } }
  } catch (error) {
    if (error instanceof Unfit) return { kind: 'Unfit', reason: `the call cannot be shown to policy: ${error.message}` }
    throw error
  }
}

export function agentName(id: AgentId): CedarName {
  return { type: 'Agent', id }
}

/** The Cedar action that a prepared call is. Delegations go by the declared name of their target. */
function cedarActionOf({ action, contract }: PreparedCall): CedarName {
  if (contract !== null) return { type: contract.action_type, id: contract.action_id }
  if ('ToolCall' in action) return { type: 'Action', id: `tool_call::${action.ToolCall.name}` }
  if ('Delegate' in action) return { type: 'Action', id: `delegate::${action.Delegate.target}` }
  return { type: 'Action', id: 'Respond' in action ? 'respond' : 'terminate' }
}

/** `Type::"id"`, for reasons and messages. */
export function spell({ type, id }: CedarName): string {
  const short = id.length > 160 ? `${id.slice(0, 159)}…` : id
  return `${type}::${JSON.stringify(short)}`
}

function resourceOf({ contract }: PreparedCall): CedarName {
  return contract === null
    ? { type: 'Resource', id: 'default' }
    : { type: contract.resource_type, id: contract.resource_id }
}

/** Null for an action without a contract: its resource is no entity. */
function attributesOf({ contract, fingerprint }: PreparedCall): Record<string, string> | null {
  if (contract === null) return null
  return {
    tool_name: text(contract.name, 'resource.tool_name'),
    version: text(contract.version, 'resource.version'),
    contract_hash: contract.digest,
    call_fingerprint: fingerprint,
  }
}

const TYPE_NAME = /^[_a-zA-Z][_a-zA-Z0-9]*(?:::[_a-zA-Z][_a-zA-Z0-9]*)*$/

function named({ type, id }: CedarName, what: string): CedarName {
  if (!TYPE_NAME.test(type))
    throw new Unfit(`its ${what} type ${JSON.stringify(type.slice(0, 80))} is not a Cedar name`)
  return { type, id: text(id, `${what} id`) }
}

function text(value: string, what: string): string {
  if (!value.isWellFormed()) throw new Unfit(`its ${what} holds a lone surrogate`)
  return value
}
