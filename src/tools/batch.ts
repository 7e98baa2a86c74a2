/**
 * One batch of authorised calls, in order, one observation each.
 *
 * Once a call of the batch did not succeed, the calls behind it are not started: its outcome will be unconfirmed, and a run
 * starts no further effect then (law 4). Nothing is retried. Marking outcomes as known or unknown is left to dispatch.
 */
import { type AuthorisedCall, callIdOf, type ExecutionScope, sourceOf } from '../calls/index.ts'
import { assert, Bug, isFault, messageOf } from '../core/index.ts'
import type { Observation } from '../events/index.ts'
import type { Clock } from '../world/index.ts'
import type { Breakers, PermitOutcome } from './breaker.ts'
import type { Tool, ToolAnswer } from './tool.ts'
import type { Workers, WorkOutcome } from './workers.ts'

export interface Means {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly breakers: Breakers
  readonly workers: Workers
  readonly toolOf: (name: string) => Tool | undefined
  readonly resultBytesMax: number
}

export async function performBatch(
  calls: readonly AuthorisedCall[],
  scope: ExecutionScope,
  means: Means,
  signal: AbortSignal,
): Promise<readonly Observation[]> {
  const observations: Observation[] = []
  let roomBytes = means.resultBytesMax
  for (const call of calls) {
    const hindrance = observations.at(-1)?.is_error
      ? failure(call, 'The call was not started: a call before it did not succeed', 'not_started')
      : hindranceOf(call, scope, means, signal)
    const observation = hindrance ?? (await perform(call, scope, means, roomBytes, signal))
    roomBytes -= jsonBytes(observation.content)
    observations.push(observation)
  }
  return observations
}

function hindranceOf(
  call: AuthorisedCall,
  scope: ExecutionScope,
  means: Means,
  signal: AbortSignal,
): Observation | null {
  if (means.clock.monotonicMs() >= scope.deadlineMs) {
    return failure(call, 'The call was not started: its deadline had passed', 'timeout')
  }
  return signal.aborted ? failure(call, 'The call was not started: its run was cancelled', 'not_started') : null
}

async function perform(
  authorised: AuthorisedCall,
  scope: ExecutionScope,
  means: Means,
  roomBytes: number,
  signal: AbortSignal,
): Promise<Observation> {
  const { action, arguments: args } = authorised.call
  const name = sourceOf(action)
  const tool = means.toolOf(name)
  assert('ToolCall' in action && args !== null && tool !== undefined, 'a toolbox executes the tool calls it prepared')

  const admittance = means.breakers.ask(name)
  if (admittance.kind === 'Refused') {
    const { failures, waitMs } = admittance
    const when = waitMs === 0 ? 'trial calls are still running' : `it may be tried again in ${Math.ceil(waitMs)} ms`
    return failure(
      authorised,
      `The circuit breaker of "${name}" is open after ${failures} failures in a row: ${when}`,
      'circuit_open',
    )
  }
  const outcome = await means.workers.perform(
    scope.runKey,
    async (stop) =>
      tool.run(args, { signal: stop, effects: scope.effectsOf(authorised), deadlineMs: scope.deadlineMs }),
    signal,
  )
  const { observation, settled } = judge(authorised, outcome, scope, means, roomBytes)
  admittance.settle(settled)
  if (outcome.kind === 'Threw' && outcome.error instanceof Bug) throw outcome.error // our own promise broke: no answer fits
  return observation
}

type Judged = { readonly observation: Observation; readonly settled: PermitOutcome }

function judge(
  call: AuthorisedCall,
  outcome: WorkOutcome<ToolAnswer>,
  scope: ExecutionScope,
  means: Means,
  roomBytes: number,
): Judged {
  switch (outcome.kind) {
    case 'Done':
      return judgeAnswer(call, outcome.value, roomBytes)
    case 'Threw':
      return { observation: failure(call, errorText(outcome.error)), settled: 'Failed' }
    case 'Stopped': {
      const late = isFault(outcome.reason, 'RUN_TIMEOUT') || means.clock.monotonicMs() >= scope.deadlineMs
      const why = late ? 'its deadline passed' : 'its run was cancelled'
      return {
        observation: failure(
          call,
          `The call was interrupted and may have taken effect: ${why}`,
          late ? 'timeout' : null,
        ),
        settled: late ? 'Failed' : 'Abandoned', // a cancelled call says nothing about the tool
      }
    }
  }
}

function judgeAnswer(call: AuthorisedCall, answer: ToolAnswer, roomBytes: number): Judged {
  const said = partsOf(answer)
  if (said === null) return flawed(call, 'it did not answer with text')
  const bytes = jsonBytes(said.content)
  if (bytes > roomBytes) {
    return flawed(call, `its answer of ${bytes} bytes is more than the ${roomBytes} left for this batch`)
  }
  if (!said.content.isWellFormed()) return flawed(call, 'its answer is not well-formed Unicode')
  const { content, is_error, not_done } = said
  const metadata = not_done && !is_error ? { metadata: { tool_outcome: 'not_done' } } : {}
  return {
    observation: { ...labelOf(call), content, is_error, ...metadata },
    settled: said.is_error ? 'Failed' : 'Succeeded',
  }
}

function flawed(call: AuthorisedCall, state: string): Judged {
  return { observation: failure(call, `The tool ran, but ${state}`), settled: 'Failed' }
}

/** Null for what is no answer: a tool may forget to return one, and a member of it may throw when it is read. */
function partsOf(answer: ToolAnswer): Exclude<ToolAnswer, string> | null {
  if (typeof answer === 'string') return { content: answer, is_error: false }
  try {
    const { content, is_error, not_done = false } = answer
    const fits = typeof content === 'string' && typeof is_error === 'boolean' && typeof not_done === 'boolean'
    return fits ? { content, is_error, not_done } : null
  } catch {
    return null
  }
}

type ErrorType = 'circuit_open' | 'not_started' | 'timeout'

function failure(call: AuthorisedCall, content: string, errorType: ErrorType | null = null): Observation {
  const observation = { ...labelOf(call), content, is_error: true }
  return errorType === null ? observation : { ...observation, metadata: { error_type: errorType } }
}

function labelOf({ call }: AuthorisedCall): { readonly source: string; readonly call_id: string } {
  const call_id = callIdOf(call.action)
  assert(call_id !== null, 'a tool call has an id')
  return { source: sourceOf(call.action), call_id }
}

const ERROR_CHARACTERS_MAX = 4096

/** What was thrown is foreign text: it is brought into a form that a journal can hold. */
function errorText(error: unknown): string {
  return messageOf(error).slice(0, ERROR_CHARACTERS_MAX).toWellFormed()
}

/** The bytes a text takes in a journal entry, escapes included. A text that is far too long is not escaped to find out. */
function jsonBytes(text: string): number {
  return text.length > LENGTH_ESCAPED_MAX ? text.length : Buffer.byteLength(JSON.stringify(text))
}
const LENGTH_ESCAPED_MAX = 16 * 1024 * 1024
