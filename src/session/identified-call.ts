/**
 * A call that its caller gave an id: a run of its own, with its own claim and journal, so that the id executes at most once
 * over sessions, connections and crashes (law 2). In the session's journal it stands as a delegation to the tool: the intent
 * names the journal of the run before it begins, its first entry repeats that intent member for member, and the end is
 * recorded only once the run's own end is durable and was read back (laws 1, 3 and 6).
 *
 * Approval: the run is new each time, and what a person approves belongs to the session. So requests for approval are held
 * under the binding of the session. A call that is held or denied is a recorded run with that result, and its id stays used;
 * the same call with the handle comes under a new id, which executes once like any other.
 */
import { fingerprintOf } from '../calls/index.ts'
import {
  assert,
  Bug,
  deepFreeze,
  durationOf,
  Fault,
  type Hash,
  hexHash,
  type InvocationId,
  type JsonObject,
} from '../core/index.ts'
import type { EventOf, Observation, ProposedAction, TerminationReason } from '../events/index.ts'
import { type ClaimOwner, type ClaimRequest, type ClaimStore, runOnce } from '../invocations/index.ts'
import type { BrokerCall } from './broker-call.ts'
import {
  callAgreesWithJournal,
  existingOutcome,
  type IdentifiedOutcome,
  outcomeOf,
  savedCallOf,
} from './call-result.ts'
import { inTurn, makeCall, orPoison, refuseEnded } from './calls.ts'
import { endSession } from './ending.ts'
import {
  callExpired,
  callInterrupted,
  EFFECTS_UNCONFIRMED,
  NO_ANSWER,
  RUN_NOT_COMPLETED,
  SESSION_ENDED,
} from './refusals.ts'
import { begin as openRun } from './start.ts'
import { SessionState } from './state.ts'

const NEVER = new AbortController().signal

/** The entry point, as claims know it. */
export const CALL_SCOPE = 'mcp:call:v1'

/** Who gave the id, and where ids are claimed. */
export interface CallIdentity {
  readonly claims: ClaimStore
  readonly id: InvocationId
  /** Fingerprint of the caller's credential: an id of one caller is a conflict for every other. */
  readonly caller: Hash
}

interface Errand {
  readonly call: BrokerCall
  readonly action: ProposedAction
  readonly presented: string | null
}

export async function makeIdentifiedCall(
  state: SessionState,
  call: BrokerCall,
  identity: CallIdentity,
  presented: string | null,
  signal: AbortSignal,
): Promise<IdentifiedOutcome> {
  return await inTurn(state, call, signal, async (action) => {
    const { claims } = identity
    const request = requestOf(state, call, identity)
    const known = await claims.lookup(request, signal)
    if (known.kind !== 'NotFound') return existingOutcome(known)
    refuseEnded(state) // the last moment: a claim that was opened is never given back
    const opened = await claims.open(request, signal)
    if (opened.kind !== 'Fresh') return existingOutcome(opened) // somebody was faster
    return await orPoison(state, () => carryOut(state, opened.owner, { call, action, presented }, signal))
  })
}

/** The call id is not part of it: who asks again, after a reconnect for example, asks under another one. */
function requestOf(state: SessionState, { name, arguments: args }: BrokerCall, identity: CallIdentity): ClaimRequest {
  const { principal } = state.setup
  const request = { version: 1, caller: identity.caller, agent: principal, name, arguments: args }
  return { scope: CALL_SCOPE, id: identity.id, request, principal, agrees: callAgreesWithJournal }
}

/** What the run left behind, as it said so itself. */
interface Ended {
  readonly observation: Observation | null
  readonly reason: TerminationReason
}

