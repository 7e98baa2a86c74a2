/**
 * Tells each entry of a run in lines, and remembers what later entries only name by an id. Entries that only count what
 * others say are left out here; `--json` shows them all.
 */
import { type Hash, isJsonObject, type JsonObject, type RunId } from '../../core/index.ts'
import {
  type Entry,
  type Event,
  type EventOf,
  effectUnconfirmed,
  type InferenceReservation,
  isUnconfirmed,
  type Usage,
} from '../../events/index.ts'
import type { RecoveryReport } from '../../journal/index.ts'
import { allowedLine, deniedLine, isHeld } from './decision-words.ts'
import { endingOf } from './project-evidence.ts'
import type { Totals } from './timeline.ts'
import { actionWords, amount, endLine, limitsOf, line, type Said, tokens } from './words.ts'

export class Scribe {
  readonly #report: RecoveryReport
  readonly #arguments = new Map<Hash, string>()
  readonly #tools = new Map<string, string>()
  readonly #children = new Map<string, string>()
  /** Who asked, by reservation; the run itself is left out. */
  readonly #askers = new Map<string, string>()
  #isLinked = false
  #inferences = 0
  #tokens = 0
  #toolCalls = 0
  #delegations = 0
  #denials = 0
  #held = 0

  constructor(report: RecoveryReport) {
    this.#report = report
  }

  totals(): Omit<Totals, 'tookMs'> {
    const unknown = this.#report.effects.filter(({ outcome }) => outcome === 'unknown').length
    return {
      inferences: this.#inferences,
      tokens: this.#tokens,
      toolCalls: this.#toolCalls,
      delegations: this.#delegations,
      denials: this.#denials,
      held: this.#held,
      unknown: unknown + this.#report.untracked_tool_approvals,
    }
  }

