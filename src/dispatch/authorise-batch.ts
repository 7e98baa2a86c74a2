/**
 * Judging a batch: every action gets its verdict, and one `PolicyEvaluated` entry says what was decided, by which policies
 * and for what reason. It is staged; the intents that follow make it durable before any effect (law 1).
 */
import { callIdOf, type RunContext } from '../calls/index.ts'
import type { ProposedAction, Recorder } from '../events/index.ts'
import { type Authority, authorise, type Denied, type Granted, type Verdict } from './authorise.ts'

export interface JudgedBatch {
  readonly granted: readonly Granted[]
  readonly denied: readonly Denied[]
}

/** Judges the actions in order. Ids that are empty or repeated deny the whole batch: no result could be told apart. */
export async function evaluateBatch(
  authority: Authority,
  actions: readonly ProposedAction[],
  run: RunContext,
  recorder: Recorder,
  signal: AbortSignal,
): Promise<JudgedBatch> {
  const batch = distinctIds(actions)
    ? await judgeAll(authority, actions, run, signal)
    : denyAll(actions, 'the ids of the calls in one reply must be present and distinct')
  signal.throwIfAborted()
  recorder.stage({
    kind: 'PolicyEvaluated',
    iteration: recorder.iteration,
    action_count: actions.length,
    denied_count: batch.denied.length,
    approved_calls: batch.granted.map(({ evidence }) => evidence),
    denied_calls: batch.denied.map(({ evidence }) => evidence),
  })
  return batch
}

export function denyAll(actions: readonly ProposedAction[], reason: string): JudgedBatch {
  return {
    granted: [],
    denied: actions.map((action) => ({
      kind: 'Denied',
      action,
      reason,
      evidence: { action, reason, determining_policies: [] },
    })),
  }
}

async function judgeAll(
  authority: Authority,
  actions: readonly ProposedAction[],
  run: RunContext,
  signal: AbortSignal,
): Promise<JudgedBatch> {
  const verdicts: Verdict[] = []
  for (const action of actions) verdicts.push(await authorise(authority, action, run, signal))
  return {
    granted: verdicts.filter((verdict) => verdict.kind === 'Granted'),
    denied: verdicts.filter((verdict) => verdict.kind === 'Denied'),
  }
}

function distinctIds(actions: readonly ProposedAction[]): boolean {
  const seen = new Set<string>()
  for (const action of actions) {
    const id = callIdOf(action)
    if (id === null) continue
    if (id === '' || seen.has(id)) return false
    seen.add(id)
  }
  return true
}
