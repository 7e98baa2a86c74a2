/**
 * The act step: grants become effects through dispatch. A batch that holds an approved reply ends the run with it, and its
 * other calls are not executed. A cancel stops the next effect, never the record of the last one.
 */
import { type Grant, isTerminal, spend } from '../calls/index.ts'
import { durationOf } from '../core/index.ts'
import { dispatchGrants, misfitOf } from '../dispatch/index.ts'
import { isUnconfirmed, type Observation } from '../events/index.ts'
import { delegateAll } from './delegate-batch.ts'
import { deliver } from './delivery.ts'
import { type Gated, tellDenial } from './gate.ts'
import type { Finished, Run } from './run.ts'

declare const step: unique symbol
export interface Acted {
  readonly kind: 'acted'
  readonly [step]: true
  /** The text of the last approved terminal action, or null when the loop goes on. */
  readonly output: string | null
  readonly unconfirmed: boolean
}

export async function act(run: Run, gated: Gated, signal: AbortSignal): Promise<Acted | Finished> {
  const startedMs = run.world.clock.monotonicMs()
  const grants = gated.granted.map(({ grant }) => grant)
  const terminal = grants.filter((grant) => isTerminal(grant.call.action))
  if (terminal.length > 0) return await answer(run, terminal, startedMs, signal)
  const fitting = fittingOf(run, grants)
  const isDelegation = ({ call }: Grant): boolean => 'Delegate' in call.action
  const executed = await dispatchGrants(
    { world: run.world, recorder: run.recorder, toolbox: run.setup.toolbox },
    fitting.filter((grant) => !isDelegation(grant)),
    run.context(),
    signal,
  )
  // tools first, whatever the order of the model (5.6): a run of minutes must not let their grants grow old
  const observations = [...executed, ...(await delegateAll(run, fitting.filter(isDelegation), executed, signal))]
  for (const observation of observations) tellResult(run, observation)
  recordBatch(run, observations, startedMs)
  return acted(null, observations.some(isUnconfirmed))
}

async function answer(
  run: Run,
  grants: readonly Grant[],
  startedMs: number,
  signal: AbortSignal,
): Promise<Acted | Finished> {
  let output: string | null = null
  for (const grant of fittingOf(run, grants)) {
    const { call } = spend(grant)
    const content =
      'Respond' in call.action
        ? call.action.Respond.content
        : 'Terminate' in call.action
          ? call.action.Terminate.output
          : ''
    if (run.setup.delivery !== undefined && 'Respond' in call.action) {
      const failure = await deliver(run, run.setup.delivery, grant, content, signal)
      if (failure !== null) return failure
    }
    output = content
  }
  recordBatch(run, [], startedMs)
  return acted(output, false)
}

function fittingOf(run: Run, grants: readonly Grant[]): readonly Grant[] {
  return grants.filter((grant) => {
    const misfit = misfitOf(grant, run.context(), run.world.clock.monotonicMs())
    if (misfit !== null) tellDenial(run, { action: grant.call.action, reason: misfit })
    return misfit === null
  })
}

function tellResult(run: Run, observation: Observation): void {
  run.pendingObservations.push(observation)
  run.messages.push({
    role: 'tool',
    content: observation.is_error ? `[Error] ${observation.content}` : observation.content,
    ...(observation.call_id === undefined ? {} : { tool_call_id: observation.call_id }),
    tool_name: observation.source,
  })
}

function recordBatch(run: Run, observations: readonly Observation[], startedMs: number): void {
  const { iteration, recorder } = run
  const duration = durationOf(run.world.clock.monotonicMs() - startedMs)
  recorder.stage({ kind: 'ToolsDispatched', iteration, tool_count: observations.length, duration })
  recorder.stage({ kind: 'ToolBatchCompleted', iteration, observations, duration })
}

function acted(output: string | null, unconfirmed: boolean): Acted {
  return { kind: 'acted', output, unconfirmed } as unknown as Acted
}
