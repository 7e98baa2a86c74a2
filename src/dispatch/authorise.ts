/**
 * Authorising one proposed action: prepare, obtain approval if the contract wants it, ask the gate, issue a grant. Every
 * doubt is a denial, and a denial is an ordinary outcome (laws 5 and 9). A modified action is a new proposal and passes
 * everything again; it may change neither its kind nor its call id.
 */
import { type Grant, issue } from '../calls/grant.ts'
import {
  type Approval,
  assertPrepared,
  authorizationBinding,
  callIdOf,
  invocationView,
  isTerminal,
  type PreparedCall,
  type RunContext,
  spendApproval,
  type Toolbox,
} from '../calls/index.ts'
import { Bug, Fault, type Hash, isFault, messageOf, millisecondsOf } from '../core/index.ts'
import type { ProposedAction, ToolDefinition } from '../events/index.ts'
import { ASSUMED_APPROVAL, type Decision, type Gate, type GateQuestion } from '../policy/index.ts'
import { raceDeadline, type World } from '../world/index.ts'
import { approvalIn, decisionIn } from './gate-answers.ts'
import { by, denied, type Granted, held, judgedBy, type Refusal, resolutionOf, type Verdict } from './verdict.ts'

const PROPOSALS_MAX = 4

export interface Authority {
  readonly world: World
  readonly gate: Gate
  readonly toolbox: Toolbox
  /** The tools offered in this run. */
  readonly offered: readonly ToolDefinition[]
  /** Monotonic end of the run. */
  readonly deadlineMs: number
  /** The handle of a held request that the caller presented with these calls; null by default. */
  readonly presented?: string | null
  /** The binding of the session that the run belongs to, where it is not a session's own run. */
  readonly session?: Hash
}

/** Authorises one action. Rejects only when the signal is aborted: everything else is a verdict. */
export async function authorise(
  authority: Authority,
  proposed: ProposedAction,
  run: RunContext,
  signal: AbortSignal,
): Promise<Verdict> {
  let action = proposed
  for (let attempt = 0; attempt < PROPOSALS_MAX; attempt += 1) {
    const step = await authoriseOnce(authority, action, run, signal)
    if (step.kind !== 'Modified') return step
    if (!sameCall(action, step.action)) {
      return denied(proposed, 'the policy changed the kind or the id of the call', null, by('runtime'))
    }
    action = step.action
  }
  return denied(proposed, 'the policy kept modifying the call and did not come to an end', null, by('runtime'))
}

type Step = Verdict | { readonly kind: 'Modified'; readonly action: ProposedAction }

