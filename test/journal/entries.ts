/** Entries that the journal's tests write: one of each kind that a rule looks at. */
import { type AgentId, GENESIS, type Hash, type Id, parseId, type RunId, type Timestamp } from '../../src/core/index.ts'
import { DEFAULT_LOOP_CONFIG, type Event, type NewEntry, NO_USAGE } from '../../src/events/index.ts'
import { AGENT, OTHER_AGENT, OTHER_RUN, RUN } from '../support/journal-maker.ts'

export const principal = parseId('agent', AGENT)
export const otherPrincipal = parseId('agent', OTHER_AGENT)
export const runId = parseId('run', RUN)
export const otherRunId = parseId('run', OTHER_RUN)

const HASH = `sha256:${GENESIS}` as Hash
const SOME_ID = RUN as string

export function entry(event: Event, agent: AgentId = principal): NewEntry {
  return { timestamp: '2026-03-04T10:11:12.131415Z' as Timestamp, agent_id: agent, iteration: 1, event }
}

export const started: Event = { kind: 'Started', agent_id: principal, config: DEFAULT_LOOP_CONFIG }
export const output = (text: string): Event => ({ kind: 'ImprovementOutput', output: text })
export const intent: Event = {
  kind: 'ToolDispatchStarted',
  dispatch_id: SOME_ID as Id<'dispatch'>,
  run_key: `${AGENT}:1`,
  call_id: 'call',
  call_fingerprint: HASH,
  tool_name: 'system_health',
}
export const receipt = (isError: boolean): Event => ({
  kind: 'ToolDispatchFinished',
  dispatch_id: SOME_ID as Id<'dispatch'>,
  observation_hash: HASH,
  is_error: isError,
})
export const terminated: Event = {
  kind: 'Terminated',
  reason: 'UnconfirmedEffects',
  iterations: 1,
  total_usage: NO_USAGE,
  duration: { secs: 1, nanos: 0 },
}

const networkStarted: Event = {
  kind: 'ToolEffect',
  run_key: 'k',
  call_fingerprint: HASH,
  effect: {
    NetworkRequestStarted: {
      request_id: 'r',
      method: 'GET',
      url: 'https://example.test/',
      request_hash: HASH,
      request_bytes: 0,
    },
  },
}
const filePrepared: Event = {
  kind: 'ToolEffect',
  run_key: 'k',
  call_fingerprint: HASH,
  effect: { FilePublicationPrepared: { intent: { publication_id: SOME_ID } } },
}
const audit = { run_id: RUN as RunId, path: '/srv/project/j.jsonl', public_key: GENESIS }

/** Every event that starts an effect: column S of the catalogue. */
export const effectStarts: readonly Event[] = [
  started,
  intent,
  {
    kind: 'DelegationStarted',
    run_key: 'k',
    call_id: 'c',
    call_fingerprint: HASH,
    target: 't',
    child_agent_id: otherPrincipal,
    audit,
    system_prompt_hash: GENESIS,
    message_hash: GENESIS,
  },
  { kind: 'ResponseDeliveryStarted', fingerprint: HASH, request_hash: HASH, request_bytes: 1 },
  {
    kind: 'InferenceRequested',
    request_id: 'r',
    endpoint: 'e',
    model: 'm',
    request_hash: HASH,
    reserved_output_tokens: 1,
  },
  {
    kind: 'DirectInferenceRequested',
    call_id: 'c',
    operation: 'o',
    provider: 'p',
    model: 'm',
    request_hash: HASH,
    request_bytes: 1,
    recipient: null,
    recipient_definition_hash: null,
    communication: null,
  },
  {
    kind: 'BudgetReservationStarted',
    reservation: {
      id: SOME_ID as Id<'reservation'>,
      root_id: SOME_ID as Id<'root'>,
      ancestors: [{ scope: 0, parent: null, limit: 1 }],
      input_tokens: 1,
      output_tokens: 1,
      agent_id: principal,
      audit: null,
      iteration: 1,
      provider: 'p',
      model: 'm',
      request_hash: HASH,
      request_bytes: 1,
    },
  },
  networkStarted,
  filePrepared,
]

const effect = (data: Extract<Event, { kind: 'ToolEffect' }>['effect']): Event => ({
  kind: 'ToolEffect',
  run_key: 'k',
  call_fingerprint: HASH,
  effect: data,
})
const response = { request_id: 'r', response_headers_hash: null, response_bytes: 0 }

/** Every way in which an event says that an outcome is unconfirmed: column U of the catalogue. */
export const unconfirmed: readonly Event[] = [
  receipt(true),
  terminated,
  { kind: 'DelegationFinished', run_key: 'k', call_id: 'c', audit, reason: 'Timeout', output_hash: GENESIS },
  { kind: 'ResponseDeliveryFinished', fingerprint: HASH, receipt: null, confirmed: false, error: null },
  {
    kind: 'DirectInferenceFinished',
    call_id: 'c',
    reason: { Error: { message: 'lost' } },
    response_hash: null,
    response_bytes: 0,
    finish_reason: null,
    usage: NO_USAGE,
  },
  effect({ NetworkRequestFinished: { ...response, status: null, response_hash: HASH, error: null } }),
  effect({ NetworkRequestFinished: { ...response, status: 200, response_hash: null, error: null } }),
  effect({ NetworkRequestFinished: { ...response, status: 200, response_hash: HASH, error: 'late' } }),
  effect({ FilePublicationFinished: { publication_id: SOME_ID as Id<'publication'>, confirmed: false, error: null } }),
  effect({ FilePublicationFinished: { publication_id: SOME_ID as Id<'publication'>, confirmed: true, error: 'late' } }),
]

/** Their confirmed counterparts, and a budget that was exceeded, latch nothing. */
export const confirmed: readonly Event[] = [
  receipt(false),
  { kind: 'DelegationFinished', run_key: 'k', call_id: 'c', audit, reason: 'Completed', output_hash: GENESIS },
  { kind: 'ResponseDeliveryFinished', fingerprint: HASH, receipt: null, confirmed: true, error: null },
  effect({ NetworkRequestFinished: { ...response, status: 500, response_hash: HASH, error: null } }),
  effect({ FilePublicationFinished: { publication_id: SOME_ID as Id<'publication'>, confirmed: true, error: null } }),
  {
    kind: 'BudgetReservationFinished',
    root_id: SOME_ID as Id<'root'>,
    reservation_id: SOME_ID as Id<'reservation'>,
    usage: NO_USAGE,
    outcome: 'unknown',
  },
]
