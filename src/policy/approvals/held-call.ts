/**
 * What of a call is held: which calls need an approval at all, what the approval is bound to, and what is shown of it.
 *
 * The subject leaves out the call's id, because ids are single use and the call that comes back with a handle has one of
 * its own; everything that decides about the effect is in it (design 5).
 */
import { invocationView, type PreparedCall, type RunContext, runKeyOf, sourceOf } from '../../calls/index.ts'
import { canonical, cutText, digest, type Hash, type JsonObject } from '../../core/index.ts'
import { type GateQuestion, heldBinding } from '../gate.ts'
import type { Asker, HeldAction } from './held-action.ts'
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
  const text = `${sourceOf(call.action)} ${canonical(call.arguments ?? {})}`
  return cutAscii(printable(text))
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
