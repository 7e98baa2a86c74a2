/**
 * A run as blocks of lines, one block an iteration: what the model was asked and proposed, what policy said of each
 * action, which effects were begun, and what came back. Computes only; colours and widths are the renderer's.
 *
 * Entries that only count what others say are left out here; `--json` shows them all.
 */
import { type Hash, instantOf, isJsonObject, type Json, type JsonObject, millisecondsOf } from '../../core/index.ts'
import { type Entry, type Event, effectUnconfirmed, isUnconfirmed, type ProposedAction } from '../../events/index.ts'
import type { RecoveryReport } from '../../journal/index.ts'
import { endingOf } from './project-evidence.ts'

/** `good` and `plain` are ordinary; `denied` and `unknown` must not be missed. */
export type Tone = 'plain' | 'good' | 'dim' | 'call' | 'denied' | 'unknown'

export interface Line {
  readonly tag: string
  readonly tone: Tone
  readonly text: string
  /** Continues below, indented. */
  readonly details: readonly string[]
  /** Of the entry. */
  readonly sequence: number
  /** Milliseconds since the entry before it. */
  readonly afterMs: number
}

export interface Block {
  readonly iteration: number
  /** Milliseconds since the start of the run. */
  readonly startMs: number
  readonly lines: readonly Line[]
}

export interface Timeline {
  /** Before the first iteration. */
  readonly opening: readonly Line[]
  readonly blocks: readonly Block[]
  readonly totals: Totals
}

export interface Totals {
  readonly inferences: number
  readonly tokens: number
  readonly toolCalls: number
  readonly denials: number
  readonly unknown: number
  readonly tookMs: number
}

export function timelineOf(entries: readonly Entry[], report: RecoveryReport): Timeline {
  const scribe = new Scribe(report)
  const opening: Line[] = []
  const blocks: { iteration: number; asked: boolean; startMs: number; lines: Line[] }[] = []
  const first = entries[0]
  let before = first
  for (const entry of entries) {
    const afterMs = before === undefined ? 0 : msBetween(before, entry)
    before = entry
    const said = scribe.linesOf(entry).map((line) => ({ ...line, sequence: entry.sequence, afterMs }))
    if (said.length === 0) continue
    const asks = isInference(entry.event)
    const isClosing = entry.event.kind === 'Terminated'
    if (blocks.length === 0 && entry.iteration === 0 && !asks && !isClosing) {
      opening.push(...said)
      continue
    }
    let block = blocks.at(-1)
    if (block === undefined || asks || (block.iteration !== entry.iteration && !block.asked && !isClosing)) {
      const startMs = first === undefined ? 0 : msBetween(first, entry)
      block = { iteration: asks ? entry.iteration + 1 : entry.iteration, asked: asks, startMs, lines: [] }
      blocks.push(block)
    }
    if (block.asked && !asks && !isClosing && !isAnswer(entry.event)) {
      block.iteration = entry.iteration // the loop counts an iteration from the answer on
      block.asked = false
    }
    block.lines.push(...said)
  }
  const last = entries.at(-1)
  const tookMs = first === undefined || last === undefined ? 0 : msBetween(first, last)
  return { opening, blocks: blocks.map(({ asked: _, ...block }) => block), totals: { ...scribe.totals(), tookMs } }
}

/** Asking the model begins a block: what follows is what came of it. */
function isInference({ kind }: Event): boolean {
  return kind === 'BudgetReservationStarted' || kind === 'InferenceRequested' || kind === 'DirectInferenceRequested'
}

function isAnswer({ kind }: Event): boolean {
  return (
    kind === 'BudgetReservationFinished' ||
    kind === 'InferenceCompleted' ||
    kind === 'DirectInferenceResponseReceived' ||
    kind === 'DirectInferenceFinished'
  )
}

function msBetween(from: Entry, to: Entry): number {
  return Number((instantOf(to.timestamp) - instantOf(from.timestamp)) / 1000n) / 1000
}

type Said = Pick<Line, 'tag' | 'tone' | 'text' | 'details'>

const line = (tag: string, tone: Tone, text: string, ...details: readonly string[]): Said => ({
  tag,
  tone,
  text,
  details,
})

/** Remembers what later entries only name by an id. */
class Scribe {
  readonly #report: RecoveryReport
  readonly #arguments = new Map<Hash, string>()
  readonly #tools = new Map<string, string>()
  readonly #models = new Map<string, string>()
  #inferences = 0
  #tokens = 0
  #toolCalls = 0
  #denials = 0

  constructor(report: RecoveryReport) {
    this.#report = report
  }

  totals(): Omit<Totals, 'tookMs'> {
    const unknown = this.#report.effects.filter(({ outcome }) => outcome === 'unknown').length
    return {
      inferences: this.#inferences,
      tokens: this.#tokens,
      toolCalls: this.#toolCalls,
      denials: this.#denials,
      unknown: unknown + this.#report.untracked_tool_approvals,
    }
  }

