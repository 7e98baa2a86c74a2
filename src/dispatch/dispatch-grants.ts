/**
 * A grant becomes an effect, here and nowhere else: intents durable, then execution under the earliest deadline, then each
 * result correlated, classified as known or unknown, and its receipt handed to the recorder (laws 1 and 3).
 *
 * The receipts are staged: they become durable with the run's next commit, before anyone is told (design 6).
 */
import {
  type AuthorisedCall,
  callIdOf,
  type Grant,
  type RunContext,
  runKeyOf,
  sourceOf,
  type Toolbox,
} from '../calls/index.ts'
import { assert, canonical, digest, Fault, type Id, messageOf, newId } from '../core/index.ts'
import type { Observation, Recorder } from '../events/index.ts'
import { run as runTools } from '../tools/run.ts'
import { raceDeadline, type World } from '../world/index.ts'
import { correlate, type Expected, unknownResult } from './correlate.ts'
import { type EffectJournal, effectJournal } from './effect-journal.ts'

export interface DispatchScope {
  readonly world: World
  readonly recorder: Recorder
  readonly toolbox: Toolbox
}

/** Executes tool grants. Resolves with one observation a grant, in order. A journal failure or the signal rejects. */
export async function dispatchGrants(
  scope: DispatchScope,
  grants: readonly Grant[],
  run: RunContext,
  signal: AbortSignal,
): Promise<readonly Observation[]> {
  if (grants.length === 0) return []
  if (grants.some(({ toolbox }) => toolbox !== scope.toolbox)) {
    throw new Fault('GRANT_REFUSED', {
      message: 'Cannot dispatch the calls: a grant was given for another toolbox',
      hint: 'Propose the call again, so that it is judged for the toolbox that is to execute it',
    })
  }
  const runKey = runKeyOf(run)
  const dispatches = grants.map((grant) => ({
    grant,
    dispatchId: newId('dispatch', scope.world.random),
    ...expectedOf(grant),
  }))
  signal.throwIfAborted()
  await scope.recorder.commit(
    ...dispatches.map(({ grant, dispatchId, callId, source }) => ({
      kind: 'ToolDispatchStarted' as const,
      dispatch_id: dispatchId,
      run_key: runKey,
      call_id: callId,
      call_fingerprint: grant.call.fingerprint,
      tool_name: source,
    })),
  ) // law 1: if this throws, no effect has begun
  signal.throwIfAborted() // and if the run was stopped while it was written, none begins
  const executed = await execute(scope, grants, dispatches, runKey, signal)
  return dispatches.map(({ grant, dispatchId }, index) => {
    const observation = classify(
      grant,
      executed.results[index] as Observation,
      executed.journals.get(grant.call.fingerprint)?.end() ?? true,
    )
    stageReceipt(scope.recorder, dispatchId, observation)
    return observation
  })
}

interface Executed {
  readonly results: readonly Observation[]
  readonly journals: ReadonlyMap<string, EffectJournal>
}

async function execute(
  scope: DispatchScope,
  grants: readonly Grant[],
  expected: readonly Expected[],
  runKey: string,
  signal: AbortSignal,
): Promise<Executed> {
  const { world, recorder, toolbox } = scope
  const deadlineMs = Math.min(...grants.map((grant) => grant.deadlineMs))
  const journals = new Map<string, EffectJournal>()
  let journalFailure: { readonly error: unknown } | null = null
  const stop = new AbortController() // when the run ends, time is over, or the journal fails
  const effectsOf = ({ call }: AuthorisedCall): EffectJournal => {
    const known = journals.get(call.fingerprint)
    if (known !== undefined) return known
    const made = effectJournal({
      recorder,
      clock: world.clock,
      runKey,
      fingerprint: call.fingerprint,
      deadlineMs,
      onJournalFailure: (error) => {
        journalFailure ??= { error }
        stop.abort(error)
      },
    })
    journals.set(call.fingerprint, made)
    return made
  }
  const late = (): Error =>
    new Fault('RUN_TIMEOUT', { message: 'Cannot wait for the tool any longer: its time is over' })
  try {
    const results = await raceDeadline({ clock: world.clock, deadlineMs, late, stop }, signal, (inner) =>
      runTools(grants, toolbox, { runKey, deadlineMs, effectsOf }, inner),
    )
    return { results: correlate(expected, results), journals }
  } catch (error) {
    signal.throwIfAborted() // a cancelled run records nothing more of this call: its outcome stays unknown
    const failure = journalFailure as { readonly error: unknown } | null
    if (failure !== null) throw failure.error
    const timedOut = error instanceof Fault && error.code === 'RUN_TIMEOUT'
    const reason = timedOut ? 'the tool did not finish in time' : `the tool failed: ${messageOf(error)}`
    return { results: expected.map((call) => unknownResult(call, reason, timedOut ? 'timeout' : undefined)), journals }
  } finally {
    for (const journal of journals.values()) journal.end()
  }
}

/** Law 3: an error, or an effect without a complete receipt, is unknown; it is never reported as a success. */
function classify(grant: Grant, result: Observation, effectsComplete: boolean): Observation {
  const { call } = grant
  const unknown = result.is_error || !effectsComplete
  const content = unknown && !result.is_error ? `[Effects unconfirmed] ${result.content}` : result.content
  return {
    source: result.source,
    content,
    is_error: unknown,
    ...(result.call_id === undefined ? {} : { call_id: result.call_id }),
    metadata: {
      ...result.metadata,
      effect_outcome: unknown ? 'unknown' : 'result_recorded',
      authorized_tool: sourceOf(call.action),
      authorized_arguments: canonical(call.arguments),
      call_fingerprint: call.fingerprint,
    },
  }
}

function stageReceipt(recorder: Recorder, dispatchId: Id<'dispatch'>, observation: Observation): void {
  recorder.stage({
    kind: 'ToolDispatchFinished',
    dispatch_id: dispatchId,
    observation_hash: digest(observation),
    is_error: observation.is_error,
  })
}

function expectedOf(grant: Grant): Expected {
  const callId = callIdOf(grant.call.action)
  assert(callId !== null && 'ToolCall' in grant.call.action, 'only tool grants are dispatched')
  return { callId, source: sourceOf(grant.call.action) }
}
