/**
 * One table of events, a row a variant, spelled as on disk. The union we switch over (`Event`) and the form we sign
 * (`WireEvent`) are both derived from it, and so is the check that a verified record holds a known event.
 */
import { Bug, type Shape, shapes, type TypeOf } from '../core/index.ts'
import {
  actionShape,
  auditReferenceShape,
  budgetSnapshotShape,
  finishReasonShape,
  loopConfigShape,
  observationShape,
  recoveryStrategyShape,
  reservationShape,
  terminationShape,
  toolEffectShape,
  usageShape,
} from './data.ts'

const {
  text,
  bool,
  u32,
  u16,
  uint,
  hash,
  hexHash,
  jsonObject,
  json,
  duration,
  id,
  literal,
  list,
  nullable,
  optional,
  tagged,
} = shapes

export const EVENTS = {
  Started: { agent_id: id('agent'), config: loopConfigShape, execution_context: optional(jsonObject) },
  ReasoningComplete: { iteration: u32, actions: list(actionShape), usage: usageShape },
  PolicyEvaluated: {
    iteration: u32,
    action_count: uint,
    denied_count: uint,
    approved_calls: optional(list(jsonObject)),
    denied_calls: optional(list(jsonObject)),
  },
  ToolDispatchStarted: {
    dispatch_id: id('dispatch'),
    run_key: text,
    call_id: text,
    call_fingerprint: hash,
    tool_name: text,
  },
  ToolDispatchFinished: { dispatch_id: id('dispatch'), observation_hash: hash, is_error: bool },
  ToolEffect: { run_key: text, call_fingerprint: hash, effect: toolEffectShape },
  ToolsDispatched: { iteration: u32, tool_count: uint, duration },
  ToolBatchCompleted: { iteration: u32, observations: list(observationShape), duration },
  ObservationsCollected: { iteration: u32, observation_count: uint },
  DelegationStarted: {
    run_key: text,
    call_id: text,
    call_fingerprint: hash,
    target: text,
    child_agent_id: id('agent'),
    audit: auditReferenceShape,
    system_prompt_hash: hexHash,
    message_hash: hexHash,
  },
  DelegationFinished: {
    run_key: text,
    call_id: text,
    audit: auditReferenceShape,
    reason: terminationShape,
    output_hash: hexHash,
  },
  ResponseDeliveryStarted: { fingerprint: hash, request_hash: hash, request_bytes: uint },
  ResponseDeliveryFinished: { fingerprint: hash, receipt: json, confirmed: bool, error: nullable(text) },
  InferenceRequested: {
    request_id: text,
    endpoint: text,
    model: text,
    request_hash: hash,
    reserved_output_tokens: uint,
  },
  InferenceCompleted: { request_id: text, status: u16, response_hash: hash, response_bytes: uint },
  DirectInferenceRequested: {
    call_id: text,
    operation: text,
    provider: text,
    model: text,
    request_hash: hash,
    request_bytes: uint,
    recipient: nullable(id('agent')),
    recipient_definition_hash: nullable(text),
    communication: json,
  },
  DirectInferenceResponseReceived: { call_id: text, response_hash: hash, response_bytes: uint },
  DirectInferenceFinished: {
    call_id: text,
    reason: terminationShape,
    response_hash: nullable(text),
    response_bytes: uint,
    finish_reason: nullable(finishReasonShape),
    usage: usageShape,
  },
  BudgetOpened: { root_id: id('root'), limit: u32 },
  BudgetScopeLinked: { root_id: id('root'), scope: uint, root_audit: nullable(auditReferenceShape) },
  BudgetReservationStarted: { reservation: reservationShape },
  BudgetReservationFinished: {
    root_id: id('root'),
    reservation_id: id('reservation'),
    usage: usageShape,
    outcome: literal('confirmed', 'unknown', 'exceeded'),
  },
  BudgetUpdated: { budget: budgetSnapshotShape },
  Terminated: { reason: terminationShape, iterations: u32, total_usage: usageShape, duration },
  RecoveryTriggered: { iteration: u32, tool_name: text, strategy: recoveryStrategyShape, error: text },
  StepLimitReached: { step_id: text, attempts: u32, reason: text },
  PreHydrationComplete: {
    references_found: uint,
    references_resolved: uint,
    references_failed: uint,
    total_tokens: uint,
  },
  ImprovementOutput: { output: text },
} as const

