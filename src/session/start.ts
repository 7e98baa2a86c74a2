/** The beginning of a session: nobody is let in before `Started` is durable (12.2). */
import { Fault } from '../core/index.ts'
import { raceDeadline } from '../world/index.ts'
import { expired } from './refusals.ts'
import type { SessionState } from './state.ts'

const RECORD_MS = 10_000

export async function begin(state: SessionState, signal: AbortSignal): Promise<void> {
  const { world, principal } = state.setup
  if (state.isLate()) throw expired()
  const recorder = state.recorder()
  const { config, trusted_context } = state.context
  const deadlineMs = Math.min(state.deadlineMs, world.clock.monotonicMs() + RECORD_MS)
  try {
    await raceDeadline({ clock: world.clock, deadlineMs, late }, signal, () =>
      recorder.commit({ kind: 'Started', agent_id: principal, config, execution_context: trusted_context }),
    )
  } catch (error) {
    state.log.end()
    state.stop()
    throw error
  }
}

function late(): Fault {
  return new Fault('JOURNAL_FAILED', {
    message: 'Cannot open the tool session: its start could not be recorded in time',
    hint: 'Look at the disk; what was written is kept as evidence',
  })
}
