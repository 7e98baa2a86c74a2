/**
 * What a session says when it refuses, and the diagnostics that it keeps for its terminal record. Diagnostics are constants
 * of the runtime: nothing that a client, a tool or an upstream said is ever copied into them (12.5).
 */
import { Fault } from '../core/index.ts'

export const DEADLINE_PASSED = 'broker session deadline expired'
export const HOST_DEADLINE_PASSED = 'the deadline of the session passed during the action of its host'
export const EFFECTS_UNCONFIRMED = 'the effects of a tool call are unconfirmed, and reconciliation is required'
export const RUN_NOT_COMPLETED = 'the run of an identified call did not complete: its journal says why'
export const OPENER_GONE = 'whoever opened the session went away before it began'
export const SESSION_ENDED = 'the session that made the call has ended'
export const NO_ANSWER = 'the call of the run came to no answer'
export const NOT_CLEAN = 'the session was interrupted or failed: inspect the recorded outcomes of its calls'

const OPEN_ANOTHER = 'Open a new session'
const INSPECT = 'Look at what is recorded with "symbi audit show" before the call is made again'

export function closed(): Fault {
  return new Fault('TOOL_SESSION_CLOSED', {
    message: 'Cannot make the call: the tool session is closed',
    hint: OPEN_ANOTHER,
  })
}

export function expired(): Fault {
  return new Fault('TOOL_SESSION_EXPIRED', {
    message: 'Cannot make the call: the tool session has expired',
    hint: OPEN_ANOTHER,
  })
}

export function spent(callsMax: number): Fault {
  return new Fault('TOOL_SESSION_SPENT', {
    message: `Cannot make the call: the tool session has used up its ${callsMax} calls`,
    hint: OPEN_ANOTHER,
    facts: { callsMax },
  })
}

export function registryChanged(): Fault {
  return new Fault('TOOL_SESSION_CHANGED', {
    message: 'Cannot make the call: the tools are no longer those that the session was opened with',
    hint: OPEN_ANOTHER,
  })
}

export function idUsed(callId: string): Fault {
  return new Fault('CALL_ID_USED', {
    message: `Cannot make the call: its id "${callId}" was used before in this session`,
    hint: 'Give every call an id of its own, also one that asks for the same again',
  })
}

export function callInterrupted(): Fault {
  return new Fault('CALL_UNCONFIRMED', {
    message: 'Cannot answer the call: the session was cancelled, and its completion is unconfirmed',
    hint: INSPECT,
  })
}

export function callExpired(): Fault {
  return new Fault('CALL_UNCONFIRMED', {
    message: 'Cannot answer the call: the session expired, and its completion is unconfirmed',
    hint: INSPECT,
  })
}

export function ambiguous(): Fault {
  return new Fault('CALL_UNCONFIRMED', {
    message: 'Cannot answer the call: its result is ambiguous, and its completion is unconfirmed',
    hint: INSPECT,
  })
}

export function hostRefused(reason: string): Fault {
  return new Fault('HOST_ACTION_REFUSED', {
    message: `Cannot admit the action of the host: ${reason}`,
    hint: 'A session admits one tool call of its host, before the first call of its client',
  })
}

export function hostInterrupted(diagnostic: string | null): Fault {
  return new Fault('CALL_UNCONFIRMED', {
    message: `Cannot answer the host: ${diagnostic ?? 'the session was interrupted'}, and completion is unconfirmed`,
    hint: INSPECT,
  })
}

export function notRecordable(): Fault {
  return new Fault('TOOL_SESSION_CLOSED', {
    message: 'Cannot record the effect of the host: the tool session takes no new effects',
    hint: OPEN_ANOTHER,
  })
}

export function notClean(why: string, cause?: unknown): Fault {
  return new Fault('TOOL_SESSION_FAILED', {
    message: `Cannot end the tool session cleanly: ${why}`,
    hint: 'Inspect its journal with "symbi audit show"',
    cause,
  })
}