type EventTable = typeof EVENTS
export type EventKind = keyof EventTable
/** The externally tagged form, as signed. */
export type WireEvent = shapes.TaggedOf<EventTable>
/** The form we switch over. */
export type Event = { [K in EventKind]: { readonly kind: K } & shapes.ObjectOf<EventTable[K]> }[EventKind]
export type EventOf<K extends EventKind> = Extract<Event, { readonly kind: K }>

export const wireEventShape: Shape<WireEvent> = tagged(EVENTS, 'allowed')
/** Checks the form we switch over, and writes the form we sign. */
export const eventShape: Shape<Event> = shapes.kinded(EVENTS)

export function toWire(event: Event): WireEvent {
  const { kind, ...members } = event
  return { [kind]: members } as WireEvent
}

export function fromWire(wire: WireEvent): Event {
  const kind = Object.keys(wire)[0] as EventKind | undefined
  if (kind === undefined) throw new Bug('a wire event has one member')
  return { kind, ...(wire as Record<EventKind, object>)[kind] } as Event
}

export const entryShape = shapes.open({
  sequence: uint,
  timestamp: shapes.timestamp,
  agent_id: id('agent'),
  iteration: u32,
  event: wireEventShape,
})
/** One entry of a journal, as on disk. */
export type WireEntry = TypeOf<typeof entryShape>

export type Entry = Omit<WireEntry, 'event'> & { readonly event: Event }

/** Column S: the event is the intent of an effect, refused once an earlier outcome is unconfirmed (law 4). */
export function startsEffect(event: Event): boolean {
  switch (event.kind) {
    case 'Started':
    case 'ToolDispatchStarted':
    case 'DelegationStarted':
    case 'ResponseDeliveryStarted':
    case 'InferenceRequested':
    case 'DirectInferenceRequested':
    case 'BudgetReservationStarted':
      return true
    case 'ToolEffect':
      return 'NetworkRequestStarted' in event.effect || 'FilePublicationPrepared' in event.effect
    case 'ReasoningComplete':
    case 'PolicyEvaluated':
    case 'ToolDispatchFinished':
    case 'ToolsDispatched':
    case 'ToolBatchCompleted':
    case 'ObservationsCollected':
    case 'DelegationFinished':
    case 'ResponseDeliveryFinished':
    case 'InferenceCompleted':
    case 'DirectInferenceResponseReceived':
    case 'DirectInferenceFinished':
    case 'BudgetOpened':
    case 'BudgetScopeLinked':
    case 'BudgetReservationFinished':
    case 'BudgetUpdated':
    case 'Terminated':
    case 'RecoveryTriggered':
    case 'StepLimitReached':
    case 'PreHydrationComplete':
    case 'ImprovementOutput':
      return false
  }
}

/** Column U: the event itself says that an outcome is not confirmed. */
export function carriesUnconfirmed(event: Event): boolean {
  switch (event.kind) {
    case 'ToolDispatchFinished':
      return event.is_error
    case 'DelegationFinished':
    case 'DirectInferenceFinished':
    case 'Terminated':
      return event.reason !== 'Completed'
    case 'ResponseDeliveryFinished':
      return !event.confirmed
    case 'ToolEffect':
      return effectUnconfirmed(event.effect)
    case 'Started':
    case 'ReasoningComplete':
    case 'PolicyEvaluated':
    case 'ToolDispatchStarted':
    case 'ToolsDispatched':
    case 'ToolBatchCompleted':
    case 'ObservationsCollected':
    case 'DelegationStarted':
    case 'ResponseDeliveryStarted':
    case 'InferenceRequested':
    case 'InferenceCompleted':
    case 'DirectInferenceRequested':
    case 'DirectInferenceResponseReceived':
    case 'BudgetOpened':
    case 'BudgetScopeLinked':
    case 'BudgetReservationStarted':
    case 'BudgetReservationFinished':
    case 'BudgetUpdated':
    case 'RecoveryTriggered':
    case 'StepLimitReached':
    case 'PreHydrationComplete':
    case 'ImprovementOutput':
      return false
  }
}

export function effectUnconfirmed(effect: EventOf<'ToolEffect'>['effect']): boolean {
  if ('NetworkRequestFinished' in effect) {
    const { status, response_hash, error } = effect.NetworkRequestFinished
    return status === null || response_hash === null || error !== null
  }
  if ('FilePublicationFinished' in effect) {
    const { confirmed, error } = effect.FilePublicationFinished
    return !confirmed || error !== null
  }
  return false
}
