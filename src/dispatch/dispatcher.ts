/**
 * The dispatcher for explicit batches outside the loop (6.6): broker sessions and pre-hydration. Judge everything, write
 * the decision and the intents, act, write the receipts: two syncs, and a journal failure at any of them ends the batch
 * in an error.
 */
import { callIdOf, type RunContext, sourceOf } from '../calls/index.ts'
import { durationOf } from '../core/index.ts'
import type { Observation, ProposedAction } from '../events/index.ts'
import { type Authority, misfitOf } from './authorise.ts'
import { type DispatchScope, dispatchGrants } from './dispatch-grants.ts'
import { denyAll, evaluateBatch, type JudgedBatch } from './evaluate-batch.ts'

/** One observation an action: the denied ones first, then the executed ones in request order. */
export async function dispatchBatch(
  scope: DispatchScope & Authority,
  actions: readonly ProposedAction[],
  run: RunContext,
  signal: AbortSignal,
): Promise<readonly Observation[]> {
  const { world, recorder } = scope
  const startedMs = world.clock.monotonicMs()
  const batch = await judgeToolCalls(scope, actions, run, signal)
  const refused: Observation[] = batch.denied.map(({ action, reason }) =>
    error(action, reason, { error_type: 'policy_denied' }),
  )
  const fitting = batch.granted.filter(({ grant }) => {
    const misfit = misfitOf(grant, run, world.clock.monotonicMs())
    if (misfit !== null) refused.push(error(grant.call.action, misfit, {}))
    return misfit === null
  })
  if (fitting.length === 0) await recorder.commit()
  const executed = await dispatchGrants(
    scope,
    fitting.map(({ grant }) => grant),
    run,
    signal,
  )
  const observations = [...refused, ...executed]
  await recorder.commit({
    kind: 'ToolBatchCompleted',
    iteration: recorder.iteration,
    observations,
    duration: durationOf(world.clock.monotonicMs() - startedMs),
  })
  return observations
}

async function judgeToolCalls(
  scope: DispatchScope & Authority,
  actions: readonly ProposedAction[],
  run: RunContext,
  signal: AbortSignal,
): Promise<JudgedBatch> {
  if (actions.every((action) => 'ToolCall' in action))
    return await evaluateBatch(scope, actions, run, scope.recorder, signal)
  const batch = denyAll(actions, 'only tool calls can be dispatched here')
  scope.recorder.stage({
    kind: 'PolicyEvaluated',
    iteration: scope.recorder.iteration,
    action_count: actions.length,
    denied_count: actions.length,
    approved_calls: [],
    denied_calls: batch.denied.map(({ evidence }) => evidence),
  })
  return batch
}

function error(action: ProposedAction, reason: string, metadata: Record<string, string>): Observation {
  const callId = callIdOf(action)
  return {
    source: sourceOf(action),
    content: reason,
    is_error: true,
    ...(callId === null ? {} : { call_id: callId }),
    metadata,
  }
}