  linesOf({ sequence, event }: Entry): readonly Said[] {
    switch (event.kind) {
      case 'Started':
        return [line('started', 'dim', limitsOf(event.config))]
      case 'BudgetReservationStarted':
        return [...this.#asked(event.reservation), ...this.#openEffect(sequence, 'the inference')]
      case 'BudgetReservationFinished':
        return [this.#settled(event)]
      case 'BudgetScopeLinked':
        this.#isLinked = true
        return [line('tokens', 'dim', `reserved in the journal of run ${event.root_audit?.run_id ?? 'unknown'}`)]
      case 'ReasoningComplete':
        return [
          ...(this.#isLinked ? [this.#answered(event.usage)] : []),
          ...event.actions.map((action) => line('proposed', 'plain', ...actionWords(action))),
        ]
      case 'PolicyEvaluated':
        return this.#decisions(event)
      case 'ToolDispatchStarted': {
        this.#toolCalls += 1
        this.#tools.set(event.dispatch_id, event.tool_name)
        const text = `${event.tool_name} ${this.#arguments.get(event.call_fingerprint) ?? ''}`.trimEnd()
        return [line('intent', 'call', text), ...this.#openEffect(sequence, `the call of ${event.tool_name}`)]
      }
      case 'ToolDispatchFinished': {
        const tool = this.#tools.get(event.dispatch_id) ?? event.dispatch_id
        if (event.is_error) return [line('UNKNOWN', 'unknown', `${tool}: no result that proves what it did`)]
        return [line('receipt', 'call', `${tool}: result recorded`)]
      }
      case 'ToolBatchCompleted':
        return event.observations.map((observation) => {
          const tone = isUnconfirmed(observation) ? 'unknown' : observation.is_error ? 'denied' : 'dim'
          return line(observation.is_error ? 'error' : 'result', tone, `${observation.source}:`, observation.content)
        })
      case 'ToolEffect':
        return [this.#toolEffect(event.effect), ...this.#openEffect(sequence, 'the effect of the tool')]
      case 'DelegationStarted':
        return [this.#begunRun(event), ...this.#openEffect(sequence, `the run of ${event.target}`)]
      case 'DelegationFinished':
        return [
          event.reason === 'Completed'
            ? line('receipt', 'call', `run ${event.audit.run_id} completed`)
            : line('UNKNOWN', 'unknown', `run ${event.audit.run_id} ended ${endingOf(event.reason)}`),
        ]
      case 'ResponseDeliveryStarted':
        return [
          line('intent', 'call', `deliver the reply, ${amount(event.request_bytes)} bytes`),
          ...this.#openEffect(sequence, 'the delivery of the reply'),
        ]
      case 'ResponseDeliveryFinished':
        return [
          event.confirmed
            ? line('receipt', 'call', 'delivery confirmed')
            : line('UNKNOWN', 'unknown', `delivery not confirmed${event.error === null ? '' : `: ${event.error}`}`),
        ]
      case 'InferenceRequested':
        this.#inferences += 1
        return [
          line('asked', 'plain', `${event.model} at ${event.endpoint}`),
          ...this.#openEffect(sequence, 'the inference'),
        ]
      case 'InferenceCompleted':
        return [line('answered', 'plain', `status ${event.status}, ${amount(event.response_bytes)} bytes`)]
      case 'DirectInferenceRequested':
        this.#inferences += 1
        return [
          line('asked', 'plain', `${event.provider}/${event.model} to ${event.operation}`),
          ...this.#openEffect(sequence, 'the inference'),
        ]
      case 'DirectInferenceResponseReceived':
        return [line('answered', 'plain', `${amount(event.response_bytes)} bytes`)]
      case 'DirectInferenceFinished':
        this.#tokens += event.usage.total_tokens
        return [
          event.reason === 'Completed'
            ? line('answered', 'plain', tokens(event.usage.total_tokens))
            : line('UNKNOWN', 'unknown', `the inference ended ${endingOf(event.reason)}`),
        ]
      case 'Terminated':
        return [endLine(event)]
      case 'RecoveryTriggered':
        return [line('recovery', 'unknown', `${event.tool_name}: ${event.error}`)]
      case 'StepLimitReached':
        return [line('limit', 'unknown', `step ${event.step_id}: ${event.reason}`)]
      case 'ImprovementOutput':
        return [line('output', 'dim', event.output)]
      case 'ToolsDispatched':
      case 'ObservationsCollected':
      case 'BudgetOpened':
      case 'BudgetUpdated':
      case 'PreHydrationComplete':
        return []
    }
  }

  #asked(reservation: InferenceReservation): readonly Said[] {
    const { id, provider, model, input_tokens, output_tokens, audit } = reservation
    const text = `${provider}/${model}, up to ${tokens(input_tokens + output_tokens)} reserved`
    if (isOwn(reservation, this.#report.run_id)) {
      this.#inferences += 1
      return [line('asked', 'plain', text)]
    }
    const runId = audit?.run_id ?? ''
    const asker = `${this.#children.get(runId) ?? 'another run'} ${runId.slice(0, 8)}`
    this.#askers.set(id, asker)
    return [line('asked', 'dim', `by ${asker}: ${text}`)]
  }

  #settled({ reservation_id, usage, outcome }: EventOf<'BudgetReservationFinished'>): Said {
    const asker = this.#askers.get(reservation_id)
    const by = asker === undefined ? '' : `to ${asker}: `
    if (asker === undefined) this.#tokens += usage.total_tokens
    if (outcome === 'confirmed')
      return line('answered', asker === undefined ? 'plain' : 'dim', `${by}${usageWords(usage)}`)
    const why =
      outcome === 'unknown' ? 'the provider reported no usage; the whole reservation is charged' : 'more than reserved'
    return line('tokens', 'unknown', `${by}${outcome}: ${why}`)
  }

  /** A delegated run's tokens are settled in the journal of its root; here they stand with the reply. */
  #answered(usage: Usage): Said {
    this.#inferences += 1
    this.#tokens += usage.total_tokens
    return line('answered', 'plain', usageWords(usage))
  }

  #decisions({ approved_calls, denied_calls }: Event & { readonly kind: 'PolicyEvaluated' }): readonly Said[] {
    const denied = denied_calls ?? []
    this.#denials += denied.filter((call) => !isHeld(call)).length
    this.#held += denied.filter(isHeld).length
    for (const call of approved_calls ?? []) this.#remember(call)
    return [...(approved_calls ?? []).map(allowedLine), ...denied.map(deniedLine)]
  }

  /** A call that is a run of its own is linked as a delegation is, but acts as who makes it. */
  #begunRun({ target, child_agent_id, audit: { run_id } }: EventOf<'DelegationStarted'>): Said {
    if (child_agent_id === this.#report.agent_id) {
      this.#toolCalls += 1
      return line('intent', 'call', `${target}, under an id of its caller: run ${run_id}`)
    }
    this.#delegations += 1
    this.#children.set(run_id, target)
    return line('intent', 'call', `delegate to ${target}, run ${run_id}`)
  }

  #remember({ action, fingerprint }: JsonObject): void {
    const call = isJsonObject(action) ? action.ToolCall : undefined
    if (isJsonObject(call) && typeof fingerprint === 'string') {
      this.#arguments.set(fingerprint as Hash, String(call.arguments))
    }
  }

  #toolEffect(effect: (Event & { readonly kind: 'ToolEffect' })['effect']): Said {
    const tone = effectUnconfirmed(effect) ? 'unknown' : 'call'
    if ('NetworkRequestStarted' in effect) {
      const { method, url, request_bytes } = effect.NetworkRequestStarted
      return line('intent', tone, `${method} ${url}, ${amount(request_bytes)} bytes`)
    }
    if ('NetworkRequestFinished' in effect) {
      const { status, response_bytes, error } = effect.NetworkRequestFinished
      const text = `status ${status ?? 'none'}, ${amount(response_bytes)} bytes${error === null ? '' : `: ${error}`}`
      return line(tone === 'unknown' ? 'UNKNOWN' : 'receipt', tone, text)
    }
    if ('FilePublicationPrepared' in effect) {
      return line('intent', tone, `publish a file, ${effect.FilePublicationPrepared.intent.publication_id}`)
    }
    const { confirmed, error } = effect.FilePublicationFinished
    const text = confirmed ? 'file published' : `file not confirmed${error === null ? '' : `: ${error}`}`
    return line(tone === 'unknown' ? 'UNKNOWN' : 'receipt', tone, text)
  }

  /** An intent that no receipt followed is told where it stands. */
  #openEffect(sequence: number, what: string): readonly Said[] {
    const effect = this.#report.effects.find(({ start_sequence }) => start_sequence === sequence)
    if (effect === undefined || effect.finish_sequence !== null) return []
    return [line('UNKNOWN', 'unknown', `${what} was begun, and nothing says what became of it`)]
  }
}

/** A root records the reservations of its whole tree; one that names no journal is its own. */
export function isOwn({ audit }: InferenceReservation, runId: RunId): boolean {
  return audit === null || audit.run_id === runId
}

function usageWords({ prompt_tokens, completion_tokens }: Usage): string {
  return `${amount(prompt_tokens)} in, ${tokens(completion_tokens)} out`
}
