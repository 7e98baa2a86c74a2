/**
 * One call of the client, in the order of 12.3. It waits for its turn, is counted, checked, and dispatched through policy,
 * intent, effect and receipt like every other call. What leaves this road between the check of its id and a delivered
 * observation poisons the session: nobody could say any more what the client knows.
 */
import type { Toolbox } from '../calls/index.ts'
import { dispatchBatch } from '../dispatch/index.ts'
import { isUnconfirmed, type LoopConfig, type Observation, type ProposedAction } from '../events/index.ts'
import { argumentsOf, type BrokerCall } from './broker-call.ts'
import {
  ambiguous,
  callExpired,
  callInterrupted,
  closed,
  EFFECTS_UNCONFIRMED,
  expired,
  idUsed,
  registryChanged,
  spent,
} from './refusals.ts'
import type { Raced, SessionState } from './state.ts'

export async function makeCall(
  state: SessionState,
  call: BrokerCall,
  presented: string | null,
  signal: AbortSignal,
): Promise<Observation> {
  return await inTurn(state, call, signal, (action) =>
    orPoison(state, async () => {
      const observation = await dispatched(state, action, presented, signal)
      if (isUnconfirmed(observation)) state.cancelWithReason(EFFECTS_UNCONFIRMED)
      return observation
    }),
  )
}

export type CallAction = Extract<ProposedAction, { readonly ToolCall: unknown }>

/**
 * The checks before a call may do anything, and the turn in which it does it. Every attempt counts, and an id stays used
 * whatever becomes of its call: no earlier grant is ever met again.
 */
export async function inTurn<T>(
  state: SessionState,
  call: BrokerCall,
  signal: AbortSignal,
  work: (action: CallAction) => Promise<T>,
): Promise<T> {
  const leave = await enter(state, signal)
  try {
    if (state.closing || state.poisoned) throw closed()
    if (state.attempts >= state.config.max_iterations) {
      state.cancel()
      throw spent(state.config.max_iterations)
    }
    state.attempts += 1
    const { call_id, name, arguments: args } = call // read once: what is checked is what is judged
    const action: CallAction = {
      ToolCall: { call_id, name, arguments: argumentsOf({ call_id, name, arguments: args }) },
    }
    if (state.seen.has(call_id)) throw idUsed(call_id)
    state.seen.add(call_id)
    await orPoison(state, async () => {
      if (!state.checked.registry.isUnchanged()) throw registryChanged()
    })
    return await work(action)
  } finally {
    leave()
  }
}

/** Stopped first, then late, then the turn. A caller who goes away while it waits was never there. */
async function enter(state: SessionState, signal: AbortSignal): Promise<() => void> {
  refuseEnded(state)
  signal.throwIfAborted()
  const now = state.turns.takeNow()
  if (now !== null) return now
  const waiting = new AbortController()
  const give = (): void => waiting.abort()
  const deaf = state.onStop(give)
  signal.addEventListener('abort', give, { once: true })
  const { clock } = state.setup.world
  const stopTimer = clock.timer(state.deadlineMs - clock.monotonicMs(), give)
  let leave: (() => void) | null = null
  try {
    leave = await state.turns.take(waiting.signal)
    refuseEnded(state)
    signal.throwIfAborted()
    return leave
  } catch (error) {
    leave?.()
    refuseEnded(state)
    signal.throwIfAborted()
    throw error
  } finally {
    stopTimer()
    deaf()
    signal.removeEventListener('abort', give)
  }
}

export function refuseEnded(state: SessionState): void {
  if (state.stopped.aborted) throw closed()
  if (!state.isLate()) return
  state.cancel()
  throw expired()
}

async function dispatched(
  state: SessionState,
  action: ProposedAction,
  presented: string | null,
  signal: AbortSignal,
): Promise<Observation> {
  state.iteration = state.attempts - 1
  const raced = await raceDispatch(state, { toolbox: state.setup.toolbox, action, presented }, signal)
  if (raced.kind === 'Stopped') throw callInterrupted()
  if (raced.kind === 'Late') throw callExpired()
  const [observation, ...others] = raced.value
  if (observation === undefined || others.length > 0) throw ambiguous()
  return observation
}

export interface Dispatch {
  readonly toolbox: Toolbox
  readonly action: ProposedAction
  readonly presented: string | null
  /** Of the session by default. */
  readonly config?: LoopConfig
}

/** Through policy, intent, effect and receipt. Whoever does not come back in time is fenced before anybody is told. */
export async function raceDispatch(
  state: SessionState,
  { toolbox, action, presented, config = state.config }: Dispatch,
  signal: AbortSignal,
): Promise<Raced<readonly Observation[]>> {
  const { world, gate, session = state.binding } = state.setup
  const recorder = state.recorder()
  const offered = config.tool_definitions ?? []
  const scope = { world, recorder, toolbox, gate, offered, deadlineMs: state.deadlineMs, presented, session }
  let done = false
  try {
    const run = state.contextNow(config)
    const raced = await state.race(signal, (inner) => dispatchBatch(scope, [action], run, inner))
    done = raced.kind === 'Done'
    return raced
  } finally {
    if (!done) state.fence(recorder)
  }
}

/** What throws here leaves the session poisoned, and with its reason if it has one. */
export async function orPoison<T>(state: SessionState, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    state.cancel()
    throw error
  }
}
