/** One good event of every kind. The table must be complete: a new kind does not compile without its sample. */
import { digest, type Hash, type HexHash, type Id, type IdKind, type Timestamp } from '../../src/core/index.ts'
import {
  type AuditReference,
  DEFAULT_LOOP_CONFIG,
  type EventKind,
  type EventOf,
  type NewEntry,
} from '../../src/events/index.ts'

export const idOf = <K extends IdKind>(_kind: K, digit: number): Id<K> =>
  `${String(digit).repeat(8)}-1111-4111-8111-111111111111` as Id<K>
export const HASH: Hash = digest('sample')
export const HEX = 'ab'.repeat(32) as HexHash
export const AUDIT: AuditReference = { run_id: idOf('run', 2), path: '/srv/project/journal.jsonl', public_key: HEX }
export const NOW = '2026-03-04T10:11:12.131415Z' as Timestamp
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const duration = { secs: 1, nanos: 5 }
const call = { run_key: 'agent:start', call_id: 'call', call_fingerprint: HASH }

export const SAMPLES: { readonly [K in EventKind]: EventOf<K> } = {
  Started: { kind: 'Started', agent_id: idOf('agent', 1), config: DEFAULT_LOOP_CONFIG, execution_context: { a: [1] } },
  ReasoningComplete: {
    kind: 'ReasoningComplete',
    iteration: 1,
    actions: [{ ToolCall: { call_id: 'c', name: 'n', arguments: '{}' } }, { Respond: { content: 'hello' } }],
    usage,
  },
  PolicyEvaluated: {
    kind: 'PolicyEvaluated',
    iteration: 1,
    action_count: 2,
    denied_count: 1,
    approved_calls: [{}],
    denied_calls: [{ reason: 'no' }],
  },
  ToolDispatchStarted: { kind: 'ToolDispatchStarted', dispatch_id: idOf('dispatch', 3), ...call, tool_name: 'health' },
  ToolDispatchFinished: {
    kind: 'ToolDispatchFinished',
    dispatch_id: idOf('dispatch', 3),
    observation_hash: HASH,
    is_error: false,
  },
  ToolEffect: {
    kind: 'ToolEffect',
    run_key: 'agent:start',
    call_fingerprint: HASH,
    effect: {
      NetworkRequestStarted: { request_id: 'r', method: 'GET', url: 'u', request_hash: HASH, request_bytes: 0 },
    },
  },
  ToolsDispatched: { kind: 'ToolsDispatched', iteration: 1, tool_count: 1, duration },
  ToolBatchCompleted: {
    kind: 'ToolBatchCompleted',
    iteration: 1,
    observations: [{ source: 'health', content: 'ok', is_error: false, call_id: 'c', metadata: { a: 'b' } }],
    duration,
  },
  ObservationsCollected: { kind: 'ObservationsCollected', iteration: 1, observation_count: 1 },
  DelegationStarted: {
    kind: 'DelegationStarted',
    ...call,
    target: 'reviewer',
    child_agent_id: idOf('agent', 4),
    audit: AUDIT,
    system_prompt_hash: HEX,
    message_hash: HEX,
  },
  DelegationFinished: {
    kind: 'DelegationFinished',
    run_key: 'agent:start',
    call_id: 'c',
    audit: AUDIT,
    reason: 'Completed',
    output_hash: HEX,
  },
  ResponseDeliveryStarted: { kind: 'ResponseDeliveryStarted', fingerprint: HASH, request_hash: HASH, request_bytes: 1 },
  ResponseDeliveryFinished: {
    kind: 'ResponseDeliveryFinished',
    fingerprint: HASH,
    receipt: { id: 1 },
    confirmed: true,
    error: null,
  },
  InferenceRequested: {
    kind: 'InferenceRequested',
    request_id: 'r',
    endpoint: 'e',
    model: 'm',
    request_hash: HASH,
    reserved_output_tokens: 9,
  },
  InferenceCompleted: {
    kind: 'InferenceCompleted',
    request_id: 'r',
    status: 200,
    response_hash: HASH,
    response_bytes: 1,
  },
  DirectInferenceRequested: {
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
  DirectInferenceResponseReceived: {
    kind: 'DirectInferenceResponseReceived',
    call_id: 'c',
    response_hash: HASH,
    response_bytes: 1,
  },
  DirectInferenceFinished: {
    kind: 'DirectInferenceFinished',
    call_id: 'c',
    reason: 'Completed',
    response_hash: null,
    response_bytes: 0,
    finish_reason: 'stop',
    usage,
  },
  BudgetOpened: { kind: 'BudgetOpened', root_id: idOf('root', 5), limit: 50_000 },
  BudgetScopeLinked: { kind: 'BudgetScopeLinked', root_id: idOf('root', 5), scope: 1, root_audit: AUDIT },
  BudgetReservationStarted: {
    kind: 'BudgetReservationStarted',
    reservation: {
      id: idOf('reservation', 6),
      root_id: idOf('root', 5),
      ancestors: [{ scope: 0, parent: null, limit: 9 }],
      input_tokens: 1,
      output_tokens: 2,
      agent_id: idOf('agent', 1),
      audit: null,
      iteration: 1,
      provider: 'p',
      model: 'm',
      request_hash: HASH,
      request_bytes: 3,
    },
  },
  BudgetReservationFinished: {
    kind: 'BudgetReservationFinished',
    root_id: idOf('root', 5),
    reservation_id: idOf('reservation', 6),
    usage,
    outcome: 'confirmed',
  },
  BudgetUpdated: {
    kind: 'BudgetUpdated',
    budget: {
      root_id: idOf('root', 5),
      scope: 0,
      limit: 9,
      usage,
      reserved_tokens: 0,
      uncertain_tokens: 0,
      available_tokens: 7,
      exceeded: false,
    },
  },
  Terminated: { kind: 'Terminated', reason: 'Completed', iterations: 1, total_usage: usage, duration },
  RecoveryTriggered: { kind: 'RecoveryTriggered', iteration: 1, tool_name: 't', strategy: 'DeadLetter', error: 'e' },
  StepLimitReached: { kind: 'StepLimitReached', step_id: 's', attempts: 1, reason: 'r' },
  PreHydrationComplete: {
    kind: 'PreHydrationComplete',
    references_found: 1,
    references_resolved: 1,
    references_failed: 0,
    total_tokens: 5,
  },
  ImprovementOutput: { kind: 'ImprovementOutput', output: 'o' },
}

export function entryOf(event: NewEntry['event']): NewEntry {
  return { timestamp: NOW, agent_id: idOf('agent', 1), iteration: 1, event }
}
