/**
 * The one action of the trusted host (12.4): admitted before the client's first call, with tools of its own that the client
 * never sees. Nothing that a client sends leads here. It holds no turn while it runs, so that the client can use its tools
 * meanwhile; whatever it ends with but one good observation poisons the session.
 */
import type { Toolbox } from '../calls/index.ts'
import { deepFreeze } from '../core/index.ts'
import type { LoopConfig, Observation, ProposedAction } from '../events/index.ts'
import { isIdentifier } from './broker-call.ts'
import { raceDispatch } from './calls.ts'
import { HOST_DEADLINE_PASSED, hostInterrupted, hostRefused } from './refusals.ts'
import { sameJson } from './start-checks.ts'
import type { SessionState } from './state.ts'

export async function admitHostAction(
  state: SessionState,
  toolbox: Toolbox,
  action: ProposedAction,
  signal: AbortSignal,
): Promise<readonly Observation[]> {
  toolbox.validate()
  const leave = await state.turns.take(signal)
  let over: () => void
  try {
    admit(state, toolbox, action)
    over = begin(state, toolbox)
  } finally {
    leave()
  }
  let succeeded = false
  try {
    const observations = await dispatched(state, toolbox, action, signal)
    succeeded = observations.length === 1 && observations[0]?.is_error === false
    return observations
  } finally {
    if (!succeeded) state.cancel() // before the mark is cleared: a `close` that waits for it must see the poison
    over()
  }
}

/** The checks of 12.4 in their order. A refused admission poisons nothing and uses up no id. */
function admit(state: SessionState, toolbox: Toolbox, action: ProposedAction): void {
  if (state.closing || state.stopped.aborted || state.poisoned || state.isLate())
    throw hostRefused('the session has ended')
  if (state.attempts !== 0) throw hostRefused('a call of the client was attempted before')
  if (state.host !== null) throw hostRefused('an action of the host was admitted before')
  const { trusted_context: trusted } = state.context
  const context = toolbox.context()
  if (!sameEntry(trusted.source_policy, context.source_policy)) {
    throw hostRefused("its tools must retain the session's source policy")
  }
  for (const [name, value] of Object.entries(context)) {
    if (!sameEntry(trusted[name], value)) throw hostRefused(`the session knows nothing of "${name}", or something else`)
  }
  if (!('ToolCall' in action)) throw hostRefused('it is not a tool call')
  const { call_id } = action.ToolCall
  if (!isIdentifier(call_id)) throw hostRefused('its id is not 1 to 128 letters, digits or "_-.:/"')
  if (state.seen.has(call_id)) throw hostRefused('its id was used before')
  state.seen.add(call_id)
}

/** Absent is a value: tools without a source policy do not fit a session with one, and the other way round. */
function sameEntry(known: unknown, given: unknown): boolean {
  return known === undefined || given === undefined ? known === given : sameJson(known, given)
}

function begin(state: SessionState, toolbox: Toolbox): () => void {
  const { promise, resolve } = deferred()
  state.host = toolbox
  state.hostAction = promise
  return () => {
    state.hostAction = null
    resolve()
  }
}

async function dispatched(
  state: SessionState,
  toolbox: Toolbox,
  action: ProposedAction,
  signal: AbortSignal,
): Promise<readonly Observation[]> {
  const { config } = state
  const ofHost: LoopConfig = deepFreeze({
    ...config,
    tool_definitions: structuredClone(toolbox.definitions()),
    tool_timeout: config.timeout,
  })
  const raced = await raceDispatch(state, { toolbox, action, presented: null, config: ofHost }, signal)
  switch (raced.kind) {
    case 'Done':
      return raced.value
    case 'Stopped':
      throw hostInterrupted(state.failureReason)
    case 'Late':
      state.cancelWithReason(HOST_DEADLINE_PASSED)
      throw hostInterrupted(state.failureReason)
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
