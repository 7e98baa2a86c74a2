/**
 * Circuit breakers: after several failures in a row a tool is left alone for a while, then tried carefully. A breaker only
 * refuses; it never retries, and never stands in for policy.
 *
 * Owns the state machine and the registry of one breaker a tool name. Leaves to the toolbox what counts as a failure. Time
 * is the monotonic clock, handed in.
 */
import { assert, Bug, Fault } from '../core/index.ts'
import type { Clock } from '../world/index.ts'

export interface BreakerLimits {
  /** Failures in a row that open a breaker. */
  readonly failureThreshold: number
  /** How long an open breaker refuses. */
  readonly recoveryMs: number
  /** Calls that may be on trial at once when that time is over. */
  readonly trialsMax: number
}

export const BREAKER_LIMITS: BreakerLimits = Object.freeze({ failureThreshold: 5, recoveryMs: 30_000, trialsMax: 2 })

export type BreakerState =
  | { readonly kind: 'Closed'; readonly failures: number }
  | { readonly kind: 'Open'; readonly failures: number; readonly sinceMs: number }
  /** `trials` are the permits of the calls that are being tried. */
  | { readonly kind: 'HalfOpen'; readonly failures: number; readonly trials: readonly number[] }

/** What happens to one permit. `Abandoned`: it ended without saying anything about the tool, as when its run was cancelled. */
export type BreakerEvent =
  | { readonly kind: 'Admitted'; readonly permit: number; readonly nowMs: number }
  | { readonly kind: 'Succeeded'; readonly permit: number }
  | { readonly kind: 'Failed'; readonly permit: number; readonly nowMs: number }
  | { readonly kind: 'Abandoned'; readonly permit: number }

export const CLOSED: BreakerState = Object.freeze({ kind: 'Closed', failures: 0 })

/** How long the next call must wait, or null when it may be admitted now. Zero: as soon as a trial has ended. */
export function waitOf(state: BreakerState, nowMs: number, limits: BreakerLimits): number | null {
  switch (state.kind) {
    case 'Closed':
      return null
    case 'Open': {
      const waitMs = state.sinceMs + limits.recoveryMs - nowMs
      return waitMs > 0 ? waitMs : null
    }
    case 'HalfOpen':
      return state.trials.length < limits.trialsMax ? null : 0
  }
}

export function next(state: BreakerState, event: BreakerEvent, limits: BreakerLimits): BreakerState {
  switch (event.kind) {
    case 'Admitted':
      return admitted(state, event.permit, event.nowMs, limits)
    case 'Succeeded': // even a call that was admitted before the breaker opened shows that the tool works
      return CLOSED
    case 'Failed':
      return failed(state, event.nowMs, limits)
    case 'Abandoned':
      if (state.kind !== 'HalfOpen') return state
      return { ...state, trials: state.trials.filter((permit) => permit !== event.permit) }
  }
}

function admitted(state: BreakerState, permit: number, nowMs: number, limits: BreakerLimits): BreakerState {
  if (waitOf(state, nowMs, limits) !== null) throw new Bug(`a breaker that is ${state.kind} admits nothing now`)
  if (state.kind === 'Closed') return state
  // The call that finds the recovery time over is the first trial itself.
  const trials = state.kind === 'Open' ? [permit] : [...state.trials, permit]
  return { kind: 'HalfOpen', failures: state.failures, trials }
}

function failed(state: BreakerState, nowMs: number, limits: BreakerLimits): BreakerState {
  const failures = state.failures + 1
  if (state.kind === 'Open') return { ...state, failures } // a late failure tells nothing new, so the time runs on
  if (state.kind === 'Closed' && failures < limits.failureThreshold) return { kind: 'Closed', failures }
  return { kind: 'Open', failures, sinceMs: nowMs }
}

export type PermitOutcome = Exclude<BreakerEvent['kind'], 'Admitted'>

export type Admittance =
  /** Settle it once, when the call has ended. */
  | { readonly kind: 'Admitted'; settle(outcome: PermitOutcome): void }
  | { readonly kind: 'Refused'; readonly tool: string; readonly failures: number; readonly waitMs: number }

/** One breaker for each tool name. Its owner decides how far it reaches: one toolbox, one run, one process. */
export interface Breakers {
  ask(tool: string): Admittance
  stateOf(tool: string): BreakerState
}

export function openBreakers(clock: Pick<Clock, 'monotonicMs'>, limits: BreakerLimits = BREAKER_LIMITS): Breakers {
  checkLimits(limits)
  const states = new Map<string, BreakerState>()
  let permits = 0
  const stateOf = (tool: string): BreakerState => states.get(tool) ?? CLOSED
  return {
    stateOf,
    ask(tool) {
      const nowMs = clock.monotonicMs()
      const state = stateOf(tool)
      const waitMs = waitOf(state, nowMs, limits)
      if (waitMs !== null) return { kind: 'Refused', tool, failures: state.failures, waitMs }
      permits += 1
      const permit = permits
      states.set(tool, next(state, { kind: 'Admitted', permit, nowMs }, limits))
      let settled = false
      return {
        kind: 'Admitted',
        settle(outcome) {
          assert(!settled, 'a permit is settled once')
          settled = true
          states.set(tool, next(stateOf(tool), { kind: outcome, permit, nowMs: clock.monotonicMs() }, limits))
        },
      }
    },
  }
}

function checkLimits({ failureThreshold, recoveryMs, trialsMax }: BreakerLimits): void {
  const whole = (value: number): boolean => Number.isSafeInteger(value) && value >= 1
  if (whole(failureThreshold) && whole(trialsMax) && Number.isFinite(recoveryMs) && recoveryMs >= 0) return
  throw new Fault('CONFIG_INVALID', {
    message: 'Cannot open circuit breakers: a limit is not usable',
    hint: 'Give failureThreshold and trialsMax as whole numbers from 1, and recoveryMs as a finite number from 0',
  })
}
