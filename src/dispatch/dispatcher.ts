/**
 * The dispatcher for explicit batches outside the loop (6.6): broker sessions and pre-hydration. Authorise everything,
 * write the decision and the intents, act, write the receipts: two syncs, and a journal failure at any of them ends the
 * batch in an error.
 */
import { callIdOf, type RunContext, sourceOf } from '../calls/index.ts'
import { durationOf } from '../core/index.ts'
import type { Observation, ProposedAction } from '../events/index.ts'
import { type Authority, misfitOf } from './authorise.ts'
import { authoriseBatch, denyAll, stageVerdicts, type Verdicts } from './authorise-batch.ts'
import { type DispatchScope, dispatchGrants } from './dispatch-grants.ts'

/** One observation an action: the denied ones first, then the executed ones in request order. */
export async function dispatchBatch(
  scope: DispatchScope & Authority,
  actions: readonly ProposedAction[],
  run: RunContext,
  signal: AbortSignal,
): Promise<readonly Observation[]> {
  const { world, recorder } = scope
  const startedMs = world.clock.monotonicMs()
  const { granted, denied } = await authoriseToolCalls(scope, actions, run, signal)
  const refused: Observation[] = denied.map(({ action, reason, pending, refusal, evidence }) => {
    if (pending !== undefined) return error(action, reason, { error_type: 'approval_pending', ...pending })
    const more = refusal === undefined ? {} : { refusal_code: refusal.code, refusal_hint: refusal.hint }
    return error(action, reason, { error_type: 'policy_denied', denied_by: String(evidence.denied_by), ...more })
  })
  const fitting = granted.filter(({ grant }) => {
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

async function authoriseToolCalls(
  scope: DispatchScope & Authority,
  actions: readonly ProposedAction[],
  run: RunContext,
  signal: AbortSignal,
): Promise<Verdicts> {
  if (actions.every((action) => 'ToolCall' in action))
    return await authoriseBatch(scope, actions, run, scope.recorder, signal)
  const verdicts = denyAll(actions, 'only tool calls can be dispatched here')
  stageVerdicts(scope.recorder, verdicts)
  return verdicts
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
