/** Histories for tests of recovery: events become a verified prefix, as the verifier would hand it over. */
import { digest, type Hash, hexHash, type Id, newId } from '../../src/core/index.ts'
import {
  DEFAULT_LOOP_CONFIG,
  type Event,
  type EventOf,
  type InferenceReservation,
  NO_USAGE,
} from '../../src/events/index.ts'
import type { VerifiedPrefix } from '../../src/journal/evidence.ts'
import { now, numbered, PRINCIPAL, REFERENCE, random } from './budget.ts'

export const FINGERPRINT: Hash = digest('call')
export const RUN_KEY = `${PRINCIPAL}:2026-03-04T10:11:11.900001Z`
export const started: Event = { kind: 'Started', agent_id: PRINCIPAL, config: DEFAULT_LOOP_CONFIG }

export function terminated(reason: EventOf<'Terminated'>['reason'] = 'Completed'): Event {
  return { kind: 'Terminated', reason, iterations: 1, total_usage: NO_USAGE, duration: { secs: 0, nanos: 1 } }
}

export interface At {
  readonly iteration: number
  readonly event: Event
}

/** An event of iteration 1, or one with its own iteration. */
export function prefix(events: readonly (Event | At)[], tailBytes = 0): VerifiedPrefix {
  const entries = events.map((given) => {
    const { iteration, event } = 'event' in given ? given : { iteration: 1, event: given }
    return { timestamp: now(), agent_id: PRINCIPAL, iteration, event }
  })
  return {
    run_id: REFERENCE.run_id,
    agent_id: PRINCIPAL,
    entries: numbered(entries),
    snapshot_sha256: hexHash('snapshot'),
    verified_bytes: 1000,
    unverified_tail_bytes: tailBytes,
  }
}

export const run = (...events: readonly (Event | At)[]): VerifiedPrefix => prefix([started, ...events, terminated()])

export function dispatch(dispatch_id = newId('dispatch', random), call_fingerprint = FINGERPRINT) {
  const start: Event = {
    kind: 'ToolDispatchStarted',
    dispatch_id,
    run_key: RUN_KEY,
    call_id: 'call-1',
    call_fingerprint,
    tool_name: 'system_health',
  }
  const finish = (is_error = false): Event => ({
    kind: 'ToolDispatchFinished',
    dispatch_id,
    observation_hash: digest('observation'),
    is_error,
  })
  return { start, finish }
}

export function toolCall(call_id: string, fingerprint: unknown = FINGERPRINT) {
  return { fingerprint, action: { ToolCall: { call_id, name: 'system_health', arguments: '{}' } } } as never
}

export function approved(iteration: number, ...calls: readonly never[]): At {
  const event: Event = {
    kind: 'PolicyEvaluated',
    iteration,
    action_count: calls.length,
    denied_count: 0,
    approved_calls: calls,
  }
  return { iteration, event }
}

export const ROOT: Id<'root'> = newId('root', random)

export function opened(limit = 1000, root_id = ROOT): Event {
  return { kind: 'BudgetOpened', root_id, limit }
}

/** A reservation of 10 + 40 tokens in the root of 1000, unless told otherwise. */
export function reservation(parts: Partial<InferenceReservation> = {}) {
  const record: InferenceReservation = {
    id: newId('reservation', random),
    root_id: ROOT,
    ancestors: [{ scope: 0, parent: null, limit: 1000 }],
    input_tokens: 10,
    output_tokens: 40,
    agent_id: PRINCIPAL,
    audit: REFERENCE,
    iteration: 0,
    provider: 'scripted',
    model: 'demo',
    request_hash: digest('request'),
    request_bytes: 7,
    ...parts,
  }
  const start: Event = { kind: 'BudgetReservationStarted', reservation: record }
  const finish = (
    outcome: EventOf<'BudgetReservationFinished'>['outcome'],
    usage = NO_USAGE,
    root_id = record.root_id,
  ): Event => ({ kind: 'BudgetReservationFinished', root_id, reservation_id: record.id, usage, outcome })
  return { record, start, finish }
}
