/**
 * One admitted turn: run the loop over the conversation, record the result, and say what the client is told last. The
 * final message exists only after the result is durable and the claim is released (4.7, 11.6).
 */
import { Fault, type InvocationId, type Json } from '../core/index.ts'
import { type ClaimOwner, runOnce } from '../invocations/index.ts'
import { streamingLog } from '../journal/index.ts'
import { type LoopResult, runLoop } from '../loop/index.ts'
import type { History } from './history.ts'
import type { ServerMessage } from './messages.ts'
import { errorMessage } from './problems.ts'
import { finalMessage, savedResultOf, unresolved } from './saved-result.ts'
import type { Shared } from './shared.ts'
import { turnEvents } from './turn-events.ts'

export interface Turn {
  readonly frame: { readonly id: InvocationId; readonly requestId: string; readonly content: string }
  readonly owner: ClaimOwner
  readonly history: History
  /** Must not wait. */
  readonly offer: (message: ServerMessage) => void
}

/** Runs the turn to its record and releases the claim, whatever happens. Gives the final message. */
export async function runTurn(shared: Shared, turn: Turn, signal: AbortSignal): Promise<ServerMessage> {
  const { requestId, content } = turn.frame
  let messages: ReturnType<History['begin']>
  try {
    messages = turn.history.begin(content)
  } catch (error) {
    await turn.owner.release()
    if (error instanceof Fault) return errorMessage(requestId, error)
    throw error
  }
  const eventsOf = turnEvents(requestId)
  let result: LoopResult | null = null
  const ended = shared.activity.runStarted()
  try {
    const finished = await runOnce(turn.owner, async (log) => {
      const observed = streamingLog(log, (entry) => {
        for (const message of eventsOf(entry)) turn.offer(message)
      })
      const { world, principal, provider, gate, toolbox, delegates, config } = shared
      const setup = { world, principal, provider, gate, toolbox, config, log: observed, messages }
      result = await runLoop(delegates === null ? setup : { ...setup, delegates }, signal)
      return savedResultOf(result) as unknown as Json
    })
    if (finished.kind === 'Unresolved') {
      ended('unresolved')
      return errorMessage(requestId, unresolved())
    }
    const { output, termination_reason } = result as unknown as LoopResult
    const completed = termination_reason === 'Completed'
    ended(completed ? 'succeeded' : 'failed')
    if (completed) turn.history.complete(output)
    return finalMessage(requestId, savedResultOf({ output, termination_reason }) as unknown as Json, false)
  } catch (error) {
    ended('unresolved')
    shared.report('the result of a turn could not be recorded', error)
    return errorMessage(
      requestId,
      new Fault('LOOP_ERROR', {
        message: 'The run ended, but its result could not be recorded',
        hint: 'Inspect the invocation with "symbi invocation inspect"; it does not run again',
      }),
    )
  }
}
