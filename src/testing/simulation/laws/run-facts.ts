/** What the entries of one journal say about its run: what was approved, what began, what came back, and how it ended. */
import type { Json, JsonObject } from '../../../core/index.ts'
import type { Event, EventOf, LoopConfig, TerminationReason } from '../../../events/index.ts'
import type { ReadJournal } from './journal-reader.ts'

export interface ApprovedCall {
  /** The sequence of its `PolicyEvaluated`. */
  readonly at: number
  readonly iteration: number
  readonly callId: string
  readonly tool: string
  readonly fingerprint: string
  readonly args: JsonObject
  readonly token: string | null
  /** The handle of the approval that was used for it. */
  readonly handle: string | null
}

export interface Dispatch {
  readonly started: number
  readonly fingerprint: string
  readonly callId: string
  finished: number | null
  /** It is finished, and no error. */
  known: boolean
}

export interface DelegatedRun {
  readonly started: number
  readonly runId: string
  readonly callId: string
  finished: number | null
  completed: boolean
  /** Of its answer, as the run that began it says. */
  outputHash: string | null
}

export interface RunFacts {
  readonly approved: readonly ApprovedCall[]
  readonly dispatches: readonly Dispatch[]
  readonly delegated: readonly DelegatedRun[]
  /** Reservations of this journal without a settlement. */
  readonly openReservations: readonly EventOf<'BudgetReservationStarted'>['reservation'][]
  /** Requests and publications of tools that began, and did not come back well. */
  readonly openEffects: readonly string[]
  /** The first entry that carries an unconfirmed outcome. */
  readonly unconfirmed: number | null
  /** The first entry behind it that starts an effect. */
  readonly startedAfter: number | null
  readonly end: TerminationReason | null
  /** When, by the clock of its process. */
  readonly endedAt: string | null
  /** The last answer that policy let out. */
  readonly answer: string | null
  readonly invocation: { readonly id: string; readonly scope: string } | null
  /** The run that began this one, by its own word. */
  readonly parent: string | null
}

const known = new WeakMap<ReadJournal, RunFacts>()

export function factsOf(journal: ReadJournal): RunFacts {
  const before = known.get(journal)
  if (before !== undefined) return before
  const facts = gather(journal)
  known.set(journal, facts)
  return facts
}

function gather(journal: ReadJournal): RunFacts {
  const approved: ApprovedCall[] = []
  const dispatches = new Map<string, Dispatch>()
  const delegated = new Map<string, DelegatedRun>()
  const reservations = new Map<string, EventOf<'BudgetReservationStarted'>['reservation']>()
  const effects = new Map<string, string>()
  let unconfirmed: number | null = null
  let startedAfter: number | null = null
  let end: TerminationReason | null = null
  let endedAt: string | null = null
  let answer: string | null = null
  let context: JsonObject = {}
  for (const { sequence, timestamp, event } of journal.entries) {
    if (unconfirmed !== null && startsEffect(event)) startedAfter ??= sequence
    if (carriesUnconfirmed(event)) unconfirmed ??= sequence
    switch (event.kind) {
      case 'Started':
        context = event.execution_context ?? {}
        break
      case 'PolicyEvaluated':
        approved.push(...(event.approved_calls ?? []).flatMap((call) => approvedCall(sequence, event.iteration, call)))
        answer = answerAmong(event.approved_calls ?? [])
        break
      case 'ToolDispatchStarted': {
        const { dispatch_id, call_fingerprint: fingerprint, call_id: callId } = event
        dispatches.set(dispatch_id, { started: sequence, fingerprint, callId, finished: null, known: false })
        break
      }
      case 'ToolDispatchFinished': {
        const dispatch = dispatches.get(event.dispatch_id)
        if (dispatch !== undefined) Object.assign(dispatch, { finished: sequence, known: !event.is_error })
        break
      }
      case 'DelegationStarted':
        delegated.set(event.audit.run_id, {
          started: sequence,
          runId: event.audit.run_id,
          callId: event.call_id,
          finished: null,
          completed: false,
          outputHash: null,
        })
        break
      case 'DelegationFinished': {
        const child = delegated.get(event.audit.run_id)
        if (child === undefined) break
        child.finished = sequence
        child.completed = event.reason === 'Completed'
        child.outputHash = event.output_hash
        break
      }
      case 'BudgetReservationStarted':
        reservations.set(event.reservation.id, event.reservation)
        break
      case 'BudgetReservationFinished':
        reservations.delete(event.reservation_id)
        break
      case 'ToolEffect':
        followEffect(effects, event.effect)
        break
      case 'Terminated':
        end = event.reason
        endedAt = timestamp
        break
      default:
    }
  }
  return {
    approved,
    dispatches: [...dispatches.values()],
    delegated: [...delegated.values()],
    openReservations: [...reservations.values()],
    openEffects: [...effects.values()],
    unconfirmed,
    startedAfter,
    end,
    endedAt,
    answer,
    invocation: invocationIn(context),
    parent: textAt(context, 'delegation', 'parent_audit', 'run_id'),
  }
}

