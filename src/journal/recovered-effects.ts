/**
 * Effects as a journal proves them: every intent, the receipt that belongs to it, and whether that receipt is a known
 * conclusion. An intent without a receipt is an unknown effect, and stays one (law 3).
 *
 * Owns the identity of effects and the table of 13.4. An intent or a receipt that appears twice, and a receipt without its
 * intent, is no history of a run and is refused.
 */
import type { Hash, JsonObject } from '../core/index.ts'
import { type Entry, type Event, effectUnconfirmed, type ToolEffect } from '../events/index.ts'
import { refusedEvidence } from './evidence.ts'

const EFFECTS_MAX = 32_768

type OfCall = { readonly run_key: string; readonly call_fingerprint: Hash }

export type EffectIdentity =
  | { readonly kind: 'tool_dispatch'; readonly dispatch_id: string }
  | ({ readonly kind: 'network_request' } & OfCall & { readonly request_id: string })
  | ({ readonly kind: 'file_publication' } & OfCall & { readonly publication_id: string })
  | { readonly kind: 'delegation'; readonly run_key: string; readonly call_id: string }
  | { readonly kind: 'inference'; readonly request_id: string }
  | { readonly kind: 'direct_inference'; readonly call_id: string }
  | { readonly kind: 'shared_inference'; readonly reservation_id: string }
  | { readonly kind: 'response_delivery'; readonly fingerprint: Hash }

export interface RecoveredEffect {
  readonly identity: EffectIdentity
  readonly start_sequence: number
  readonly finish_sequence: number | null
  readonly outcome: 'result_recorded' | 'unknown'
  /** The members of both entries as they were recorded: names, hashes and counts, never bodies. */
  readonly details: { readonly started: JsonObject; readonly finished: JsonObject | null }
}

/** All effects in the order of their intents. */
export function recoveredEffects(entries: readonly Entry[]): readonly RecoveredEffect[] {
  const effects = new Map<string, RecoveredEffect>()
  for (const { sequence, event } of entries) {
    const step = stepOf(event)
    if (step === null) continue
    const key = JSON.stringify(step.identity)
    const known = effects.get(key)
    if (step.kind === 'start') {
      if (known !== undefined) throw refusedEvidence(sequence, `starts the ${name(step)} a second time`)
      if (effects.size >= EFFECTS_MAX) throw refusedEvidence(sequence, `starts more than ${EFFECTS_MAX} effects`)
      effects.set(key, started(step.identity, sequence, event))
      continue
    }
    if (known === undefined) throw refusedEvidence(sequence, `belongs to the ${name(step)}, which never started`)
    if (known.finish_sequence !== null)
      throw refusedEvidence(sequence, `belongs to the ${name(step)}, which is finished`)
    if (step.kind === 'finish') effects.set(key, finished(known, sequence, event, step.recorded))
  }
  return [...effects.values()]
}

type Step =
  | { readonly kind: 'start'; readonly identity: EffectIdentity }
  /** Evidence on the way: it needs an open effect, and concludes nothing. */
  | { readonly kind: 'progress'; readonly identity: EffectIdentity }
  | { readonly kind: 'finish'; readonly identity: EffectIdentity; readonly recorded: boolean }

function stepOf(event: Event): Step | null {
  switch (event.kind) {
    case 'ToolDispatchStarted':
      return start({ kind: 'tool_dispatch', dispatch_id: event.dispatch_id })
    case 'ToolDispatchFinished':
      return finish({ kind: 'tool_dispatch', dispatch_id: event.dispatch_id }, !event.is_error)
    case 'ToolEffect':
      return toolStepOf({ run_key: event.run_key, call_fingerprint: event.call_fingerprint }, event.effect)
    case 'DelegationStarted':
      return start({ kind: 'delegation', run_key: event.run_key, call_id: event.call_id })
    case 'DelegationFinished':
      return finish(
        { kind: 'delegation', run_key: event.run_key, call_id: event.call_id },
        event.reason === 'Completed',
      )
    case 'InferenceRequested':
      return start({ kind: 'inference', request_id: event.request_id })
    case 'InferenceCompleted':
      return finish({ kind: 'inference', request_id: event.request_id }, true)
    case 'DirectInferenceRequested':
      return start({ kind: 'direct_inference', call_id: event.call_id })
    case 'DirectInferenceResponseReceived':
      return { kind: 'progress', identity: { kind: 'direct_inference', call_id: event.call_id } }
    case 'DirectInferenceFinished':
      return finish(
        { kind: 'direct_inference', call_id: event.call_id },
        event.reason === 'Completed' && event.response_hash !== null,
      )
    case 'BudgetReservationStarted':
      return start({ kind: 'shared_inference', reservation_id: event.reservation.id })
    case 'BudgetReservationFinished': // its outcome speaks of tokens; that the inference came to an end is known
      return finish({ kind: 'shared_inference', reservation_id: event.reservation_id }, true)
    case 'ResponseDeliveryStarted':
      return start({ kind: 'response_delivery', fingerprint: event.fingerprint })
    case 'ResponseDeliveryFinished':
      return finish({ kind: 'response_delivery', fingerprint: event.fingerprint }, event.confirmed)
    case 'Started':
    case 'ReasoningComplete':
    case 'PolicyEvaluated':
    case 'ToolsDispatched':
    case 'ToolBatchCompleted':
    case 'ObservationsCollected':
    case 'BudgetOpened':
    case 'BudgetScopeLinked':
    case 'BudgetUpdated':
    case 'Terminated':
    case 'RecoveryTriggered':
    case 'StepLimitReached':
    case 'PreHydrationComplete':
    case 'ImprovementOutput':
      return null
  }
}

function toolStepOf(call: OfCall, effect: ToolEffect): Step {
  if ('NetworkRequestStarted' in effect) {
    return start({ kind: 'network_request', ...call, request_id: effect.NetworkRequestStarted.request_id })
  }
  if ('FilePublicationPrepared' in effect) {
    const { publication_id } = effect.FilePublicationPrepared.intent
    return start({ kind: 'file_publication', ...call, publication_id })
  }
  const recorded = !effectUnconfirmed(effect)
  if ('NetworkRequestFinished' in effect) {
    return finish({ kind: 'network_request', ...call, request_id: effect.NetworkRequestFinished.request_id }, recorded)
  }
  const { publication_id } = effect.FilePublicationFinished
  return finish({ kind: 'file_publication', ...call, publication_id }, recorded)
}

function start(identity: EffectIdentity): Step {
  return { kind: 'start', identity }
}

function finish(identity: EffectIdentity, recorded: boolean): Step {
  return { kind: 'finish', identity, recorded }
}

function started(identity: EffectIdentity, sequence: number, event: Event): RecoveredEffect {
  return {
    identity,
    start_sequence: sequence,
    finish_sequence: null,
    outcome: 'unknown',
    details: { started: membersOf(event), finished: null },
  }
}

function finished(effect: RecoveredEffect, sequence: number, event: Event, recorded: boolean): RecoveredEffect {
  return {
    ...effect,
    finish_sequence: sequence,
    outcome: recorded ? 'result_recorded' : 'unknown',
    details: { started: effect.details.started, finished: membersOf(event) },
  }
}

function membersOf(event: Event): JsonObject {
  const { kind: _, ...members } = event
  return members as unknown as JsonObject
}

/** Kind and ids, for messages. */
function name({ identity }: Step): string {
  const { kind, ...ids } = identity
  return `${kind.replaceAll('_', ' ')} ${JSON.stringify(ids)}`
}
