/** The beginning of a session: nobody is let in before `Started` is durable (12.2). */
import { Fault } from '../core/index.ts'
import { neverStopped, raceDeadline } from '../world/index.ts'
import { endSession } from './ending.ts'
import { expired, OPENER_GONE } from './refusals.ts'
import type { SessionState } from './state.ts'

const RECORD_MS = 10_000

/**
 * A start that is being written is never given up: it may be on disk already. An opener who went away meanwhile gets no
 * session, and the record says that it ended before anybody was let in.
 */
export async function begin(state: SessionState, signal: AbortSignal): Promise<void> {
  const { world, principal } = state.setup
  if (state.isLate()) throw expired()
  const recorder = state.recorder()
  const { config, trusted_context } = state.context
  const deadlineMs = Math.min(state.deadlineMs, world.clock.monotonicMs() + RECORD_MS)
  try {
    signal.throwIfAborted()
    await raceDeadline({ clock: world.clock, deadlineMs, late }, neverStopped(), () =>
      recorder.commit({ kind: 'Started', agent_id: principal, config, execution_context: trusted_context }),
    )
  } catch (error) {
    state.log.end()
    state.stop()
    throw error
  }
  if (!signal.aborted) return
  state.cancelWithReason(OPENER_GONE)
  await endSession(state).catch(() => undefined) // its end is what its journal says
  throw signal.reason
}

function late(): Fault {
  return new Fault('JOURNAL_FAILED', {
    message: 'Cannot open the tool session: its start could not be recorded in time',
    hint: 'Look at the disk; what was written is kept as evidence',
  })
}
