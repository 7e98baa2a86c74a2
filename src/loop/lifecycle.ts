/**
 * The life of a run: start, the race of its body against cancellation and time, cleanup, and the terminal record. A run is
 * never the loser of that race, only its body is: a cancelled run still cleans up and terminates (5.3). Success includes
 * its audit (law 6): a failed write or cleanup clears the output.
 */
import { openBudget } from '../budget/index.ts'
import { runKeyOf } from '../calls/index.ts'
import {
  assert,
  deepFreeze,
  durationOf,
  Fault,
  isFault,
  type JsonObject,
  messageOf,
  millisecondsOf,
} from '../core/index.ts'
import { type LoopConfig, Recorder, type TerminationReason, type ToolDefinition } from '../events/index.ts'
import { raceDeadline } from '../world/index.ts'
import { nothingObserved, type Observed } from './observe.ts'
import { type Finished, failedWith, finished, type LoopResult, Run, type RunSetup } from './run.ts'
import { takeTurn } from './turn.ts'

const CLEANUP_MS = 22_000
/** A delegated run gives up before its parent stops waiting for it, so that their ends stand in order (10.6). */
const CHILD_CLEANUP_MS = 20_000

/** Runs the loop to its end. Never rejects for what happens in the run: the result's reason says it. */
export async function runLoop(setup: RunSetup, signal: AbortSignal): Promise<LoopResult> {
  const run = start(setup)
  const ended = await body(run, signal)
  return await end(run, ended)
}

function start(setup: RunSetup): Run {
  assert(setup.log !== undefined && setup.log !== null, 'a run has a journal')
  const { world, principal } = setup
  const startedAt = world.clock.wall()
  const startedMs = world.clock.monotonicMs()
  const tools = deepFreeze(toolsOf(setup)) // by itself: every request holds its text
  const config: LoopConfig = deepFreeze({ ...setup.config, ...(tools.length === 0 ? {} : { tool_definitions: tools }) })
  const budget = setup.budget ?? openBudget(config.max_total_tokens, world)
  const { root_id, scope, limit } = budget.snapshot()
  const trustedContext: JsonObject = deepFreeze({
    ...setup.toolbox.context(),
    ...setup.trustedContext,
    budget: { root_id, scope, limit },
  })
  const recorder = new Recorder(setup.log, principal, () => world.clock.wall())
  recorder.stage({ kind: 'Started', agent_id: principal, config, execution_context: trustedContext })
  if (setup.budget === undefined) budget.attach(recorder)
  else recorder.stage(budget.linked())
  return new Run({
    setup,
    config,
    startedAt,
    startedMs,
    deadlineMs: startedMs + millisecondsOf(config.timeout),
    budget,
    recorder,
    trustedContext,
    tools,
    messages: [...setup.messages],
  })
}

function toolsOf(setup: RunSetup): readonly ToolDefinition[] {
  const configured = setup.config.tool_definitions ?? []
  return configured.length > 0 ? configured : setup.toolbox.definitions()
}

interface Ended extends Finished {
  /** Set when the body was interrupted: then iterations and conversation are not reported. */
  readonly interrupted: boolean
}

async function body(run: Run, signal: AbortSignal): Promise<Ended> {
  const late = (): Error => new Fault('RUN_TIMEOUT', { message: 'The run reached its time limit' })
  try {
    const race = { clock: run.world.clock, deadlineMs: run.deadlineMs, late, long: true } as const
    return { ...(await raceDeadline(race, signal, (inner) => turns(run, inner))), interrupted: false }
  } catch (error) {
    if (signal.aborted) {
      run.setup.toolbox.cancelRun(runKeyOf(run.context()), run.deadlineMs)
      return { ...failedWith('the execution was cancelled'), interrupted: true }
    }
    if (isFault(error, 'RUN_TIMEOUT')) {
      run.setup.toolbox.cancelRun(runKeyOf(run.context()), run.deadlineMs)
      await run.budget.abandonOutstanding() // before the hand-over, so that the settlements are among what is staged
      return { ...finished('Timeout'), interrupted: true }
    }
    return { ...failedWith(publicReason(error)), interrupted: false }
  }
}

async function turns(run: Run, signal: AbortSignal): Promise<Finished> {
  run.setup.toolbox.validate()
  let observed: Observed | Finished = nothingObserved()
  while (observed.kind !== 'finished') observed = await takeTurn(run, observed, signal)
  return observed
}

async function end(run: Run, ended: Ended): Promise<LoopResult> {
  const recorder = run.recorder.handOver() // from here on the loser of the race writes nothing
  let reason: TerminationReason = ended.reason
  const spoil = (message: string): void => {
    reason = { Error: { message } }
  }
  const { delegates, toolbox } = run.setup
  const runKey = runKeyOf(run.context())
  // children first: their ends are recorded before this run's own (10.6)
  const children = await cleanUp(run, async () => await delegates?.cleanUp(runKey))
  if (children !== null) spoil(`the delegated runs could not be ended: ${children}`)
  const tools = await cleanUp(run, () => toolbox.cleanUp(runKey))
  if (tools !== null) spoil(`the tools could not be cleaned up: ${tools}`)
  const budget = run.budget.snapshot()
  const iterations = ended.interrupted ? 0 : recorder.iteration
  const durationMs = run.world.clock.monotonicMs() - run.startedMs
  if (recorder.lost) spoil(reasonOf(reason, 'the journal of the run could not be written'))
  else {
    try {
      await recorder.commit(
        { kind: 'BudgetUpdated', budget },
        { kind: 'Terminated', reason, iterations, total_usage: budget.usage, duration: durationOf(durationMs) },
      )
    } catch (error) {
      spoil(publicReason(error))
    }
  }
  return {
    output: reason === 'Completed' ? ended.output : '',
    iterations,
    total_usage: budget.usage,
    budget,
    termination_reason: reason,
    durationMs,
    messages: ended.interrupted ? [] : run.messages,
  }
}

/** Null when the workers of the run are gone, or why we cannot say so. */
async function cleanUp(run: Run, work: () => Promise<void>): Promise<string | null> {
  const { clock } = run.world
  const late = (): Error => new Fault('RUN_TIMEOUT', { message: 'they did not stop in time' })
  try {
    const limitMs = run.setup.budget === undefined ? CLEANUP_MS : CHILD_CLEANUP_MS
    const race = { clock, deadlineMs: clock.monotonicMs() + limitMs, late }
    await raceDeadline(race, new AbortController().signal, work)
    return null
  } catch (error) {
    return messageOf(error)
  }
}

function reasonOf(reason: TerminationReason, otherwise: string): string {
  return typeof reason === 'object' && 'Error' in reason ? reason.Error.message : otherwise
}

/** Fault messages hold no secret and no path; what a foreign error says stays out of the evidence. */
function publicReason(error: unknown): string {
  return error instanceof Fault ? error.message : 'the runtime failed and stopped the run'
}
