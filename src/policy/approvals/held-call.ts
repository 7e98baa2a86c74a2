/**
 * What of a call is held: which calls need an approval at all, what the approval is bound to, and what is shown of it.
 *
 * The subject leaves out the call's id, because ids are single use and the call that comes back with a handle has one of
 * its own; everything that decides about the effect is in it (design 5).
 */
import { invocationView, type PreparedCall, type RunContext, runKeyOf, sourceOf } from '../../calls/index.ts'
import { canonical, cutText, digest, type Hash, isJsonObject, type Json, type JsonObject } from '../../core/index.ts'
import { type GateQuestion, heldBinding } from '../gate.ts'
import type { AskedBy, Asker, HeldAction } from './held-action.ts'
import { printable } from './printable.ts'

const SUMMARY_CHARS_MAX = 160

/** Why the call needs an approval, or null. Policy never waives what a contract or the operator's list requires. */
export function approvalNeed({ action, contract }: PreparedCall, tools: ReadonlySet<string>): string | null {
  if (contract?.requires_approval === true) return `the tool "${contract.name}" requires human approval`
  const name = 'ToolCall' in action ? action.ToolCall.name : 'Delegate' in action ? 'delegate' : null
  return name !== null && tools.has(name) ? `the operator requires human approval for "${name}"` : null
}

/** A call that is a run of its own asks for the session that it belongs to: what was held for one comes back in another. */
export function askerOf({ call, run, session }: Pick<GateQuestion, 'call' | 'run' | 'session'>): Asker {
  return {
    subject: subjectOf(call),
    session: heldBinding(session === undefined ? { run } : { run, session }),
    run: runKeyOf(run),
  }
}

export function subjectOf(call: PreparedCall): Hash {
  const { action, contract, resolved, source_policy } = call
  // a delegation has no arguments of that name: its message is what it asks for
  const proposed = 'Delegate' in action ? { ...action.Delegate, call_id: null } : call.arguments
  return digest({ name: sourceOf(action), arguments: proposed, contract, resolved, source_policy })
}

export function kindOf({ action }: PreparedCall): HeldAction['kind'] {
  if ('ToolCall' in action) return 'tool_call'
  return 'Delegate' in action ? 'delegate' : 'other'
}

export function summaryOf(call: PreparedCall): string {
  const { action } = call
  // a delegation has no arguments: what it asks for is its task
  const asked = 'Delegate' in action ? { task: action.Delegate.message } : (call.arguments ?? {})
  const text = `${sourceOf(action)} ${canonical(asked)}`
  return cutAscii(printable(text))
}

/** Of what is only shown: in bytes at most three times as many, which fit their shape. */
const KNOWN_CHARS_MAX = 128

/** From the trusted context alone: of an agent its declared name, of a tool client its key and how it came. */
export function askedByOf({ trusted_context }: Pick<RunContext, 'trusted_context'>): AskedBy {
  const { agent_definition, source_policy, tool_client } = trusted_context
  const agent = textIn(agent_definition, 'name') ?? textIn(source_policy, 'agent_name')
  const transport = textIn(tool_client, 'transport')
  const key_id = textIn(tool_client, 'key_id')
  return {
    ...(agent === null ? {} : { agent }),
    ...(transport === null ? {} : { transport }),
    ...(key_id === null ? {} : { key_id }),
  }
}

function textIn(value: Json | undefined, name: string): string | null {
  const text = isJsonObject(value) ? value[name] : null
  return typeof text === 'string' && text !== '' ? cutText(text, KNOWN_CHARS_MAX) : null
}

export function snapshotOf(id: string, call: PreparedCall, run: RunContext): JsonObject {
  return {
    approval_id: id,
    invocation: invocationView(call),
    session_started_at: run.started_at,
    iteration: run.iteration,
  }
}

function cutAscii(text: string): string {
  return text.length <= SUMMARY_CHARS_MAX ? text : `${cutText(text, SUMMARY_CHARS_MAX - 3).slice(0, -1)}...`
}
