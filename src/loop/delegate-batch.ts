/**
 * The granted delegations of a batch, one after another, and what the model is told of them. None starts once anything of
 * the batch is unconfirmed (law 4). That a grant still fits is asked again where a delegation begins.
 */
import { callIdOf, type Grant, sourceOf } from '../calls/index.ts'
import { canonical } from '../core/index.ts'
import { isUnconfirmed, type Observation } from '../events/index.ts'
import type { Run } from './run.ts'

/**
 * What the answers of one batch's delegations may hold together, as JSON text. All results share one journal entry, and tools
 * may fill most of it: their texts with half of it, and what was proposed with a quarter.
 */
const ANSWER_BYTES_MAX = 160 * 1024

export async function delegateAll(
  run: Run,
  grants: readonly Grant[],
  executed: readonly Observation[],
  signal: AbortSignal,
): Promise<readonly Observation[]> {
  const answers: Observation[] = []
  let roomBytes = ANSWER_BYTES_MAX
  for (const grant of grants) {
    const uncertain = executed.some(isUnconfirmed) || answers.some(isUnconfirmed)
    const answer = uncertain ? notStarted(grant) : await delegate(run, grant, roomBytes, signal)
    roomBytes -= jsonBytes(answer.content)
    answers.push(answer)
  }
  return answers
}

async function delegate(run: Run, grant: Grant, roomBytes: number, signal: AbortSignal): Promise<Observation> {
  const { delegates, provider, gate } = run.setup
  if (delegates === undefined) return refused(grant, 'this run cannot delegate')
  const parent = { context: run.context(), recorder: run.recorder, budget: run.budget, provider, gate }
  const outcome = await delegates.delegate(grant, parent, signal)
  switch (outcome.kind) {
    case 'Completed':
      return observation(grant, fitted(outcome.output, roomBytes), 'result_recorded')
    case 'Unconfirmed':
      return observation(grant, outcome.reason, 'unknown')
    case 'Refused':
      return refused(grant, outcome.reason)
  }
}

function notStarted(grant: Grant): Observation {
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
      authorized_arguments: canonical({ target: 'Delegate' in call.action ? call.action.Delegate.target : null }),
      call_fingerprint: call.fingerprint,
    },
  }
}

/** A long answer is cut and says so: the whole of it stands in the child's journal. */
function fitted(output: string, roomBytes: number): string {
  if (jsonBytes(output) <= roomBytes) return output
  const note = `\n[cut: the answer holds ${Buffer.byteLength(output)} bytes; the whole of it stands in the journal of its run]`
  let characters = Math.min(output.length, Math.max(0, roomBytes))
  while (characters > 0 && jsonBytes(output.slice(0, characters)) > roomBytes) characters = Math.floor(characters / 2)
  return `${output.slice(0, characters).toWellFormed()}${note}`
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}

function correlated({ call }: Grant): Pick<Observation, 'source' | 'call_id'> {
  const callId = callIdOf(call.action)
  return { source: sourceOf(call.action), ...(callId === null ? {} : { call_id: callId }) }
}