  linesOf({ sequence, event }: Entry): readonly Said[] {
    switch (event.kind) {
      case 'Started':
        return [line('started', 'dim', limitsOf(event.config))]
      case 'BudgetReservationStarted': {
        const { id, provider, model, input_tokens, output_tokens } = event.reservation
        this.#inferences += 1
        this.#models.set(id, `${provider}/${model}`)
        const text = `${provider}/${model}, up to ${tokens(input_tokens + output_tokens)} reserved`
        return [line('asked', 'plain', text), ...this.#openEffect(sequence, 'the inference')]
      }
      case 'BudgetReservationFinished': {
        const { usage, outcome } = event
        this.#tokens += usage.total_tokens
        if (outcome === 'confirmed') {
          const { prompt_tokens, completion_tokens } = usage
          return [line('answered', 'plain', `${amount(prompt_tokens)} in, ${tokens(completion_tokens)} out`)]
        }
        const why =
          outcome === 'unknown'
            ? 'the provider reported no usage; the whole reservation is charged'
            : 'more than reserved'
        return [line('tokens', 'unknown', `${outcome}: ${why}`)]
      }
      case 'ReasoningComplete':
        return event.actions.map((action) => line('proposed', 'plain', ...actionWords(action)))
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
        return [
          line('intent', 'call', `delegate to ${event.target}, run ${event.audit.run_id}`),
          ...this.#openEffect(sequence, `the delegation to ${event.target}`),
        ]
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
      case 'BudgetScopeLinked':
      case 'BudgetUpdated':
      case 'PreHydrationComplete':
        return []
    }
  }

  #decisions({ approved_calls, denied_calls }: Event & { readonly kind: 'PolicyEvaluated' }): readonly Said[] {
    this.#denials += denied_calls?.length ?? 0
    const allowed = (approved_calls ?? []).map((call) => {
      this.#remember(call)
      return line('allowed', 'good', `${subjectOf(call.action)}${decidedBy(call)}`)
    })
    const denied = (denied_calls ?? []).map((call) => {
      const errors = textsIn(call.policy_errors).map((error) => `policy error: ${error}`)
      const { reason } = call
      const why = typeof reason === 'string' ? reason : 'no reason was recorded'
      return line('DENIED', 'denied', `${subjectOf(call.action)}${decidedBy(call)}`, why, ...errors)
    })
    return [...allowed, ...denied]
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

function endLine({ reason, iterations }: Event & { readonly kind: 'Terminated' }): Said {
  const text = `${endingOf(reason)} after ${amount(iterations)} iteration${iterations === 1 ? '' : 's'}`
  if (reason === 'Completed') return line('ended', 'good', text)
  const why =
    typeof reason !== 'object' ? [] : 'Error' in reason ? [reason.Error.message] : [reason.PolicyDenial.reason]
  return line('ENDED', reason === 'UnconfirmedEffects' ? 'unknown' : 'denied', text, ...why)
}

function limitsOf(config: (Event & { readonly kind: 'Started' })['config']): string {
  const limits = [
    `${amount(config.max_iterations)} iterations`,
    tokens(config.max_total_tokens),
    `${amount(millisecondsOf(config.timeout) / 1000)} s`,
  ]
  return `with at most ${limits.join(', ')}`
}

function actionWords(action: ProposedAction): [text: string, ...details: string[]] {
  if ('ToolCall' in action) return [`${action.ToolCall.name} ${action.ToolCall.arguments}`]
  if ('Delegate' in action) return [`delegate to ${action.Delegate.target}`, action.Delegate.message]
  if ('Respond' in action) return ['reply', action.Respond.content]
  return [`terminate: ${action.Terminate.reason}`, action.Terminate.output]
}

/** What a decision speaks about. The evidence of a decision is open JSON, so nothing in it is taken for granted. */
function subjectOf(action: Json | undefined): string {
  if (!isJsonObject(action)) return 'an action'
  const [kind] = Object.keys(action)
  const members = kind === undefined ? undefined : action[kind]
  const of = (name: string): string => (isJsonObject(members) ? String(members[name]) : '')
  if (kind === 'ToolCall') return of('name')
  if (kind === 'Delegate') return `delegate to ${of('target')}`
  return kind === 'Respond' ? 'reply' : 'terminate'
}

/** A policy that failed decides alone: what else matched did not lead to the denial. An error begins with its policy's name. */
function decidedBy({ determining_policies, policy_errors }: JsonObject): string {
  const failed = textsIn(policy_errors).map((error) => error.split(': ')[0] ?? error)
  if (failed.length > 0) return `  by ${failed.map((policy) => `"${policy}"`).join(', ')}, which failed`
  const policies = textsIn(determining_policies)
  return policies.length === 0 ? '' : `  by ${policies.map((policy) => `"${policy}"`).join(', ')}`
}

function textsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function tokens(count: number): string {
  return `${amount(count)} token${count === 1 ? '' : 's'}`
}

function amount(count: number): string {
  return count.toLocaleString('en')
}