async function carryOut(
  state: SessionState,
  owner: ClaimOwner,
  errand: Errand,
  signal: AbortSignal,
): Promise<IdentifiedOutcome> {
  const { audit } = owner
  const run: { started: Started | null; ended: Ended | null } = { started: null, ended: null }
  const ran = await runOnce(owner, async (log) => {
    run.started = await begin(state, owner, errand, signal)
    run.ended = await runAlone(state, { log, principal: owner.principal }, errand, run.started, signal)
    return savedCallOf(run.ended.observation, run.ended.reason)
  })
  const { started, ended } = run
  assert(started !== null && ended !== null, 'a run that has a result has begun and ended')
  const proven = ran.kind === 'Recorded' || ended.reason !== 'Completed'
  if (proven) await finish(state, started, ended)
  if (ran.kind === 'Unresolved') state.cancelWithReason(EFFECTS_UNCONFIRMED)
  else if (ended.reason !== 'Completed') state.cancelWithReason(RUN_NOT_COMPLETED)
  signal.throwIfAborted()
  if (ran.kind === 'Recorded') return outcomeOf(ran.result, audit, false)
  return { kind: 'Unresolved', audit, observation: ended.observation }
}

type Started = EventOf<'DelegationStarted'>

/** Law 1: resolves when the session's intent is durable. A session that was stopped meanwhile begins nothing. */
async function begin(
  state: SessionState,
  { audit, principal }: ClaimOwner,
  { call, action }: Errand,
  signal: AbortSignal,
): Promise<Started> {
  const started: Started = {
    kind: 'DelegationStarted',
    run_key: state.runKey,
    call_id: call.call_id,
    call_fingerprint: fingerprintIn(state, action),
    target: call.name,
    child_agent_id: principal,
    audit,
    system_prompt_hash: hexHash(''), // nothing is said to a tool but its arguments
    message_hash: hexHash('ToolCall' in action ? action.ToolCall.arguments : ''),
  }
  state.iteration = state.attempts - 1
  const recorder = state.recorder()
  const raced = await state.race(signal, () => recorder.commit(started))
  if (raced.kind === 'Stopped') throw callInterrupted()
  if (raced.kind === 'Late') throw callExpired()
  return started
}

/** Of the prepared call; of the proposal where it cannot be prepared, which the run then records as a denial. */
function fingerprintIn({ setup: { toolbox }, config }: SessionState, action: ProposedAction): Hash {
  try {
    return toolbox.prepare(action, config.tool_definitions ?? []).fingerprint
  } catch {
    return fingerprintOf(action, null, {}, null)
  }
}

/** A session of one call on the claim's own journal, to its recorded end: it is never the loser of a race (0.4). */
async function runAlone(
  state: SessionState,
  { log, principal }: Pick<ClaimOwner, 'log' | 'principal'>,
  { call, presented }: Errand,
  started: Started,
  signal: AbortSignal,
): Promise<Ended> {
  const { world, gate, toolbox, session = state.binding } = state.setup
  const leftMs = Math.max(0, state.deadlineMs - world.clock.monotonicMs())
  const run = new SessionState({
    world,
    principal,
    gate,
    toolbox,
    log,
    session,
    config: { ...state.config, max_iterations: 1, timeout: durationOf(leftMs) },
    trustedContext: { ...state.context.trusted_context, delegation: linkOf(state, started) },
  })
  await openRun(run, NEVER)
  const deaf = state.onStop(() => run.cancelWithReason(SESSION_ENDED))
  let failure: unknown = null
  const observation = await makeCall(run, call, presented, signal).catch((error: unknown) => {
    failure = error
    run.cancelWithReason(NO_ANSWER) // also where the caller was gone before it began: a run without its call is not complete
    return null
  })
  deaf()
  await endSession(run).catch(() => undefined) // its end is what its journal says
  if (failure instanceof Bug) throw failure
  if (run.termination === null) throw unrecorded(failure)
  return { observation, reason: run.termination }
}

/** The session's intent, member for member, and who the session is. */
function linkOf({ setup, log }: SessionState, { kind: _, ...link }: Started): JsonObject {
  const { audit } = log
  return deepFreeze({
    ...link,
    parent_agent_id: setup.principal,
    ...(audit === null ? {} : { parent_audit: audit }),
  } as unknown as JsonObject)
}

/** The record of an end is not raced against anything: a cancel stops the next effect, never the record of the last one. */
async function finish(state: SessionState, started: Started, { observation, reason }: Ended): Promise<void> {
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

function unrecorded(cause: unknown): Fault {
  return new Fault('INVOCATION_UNRESOLVED', {
    message: 'Cannot answer the call: the end of its run could not be recorded',
    hint: `Inspect it with "symbi invocation inspect --scope ${CALL_SCOPE}"; it does not run again`,
    cause,
  })
}
