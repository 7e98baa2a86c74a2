/**
 * The link between a session and the run of an identified call, in the form of a delegation (10.4, 10.6): the session's intent
 * before the run begins, what the run's first entry repeats of it, and the session's record of how the run ended.
 */
import { fingerprintOf } from '../calls/index.ts'
import { deepFreeze, type Hash, hexHash, type JsonObject } from '../core/index.ts'
import type { EventOf, Observation, TerminationReason } from '../events/index.ts'
import type { ClaimOwner } from '../invocations/index.ts'
import type { CallAction } from './calls.ts'
import { callExpired, callInterrupted } from './refusals.ts'
import type { SessionState } from './state.ts'

export type Link = EventOf<'DelegationStarted'>

/** Law 1: resolves when the session's intent is durable. A session that was stopped meanwhile begins nothing. */
export async function linkRun(
  state: SessionState,
  { audit, principal }: ClaimOwner,
  action: CallAction,
  signal: AbortSignal,
): Promise<Link> {
  const { call_id, name, arguments: text } = action.ToolCall
  const started: Link = {
    kind: 'DelegationStarted',
    run_key: state.runKey,
    call_id,
    call_fingerprint: fingerprintIn(state, action),
    target: name,
    child_agent_id: principal,
    audit,
    system_prompt_hash: hexHash(''), // nothing is said to a tool but its arguments
    message_hash: hexHash(text),
  }
  state.iteration = state.attempts - 1
  const recorder = state.recorder()
  const raced = await state.race(signal, () => recorder.commit(started))
  if (raced.kind === 'Stopped') throw callInterrupted()
  if (raced.kind === 'Late') throw callExpired()
  return started
}

/** Of the prepared call; of the proposal where it cannot be prepared, which the run then records as a denial. */
function fingerprintIn({ setup: { toolbox }, config }: SessionState, action: CallAction): Hash {
  try {
    return toolbox.prepare(action, config.tool_definitions ?? []).fingerprint
  } catch {
    return fingerprintOf(action, null, {}, null)
  }
}

/** The session's intent, member for member, and who the session is. */
export function originOf({ setup, log }: SessionState, { kind: _, ...link }: Link): JsonObject {
  const { audit } = log
  return deepFreeze({
    ...link,
    parent_agent_id: setup.principal,
    ...(audit === null ? {} : { parent_audit: audit }),
  } as unknown as JsonObject)
}

/** What the run left behind, as it said so itself. */
export interface Ended {
  readonly observation: Observation | null
  readonly reason: TerminationReason
}

/** The record of an end is not raced against anything: a cancel stops the next effect, never the record of the last one. */
export async function recordEnd(state: SessionState, started: Link, { observation, reason }: Ended): Promise<void> {
  const { run_key, call_id, audit } = started
  const output = reason === 'Completed' ? (observation?.content ?? '') : ''
  await state.recorder().commit({
    kind: 'DelegationFinished',
    run_key,
    call_id,
    audit,
    reason,
    output_hash: hexHash(output),
  })
}
