/** One granted delegation, and what the model is told of it. The grant is looked at again, as before every effect. */
import { callIdOf, type Grant, sourceOf } from '../calls/index.ts'
import { canonical } from '../core/index.ts'
import { misfitOf } from '../dispatch/index.ts'
import type { Observation } from '../events/index.ts'
import type { Run } from './run.ts'

export async function delegate(run: Run, grant: Grant, signal: AbortSignal): Promise<Observation> {
  const { delegates, provider, gate } = run.setup
  if (delegates === undefined) return refused(grant, 'this run cannot delegate')
  const misfit = misfitOf(grant, run.context(), run.world.clock.monotonicMs())
  if (misfit !== null) return refused(grant, misfit) // an earlier delegation of the batch may have taken its time
  const parent = { context: run.context(), recorder: run.recorder, budget: run.budget, provider, gate }
  const outcome = await delegates.delegate(grant, parent, signal)
  switch (outcome.kind) {
    case 'Completed':
      return observation(grant, outcome.output, 'result_recorded')
    case 'Unconfirmed':
      return observation(grant, outcome.reason, 'unknown')
    case 'Refused':
      return refused(grant, outcome.reason)
  }
}

/** Law 4: something before it in the batch is unconfirmed. */
export function notStarted(grant: Grant): Observation {
  return refused(grant, 'it was not started, because an earlier call of the batch is unconfirmed')
}

/** Recoverable: nothing began, so nothing is unknown. */
function refused(grant: Grant, reason: string): Observation {
  return { ...correlated(grant), content: `the delegation was refused: ${reason}`, is_error: true, metadata: {} }
}

function observation(grant: Grant, content: string, outcome: 'result_recorded' | 'unknown'): Observation {
  const { call } = grant
  return {
    ...correlated(grant),
    content,
    is_error: outcome === 'unknown',
    metadata: {
      effect_outcome: outcome,
      authorized_tool: sourceOf(call.action),
      authorized_arguments: canonical('Delegate' in call.action ? call.action.Delegate : null),
      call_fingerprint: call.fingerprint,
    },
  }
}

function correlated({ call }: Grant): Pick<Observation, 'source' | 'call_id'> {
  const callId = callIdOf(call.action)
  return { source: sourceOf(call.action), ...(callId === null ? {} : { call_id: callId }) }
}
