/**
 * One delegation, step by step (10.4). Two journals prove each other: the parent's intent names the child's journal before
 * anything happens (law 1), the child's first entry repeats that intent member for member, and the parent says how it ended
 * only after the child's terminal record is durable and its journal was read back (laws 3 and 6).
 */
import { type Grant, runKeyOf, spend } from '../calls/index.ts'
import { hexHash, isFault } from '../core/index.ts'
import { misfitOf } from '../dispatch/index.ts'
import type { EventOf } from '../events/index.ts'
import { createJournal, type Journal } from '../journal/index.ts'
import type { Delegated, DelegatingRun } from '../loop/index.ts'
import type { World } from '../world/index.ts'
import { agentPrompt } from './child-prompt.ts'
import { runChild } from './child-run.ts'
import type { DelegatingToolbox } from './delegating-toolbox.ts'
import type { DelegationParts, Family } from './delegation.ts'
import type { DelegationTarget } from './target.ts'

export type DelegationScope = Omit<DelegationParts, 'toolbox'> & {
  readonly world: World
  readonly toolbox: DelegatingToolbox
  readonly family: Family
}

/** What is delegated: the target is the frozen one that the granted call was prepared for. */
export interface Errand {
  readonly grant: Grant
  readonly callId: string
  readonly target: DelegationTarget
  /** The first two messages of the child. */
  readonly prompt: string
  readonly task: string
  readonly parent: DelegatingRun
}

export async function delegate(
  scope: DelegationScope,
  grant: Grant,
  parent: DelegatingRun,
  signal: AbortSignal,
): Promise<Delegated> {
  const errand = errandOf(scope, grant, parent)
  if (errand === null) return refused('no target was prepared for it')
  const refusal = refusalOf(scope, errand) ?? misfit(scope, errand)
  if (refusal !== null) return refused(refusal)
  signal.throwIfAborted()
  const allowance = allowanceOf(errand)
  if (allowance === null) return refused('this run and its delegations have too many token allowances already')
  const { principal } = errand.target
  await using journal = await createJournal(scope.world, { directory: scope.governedFolder, principal })
  const stale = misfit(scope, errand)
  if (stale !== null) return refused(stale) // nothing began: the child's journal stays empty
  const started = await begin(scope, errand, journal, signal)
  const late = misfit(scope, errand)
  if (late !== null) return unconfirmed(errand, `it was not carried out: ${late}`)
  const { reason, output } = await runChild(scope, errand, { journal, allowance, started })
  const { run_key, call_id, audit } = started
  parent.recorder.stage({ kind: 'DelegationFinished', run_key, call_id, audit, reason, output_hash: hexHash(output) })
  if (reason === 'Completed') return { kind: 'Completed', output }
  return unconfirmed(errand, `its run ended with ${typeof reason === 'string' ? reason : Object.keys(reason)[0]}`)
}

function errandOf({ toolbox }: DelegationScope, grant: Grant, parent: DelegatingRun): Errand | null {
  const target = toolbox.targetOf(grant.call)
  const { action } = grant.call
  if (target === null || !('Delegate' in action)) return null
  const { call_id: callId, message: task } = action.Delegate
  return { grant, callId, target, prompt: agentPrompt(target.name, target.declaration), task, parent }
}

/** Cycles, depth, and an id that stands for another delegation of this run. */
function refusalOf({ family }: DelegationScope, { target, callId, parent }: Errand): string | null {
  const { delegation_chain, delegation_depth, max_delegation_depth } = parent.context.config
  if (delegation_chain.includes(target.name)) return `agent "${target.name}" is at work already, further up`
  if (delegation_depth >= max_delegation_depth) return `runs may be delegated ${max_delegation_depth} levels deep`
  if (family.begun.has(callId)) return `the call id "${callId}" stands for an earlier delegation of this run`
  return null
}

function misfit({ world }: DelegationScope, { grant, parent }: Errand): string | null {
  return misfitOf(grant, parent.context, world.clock.monotonicMs())
}

/** A share of the parent's tokens, or null when there are too many shares already. */
function allowanceOf({ parent: { budget, context } }: Errand): ReturnType<DelegatingRun['budget']['child']> | null {
  try {
    return budget.child(Math.min(context.config.max_total_tokens, budget.limit))
  } catch (error) {
    if (isFault(error, 'BUDGET_REFUSED')) return null
    throw error
  }
}

/** Law 1: spends the grant, and resolves when the parent's intent is durable. A parent that ended meanwhile begins nothing. */
async function begin(
  { family }: DelegationScope,
  { grant, callId, target, prompt, task, parent }: Errand,
  journal: Journal,
  signal: AbortSignal,
): Promise<EventOf<'DelegationStarted'>> {
  const { call } = spend(grant)
  const started: EventOf<'DelegationStarted'> = {
    kind: 'DelegationStarted',
    run_key: runKeyOf(parent.context),
    call_id: callId,
    call_fingerprint: call.fingerprint,
    target: target.name,
    child_agent_id: target.principal,
    audit: journal.audit,
    system_prompt_hash: hexHash(prompt),
    message_hash: hexHash(task),
  }
  signal.throwIfAborted()
  family.begun.add(callId)
  await parent.recorder.commit(started)
  signal.throwIfAborted()
  return started
}

function unconfirmed({ target }: Errand, what: string): Delegated {
  return { kind: 'Unconfirmed', reason: `the delegation to "${target.name}" is unconfirmed: ${what}` }
}

function refused(reason: string): Delegated {
  return { kind: 'Refused', reason }
}