function approvedCall(at: number, iteration: number, call: JsonObject): readonly ApprovedCall[] {
  const args = call.arguments
  const callId = textAt(call, 'action', 'ToolCall', 'call_id')
  const tool = textAt(call, 'action', 'ToolCall', 'name')
  const fingerprint = textAt(call, 'fingerprint')
  if (callId === null || tool === null || fingerprint === null || !isObject(args)) return []
  const handle = textAt(call, 'approval', 'escalation_id')
  return [{ at, iteration, callId, tool, fingerprint, args, token: tokenIn(args), handle }]
}

function answerAmong(calls: readonly JsonObject[]): string | null {
  const answers = calls.flatMap(
    (call) => textAt(call, 'action', 'Respond', 'content') ?? textAt(call, 'action', 'Terminate', 'output') ?? [],
  )
  return answers.at(-1) ?? null
}

/** A member of its own, or a parameter of the URL that is asked. */
function tokenIn(args: JsonObject): string | null {
  const { url } = args
  if (typeof url !== 'string' || !URL.canParse(url)) return textAt(args, 'token')
  return new URL(url).searchParams.get('token')
}

function followEffect(open: Map<string, string>, effect: EventOf<'ToolEffect'>['effect']): void {
  if ('NetworkRequestStarted' in effect) open.set(`request ${effect.NetworkRequestStarted.request_id}`, 'a request')
  if ('FilePublicationPrepared' in effect) {
    open.set(`file ${textAt(effect.FilePublicationPrepared.intent, 'publication_id')}`, 'a publication')
  }
  if (effectUnconfirmed(effect)) return
  if ('NetworkRequestFinished' in effect) open.delete(`request ${effect.NetworkRequestFinished.request_id}`)
  if ('FilePublicationFinished' in effect) open.delete(`file ${effect.FilePublicationFinished.publication_id}`)
}

function invocationIn(context: JsonObject): RunFacts['invocation'] {
  const id = textAt(context, 'invocation', 'id')
  const scope = textAt(context, 'invocation', 'scope')
  return id === null || scope === null ? null : { id, scope }
}

const STARTS = new Set<Event['kind']>([
  'Started',
  'ToolDispatchStarted',
  'DelegationStarted',
  'ResponseDeliveryStarted',
  'InferenceRequested',
  'DirectInferenceRequested',
  'BudgetReservationStarted',
])

/** Column S of the table of events. */
function startsEffect(event: Event): boolean {
  if (event.kind !== 'ToolEffect') return STARTS.has(event.kind)
  return 'NetworkRequestStarted' in event.effect || 'FilePublicationPrepared' in event.effect
}

/** Column U of the table of events. */
function carriesUnconfirmed(event: Event): boolean {
  if (event.kind === 'ToolDispatchFinished') return event.is_error
  if (event.kind === 'ResponseDeliveryFinished') return !event.confirmed
  if (event.kind === 'ToolEffect') return effectUnconfirmed(event.effect)
  if (event.kind === 'DelegationFinished' || event.kind === 'DirectInferenceFinished' || event.kind === 'Terminated') {
    return event.reason !== 'Completed'
  }
  return false
}

function effectUnconfirmed(effect: EventOf<'ToolEffect'>['effect']): boolean {
  if ('NetworkRequestFinished' in effect) {
    const { status, response_hash, error } = effect.NetworkRequestFinished
    return status === null || response_hash === null || error !== null
  }
  if (!('FilePublicationFinished' in effect)) return false
  return !effect.FilePublicationFinished.confirmed || effect.FilePublicationFinished.error !== null
}

/** Whether it is of a run that asks a model. A session of a tool client, and the run of its call with an id, has no budget. */
export function asksModel({ entries }: ReadJournal): boolean {
  return entries.some(({ event }) => event.kind === 'BudgetOpened' || event.kind === 'BudgetScopeLinked')
}

/** The limits that it was given, as its first entry says. */
export function configOf({ entries }: ReadJournal): LoopConfig | null {
  const started = entries[0]?.event
  return started?.kind === 'Started' ? started.config : null
}

/** The text that lies at the end of this path of members, or null. */
export function textAt(value: Json | undefined, ...path: readonly string[]): string | null {
  let at: Json | undefined = value
  for (const member of path) {
    if (!isObject(at)) return null
    at = at[member]
  }
  return typeof at === 'string' ? at : null
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
