import { assert, Bug, durationOf, Fault, type Hash, type InvocationId, type JsonObject } from '../core/index.ts'
import { type ClaimOwner, type ClaimRequest, type ClaimStore, runOnce } from '../invocations/index.ts'
import { neverStopped } from '../world/index.ts'
import type { BrokerCall } from './broker-call.ts'
import { type Ended, type Link, linkRun, originOf, recordEnd } from './call-link.ts'
import {
  callAgreesWithJournal,
  existingOutcome,
  type IdentifiedOutcome,
  outcomeOf,
  savedCallOf,
} from './call-result.ts'
import { type CallAction, inTurn, makeCall, orPoison, refuseEnded } from './calls.ts'
import { endSession } from './ending.ts'
import { EFFECTS_UNCONFIRMED, NO_ANSWER, RUN_NOT_COMPLETED, SESSION_ENDED } from './refusals.ts'
import { begin as openRun } from './start.ts'
import { SessionState } from './state.ts'

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
  readonly action: CallAction
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
    const own = callIn(action)
    const request = requestOf(state, own, identity)
    const known = await claims.lookup(request, signal)
    if (known.kind !== 'NotFound') return existingOutcome(known)
    refuseEnded(state) // the last moment: a claim that was opened is never given back
    const opened = await claims.open(request, signal)
    if (opened.kind !== 'Fresh') return existingOutcome(opened) // somebody was faster
    return await orPoison(state, () => carryOut(state, opened.owner, { call: own, action, presented }, signal))
  })
}

/** The call as it was read once: its caller may change the object meanwhile, and claim, link and run are of one call. */
function callIn({ ToolCall: { call_id, name, arguments: text } }: CallAction): BrokerCall {
  return { call_id, name, arguments: JSON.parse(text) as JsonObject }
}

/** The call id is not part of it: who asks again, after a reconnect for example, asks under another one. */
function requestOf(state: SessionState, { name, arguments: args }: BrokerCall, identity: CallIdentity): ClaimRequest {
  const { principal } = state.setup
  const request = { version: 1, caller: identity.caller, agent: principal, name, arguments: args }
  return { scope: CALL_SCOPE, id: identity.id, request, principal, agrees: callAgreesWithJournal }
}

async function carryOut(
  state: SessionState,
  owner: ClaimOwner,
  errand: Errand,
  signal: AbortSignal,
): Promise<IdentifiedOutcome> {
  const { audit } = owner
  const run: { started: Link | null; ended: Ended | null } = { started: null, ended: null }
  const ran = await runOnce(owner, async (log) => {
    run.started = await linkRun(state, owner, errand.action, signal)
    run.ended = await runAlone(state, { log, principal: owner.principal }, errand, run.started, signal)
    return savedCallOf(run.ended.observation, run.ended.reason)
  })
  const { started, ended } = run
  assert(started !== null && ended !== null, 'a run that has a result has begun and ended')
  const proven = ran.kind === 'Recorded' || ended.reason !== 'Completed'
  if (proven) await recordEnd(state, started, ended)
  if (ran.kind === 'Unresolved') state.cancelWithReason(EFFECTS_UNCONFIRMED)
  else if (ended.reason !== 'Completed') state.cancelWithReason(RUN_NOT_COMPLETED)
  signal.throwIfAborted()
  if (ran.kind === 'Recorded') return outcomeOf(ran.result, audit, false)
  return { kind: 'Unresolved', audit, observation: ended.observation }
}

/** A session of one call on the claim's own journal, to its recorded end: it is never the loser of a race (0.4). */
async function runAlone(
  state: SessionState,
  { log, principal }: Pick<ClaimOwner, 'log' | 'principal'>,
  { call, presented }: Errand,
  started: Link,
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
    trustedContext: { ...state.context.trusted_context, delegation: originOf(state, started) },
  })
  await openRun(run, neverStopped())
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

function unrecorded(cause: unknown): Fault {
  return new Fault('INVOCATION_UNRESOLVED', {
    message: 'Cannot answer the call: the end of its run could not be recorded',
    hint: `Inspect it with "symbi invocation inspect --scope ${CALL_SCOPE}"; it does not run again`,
    cause,
  })
}