async function authoriseOnce(
  authority: Authority,
  action: ProposedAction,
  run: RunContext,
  signal: AbortSignal,
): Promise<Step> {
  const { clock } = authority.world
  let call: PreparedCall
  try {
    call = authority.toolbox.prepare(action, authority.offered)
    assertPrepared(call)
    if (!sameCall(action, call.action)) throw new Bug('a toolbox prepares the call that it was given')
  } catch (error) {
    const refusal = refusalIn(error)
    const verdict = denied(action, messageOf(error), null, by('preparation'))
    return refusal === null ? verdict : { ...verdict, refusal }
  }
  const restriction = restrictionOf(authority, call, run)
  if (restriction !== null) return denied(action, restriction, call, by('restriction')) // before anybody is asked to approve it
  const late = (): Error => new Fault('RUN_TIMEOUT', { message: 'Cannot authorise the call: the run has no time left' })
  const race = { clock, deadlineMs: authority.deadlineMs, late }
  const question = (approval: Approval | null): GateQuestion => ({
    call,
    run,
    approval,
    presented: authority.presented ?? null,
    ...(authority.session === undefined ? {} : { session: authority.session }),
    remainingMs: Math.max(0, authority.deadlineMs - clock.monotonicMs()),
  })
  try {
    const answer = approvalIn(
      await raceDeadline(race, signal, (inner) => authority.gate.approve(question(null), inner)),
    )
    if (answer.kind === 'Refused') {
      const { reason, policies = [], errors = [], by_policy } = answer
      const denier = by_policy === true ? { ...by('policy'), approval: ASSUMED_APPROVAL } : by('approval')
      return denied(action, reason, call, { ...denier, policies, errors })
    }
    if (answer.kind === 'Pending') return held(denied(action, answer.reason, call, by('approval')), answer)
    const approval = answer.kind === 'Approved' ? answer.approval : null
    if (call.contract?.requires_approval === true && approval === null) {
      // a gate's Allow never waives it
      return denied(action, 'the tool needs an approval and nobody gave one', call, by('approval'))
    }
    const decision = decisionIn(
      await raceDeadline(race, signal, (inner) => authority.gate.decide(question(approval), inner)),
    )
    if (decision.kind === 'Deny') return denied(action, decision.reason, call, judgedBy(decision, question(approval)))
    if (decision.kind === 'Modify') return { kind: 'Modified', action: decision.modified_action }
    return grant(authority, call, run, approval, decision)
  } catch (error) {
    signal.throwIfAborted()
    if (isFault(error, 'GRANT_REFUSED', 'RUN_TIMEOUT')) return denied(action, error.message, call, by('runtime'))
    return denied(action, 'the policy gate failed', call, { ...by('runtime'), errors: [messageOf(error)] })
  }
}

function grant(
  authority: Authority,
  call: PreparedCall,
  run: RunContext,
  approval: Approval | null,
  decision: Decision & { kind: 'Allow' },
): Granted {
  const restriction = restrictionOf(authority, call, run)
  if (restriction !== null) throw new Fault('GRANT_REFUSED', { message: restriction })
  const nowMs = authority.world.clock.monotonicMs()
  const binding = authorizationBinding(run)
  if (approval !== null)
    spendApproval(approval, { agent_id: run.agent_id, fingerprint: call.fingerprint, binding, nowMs })
  const longestMs = isTerminal(call.action) ? Number.POSITIVE_INFINITY : nowMs + millisecondsOf(run.config.tool_timeout)
  const deadlineMs = Math.min(authority.deadlineMs, longestMs, approval?.expiresAtMs ?? Number.POSITIVE_INFINITY)
  if (deadlineMs <= nowMs) {
    throw new Fault('GRANT_REFUSED', { message: 'Cannot grant the call: no time is left for it' })
  }
  return {
    kind: 'Granted',
    grant: issue({ call, toolbox: isTerminal(call.action) ? null : authority.toolbox, binding, deadlineMs }),
    evidence: {
      ...invocationView(call),
      approval: resolutionOf(approval),
      authorization_binding: binding,
      determining_policies: decision.policies,
    },
  }
}

/** A tool that refuses to prepare a call gives its own reason as the cause. */
function refusalIn(error: unknown): Refusal | null {
  const { cause } = error as { readonly cause?: unknown }
  if (!isFault(cause) || cause.code === 'CALL_INVALID') return null
  return { code: cause.code, hint: cause.hint ?? 'Try again later' }
}

/** What the tools themselves refuse. A restriction that fails restricts (law 5). */
function restrictionOf({ toolbox }: Authority, call: PreparedCall, run: RunContext): string | null {
  try {
    return toolbox.restrict(call, run)
  } catch (error) {
    return `the restrictions of the agent could not be checked: ${messageOf(error)}`
  }
}

function sameCall(before: ProposedAction, after: ProposedAction): boolean {
  return Object.keys(before)[0] === Object.keys(after)[0] && callIdOf(before) === callIdOf(after)
}

/** Asked again just before the effect: a changed run voids the grant. Null means that it still fits. */
export function misfitOf(grant: Grant, run: RunContext, nowMs: number): string | null {
  if (grant.binding !== authorizationBinding(run)) return 'the run changed after the call was granted'
  return nowMs >= grant.deadlineMs ? 'the grant has expired' : null
}
