/**
 * The end of a session (12.6): everybody is told to stop, the tools are waited for, and only then the end is recorded. A
 * session that was interrupted, or whose tools cannot be shown to be gone, never records that it completed (laws 3 and 6).
 */
import type { Toolbox } from '../calls/index.ts'
import { durationOf, Fault, messageOf } from '../core/index.ts'
import { type EventOf, NO_USAGE, type TerminationReason } from '../events/index.ts'
import { neverStopped, raceDeadline } from '../world/index.ts'
import { NOT_CLEAN, notClean } from './refusals.ts'
import type { SessionState } from './state.ts'

const CLEANUP_MS = 22_000
const RECORD_MS = 5_000

/** Resolves when the session completed and that is durable. Everything else is told in the order of 12.6. */
export async function endSession(state: SessionState): Promise<void> {
  if (state.isLate()) state.cancel() // before it is stopped, so that the diagnostic of the deadline applies
  state.stop()
  while (state.hostAction !== null) await state.hostAction
  const leave = await state.turns.take(neverStopped())
  try {
    if (state.closing) throw notClean('it was closed before')
    state.closing = true
    const tools = await cleanUp(state, state.setup.toolbox)
    const host = state.host === null ? null : await cleanUp(state, state.host)
    const left = tools ?? host
    if (state.hostEffects.size > 0) state.cancel() // its host is in the middle of an effect, which may be done or not
    const failed = state.poisoned || left !== null
    const reason: TerminationReason = failed ? { Error: { message: state.failureReason ?? NOT_CLEAN } } : 'Completed'
    const unrecorded = await record(state, reason)
    if (unrecorded?.kind === 'Late') throw notClean('its end could not be recorded in time')
    if (left !== null) throw notClean(`its tools could not be cleaned up: ${messageOf(left.error)}`, left.error)
    if (unrecorded?.kind === 'Failed') throw unrecorded.error
    if (failed) throw notClean(state.failureReason ?? NOT_CLEAN)
  } finally {
    leave()
  }
}

type Left = { readonly error: unknown }

/** Null when the workers of the session are gone, or why we cannot say so. */
async function cleanUp(state: SessionState, toolbox: Toolbox): Promise<Left | null> {
  try {
    await within(state, CLEANUP_MS, () => toolbox.cleanUp(state.runKey))
    return null
  } catch (error) {
    return { error }
  }
}

type Unrecorded = { readonly kind: 'Late' } | { readonly kind: 'Failed'; readonly error: unknown }

async function record(state: SessionState, reason: TerminationReason): Promise<Unrecorded | null> {
  const { clock } = state.setup.world
  const { ageMs = 0 } = state.setup
  const end: EventOf<'Terminated'> = {
    kind: 'Terminated',
    reason,
    iterations: state.attempts,
    total_usage: NO_USAGE,
    duration: durationOf(ageMs + clock.monotonicMs() - state.startedMs),
  }
  let late = false
  try {
    await within(
      state,
      RECORD_MS,
      () => recordAll(state, end),
      () => (late = true),
    )
    state.termination = reason
    return null
  } catch (error) {
    return late ? { kind: 'Late' } : { kind: 'Failed', error }
  } finally {
    state.log.end()
  }
}

/** What interrupted calls knew comes first. If it cannot be written, the end is written all the same. */
async function recordAll(state: SessionState, end: EventOf<'Terminated'>): Promise<void> {
  for (const known of state.leftovers) await known.commit().catch(() => undefined)
  await state.recorder().commit(end)
}

async function within(
  { setup: { world } }: SessionState,
  ms: number,
  work: () => Promise<void>,
  onLate = (): unknown => undefined,
): Promise<void> {
  const late = (): Error => {
    onLate()
    return new Fault('RUN_TIMEOUT', { message: 'they did not stop in time' })
  }
  await raceDeadline({ clock: world.clock, deadlineMs: world.clock.monotonicMs() + ms, late }, neverStopped(), work)
}
