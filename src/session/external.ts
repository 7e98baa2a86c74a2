/**
 * Effects of the trusted host outside the dispatcher: it says so in the session's journal before and after, and holds a
 * guard meanwhile. A guard that is released before it was completed poisons the session, because nobody knows what happened.
 */
import { assert } from '../core/index.ts'
import type { Event } from '../events/index.ts'
import { callExpired, callInterrupted, notRecordable } from './refusals.ts'
import type { SessionState } from './state.ts'

export interface ExternalGuard extends Disposable {
  /** The effect is over, and everything about it is known. */
  complete(): void
  /** Without `complete` before it, the session is poisoned. Again does nothing. */
  release(): void
}

export function externalGuard(state: SessionState): ExternalGuard {
  const effect = {} // nobody knows yet what came of it
  state.hostEffects.add(effect)
  const release = (): void => {
    if (state.hostEffects.delete(effect)) state.cancel()
  }
  return {
    complete: () => void state.hostEffects.delete(effect),
    release,
    [Symbol.dispose]: release,
  }
}

/** Makes one entry durable, in turn with the calls. Whoever stops waiting for it does not know: that poisons. */
export async function recordExternal(state: SessionState, event: Event, signal: AbortSignal): Promise<void> {
  assert(
    event.kind !== 'Started' && event.kind !== 'Terminated',
    'only the session itself records its start and its end',
  )
  const leave = await state.turns.take(signal)
  try {
    if (state.closing || state.poisoned || state.stopped.aborted || state.isLate()) throw notRecordable()
    const recorder = state.recorder()
    let raced: Awaited<ReturnType<typeof state.race<void>>>
    try {
      raced = await state.race(signal, () => recorder.commit(event))
    } catch (error) {
      if (signal.aborted) state.cancel()
      throw error
    }
    if (raced.kind === 'Done') return
    state.cancel()
    throw raced.kind === 'Late' ? callExpired() : callInterrupted()
  } finally {
    leave()
  }
}
