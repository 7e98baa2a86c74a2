/**
 * Activity: what this process is doing, counted. The runtime tells it when runs and connections begin and end; health,
 * metrics and agent status read it. It only counts: it holds no run, decides nothing, and can never stop one.
 */
import type { Timestamp } from '../core/index.ts'
import type { Clock } from '../world/index.ts'

/** `unresolved`: nobody can prove how it ended. It is not counted as failed (law 3). */
export type RunOutcome = 'succeeded' | 'failed' | 'unresolved'

export interface Activity {
  /** A run began. Call what it returns with the outcome; only the first call counts. */
  runStarted(): (outcome: RunOutcome) => void
  /** A connection opened. Call what it returns when it is gone; only the first call counts. */
  connectionOpened(): () => void
  read(): ActivityReading
}

export type ActivityReading = {
  readonly runs_started: number
  readonly runs_succeeded: number
  readonly runs_failed: number
  readonly runs_unresolved: number
  readonly runs_active: number
  readonly connections: number
  /** When a run last began or ended; before the first one, when counting began. */
  readonly last_activity: Timestamp
}

export function countActivity(clock: Clock): Activity {
  const ended: Record<RunOutcome, number> = { succeeded: 0, failed: 0, unresolved: 0 }
  let started = 0
  let connections = 0
  let lastActivity = clock.wall()
  return {
    runStarted() {
      started += 1
      lastActivity = clock.wall()
      return once((outcome: RunOutcome) => {
        ended[outcome] += 1
        lastActivity = clock.wall()
      })
    },
    connectionOpened() {
      connections += 1
      return once(() => {
        connections -= 1
      })
    },
    read: () => ({
      runs_started: started,
      runs_succeeded: ended.succeeded,
      runs_failed: ended.failed,
      runs_unresolved: ended.unresolved,
      runs_active: started - ended.succeeded - ended.failed - ended.unresolved,
      connections,
      last_activity: lastActivity,
    }),
  }
}

/** Releases are idempotent, because several ways out of a run may meet. */
function once<A extends readonly unknown[]>(action: (...args: A) => void): (...args: A) => void {
  let done = false
  return (...args) => {
    if (done) return
    done = true
    action(...args)
  }
}
