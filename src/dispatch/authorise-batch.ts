/**
 * Authorising a batch: every action gets its verdict, and one `PolicyEvaluated` entry says what was decided, by which
 * policies and for what reason. It is staged; the intents that follow make it durable before any effect (law 1).
 */
import { callIdOf, type RunContext } from '../calls/index.ts'
import { jsonBytesAtMost } from '../core/index.ts'
import type { ProposedAction, Recorder } from '../events/index.ts'
import { type Authority, authorise } from './authorise.ts'
import type { Denied, Granted, Verdict } from './verdict.ts'

/** The verdicts of a batch, in the order of its actions. */
export interface Verdicts {
  readonly granted: readonly Granted[]
  readonly denied: readonly Denied[]
}

/** Authorises the actions in order. Ids that are empty or repeated deny the whole batch: no result could be told apart. */
export async function authoriseBatch(
  authority: Authority,
  actions: readonly ProposedAction[],
  run: RunContext,
  recorder: Recorder,
  signal: AbortSignal,
): Promise<Verdicts> {
  const verdicts = distinctIds(actions)
    ? await authoriseAll(authority, actions, run, signal)
    : denyAll(actions, 'the ids of the calls in one reply must be present and distinct')
  signal.throwIfAborted()
  const recorded =
    [verdicts, thinned(verdicts)].find(fitsOneEntry) ??
    denyAll(actions, 'the decisions about one reply must fit into one journal entry: propose less at once')
  stageVerdicts(recorder, recorded)
  return recorded
}

/** What one entry may hold beside its frame. */
const EVIDENCE_BYTES_MAX = 960 * 1024

function fitsOneEntry({ granted, denied }: Verdicts): boolean {
  const evidence = [...granted, ...denied].map((verdict) => verdict.evidence)
  if (jsonBytesAtMost(evidence) <= EVIDENCE_BYTES_MAX) return true // nearly always, and without the text
  const bytes = evidence.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0)
  return bytes <= EVIDENCE_BYTES_MAX
}

/**
 * A denial repeats its call as it was judged, and so holds long arguments three times. Where there is no room for that, who
 * denied what and why is kept, and the call is only read as it was proposed: a denial must never fail for its length.
 */
function thinned({ granted, denied }: Verdicts): Verdicts {
  return {
    granted,
    denied: denied.map((denial) => {
      const { call: _, ...evidence } = denial.evidence
      return { ...denial, evidence }
    }),
  }
}

export function stageVerdicts(recorder: Recorder, { granted, denied }: Verdicts): void {
  recorder.stage({
    kind: 'PolicyEvaluated',
    iteration: recorder.iteration,
    action_count: granted.length + denied.length,
    denied_count: denied.length,
    approved_calls: granted.map(({ evidence }) => evidence),
    denied_calls: denied.map(({ evidence }) => evidence),
  })
}

export function denyAll(actions: readonly ProposedAction[], reason: string): Verdicts {
  return {
    granted: [],
    denied: actions.map((action) => ({
      kind: 'Denied',
      action,
      reason,
      evidence: { action, reason, denied_by: 'runtime', determining_policies: [] },
    })),
  }
}

async function authoriseAll(
  authority: Authority,
  actions: readonly ProposedAction[],
  run: RunContext,
  signal: AbortSignal,
): Promise<Verdicts> {
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
