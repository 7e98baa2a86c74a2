/**
 * The calls of one journal, followed from what was proposed to what was told of them. A reply of a model is decided as a whole
 * before anything of it begins, and told as a whole before the next one is asked for. A session of a tool client makes one call
 * at a time: what its host may do beside it is in no life.
 */
import type { JsonObject } from '../../../core/index.ts'
import type { Event, EventOf, Observation, ProposedAction } from '../../../events/index.ts'
import type { ReadJournal } from './journal-reader.ts'
import { asksModel, textAt } from './run-facts.ts'

/** What became of one proposed action, as the last decision says. */
interface Decided {
  readonly action: ProposedAction
  readonly fingerprint: string | null
  /** How a denial has to be told; null for what was allowed. */
  readonly denial: 'policy_denied' | 'approval_pending' | null
  begun: boolean
}

interface Decision {
  readonly at: number
  readonly all: readonly Decided[]
  /** The results of its calls stand in the journal. */
  hasResults: boolean
  /** A model is told of results and denials at once; a tool client has no others than the results. */
  told: boolean
}

/** The first thing in this journal that does not add up, as a sentence, or null. */
export function whyUnaccounted(journal: ReadJournal): string | null {
  const accounts = new Accounts(asksModel(journal))
  for (const { sequence, event } of journal.entries) {
    const reason = accounts.take(sequence, event)
    if (reason !== null) return `entry ${sequence} of ${journal.name} ${reason}`
  }
  return null
}

class Accounts {
  readonly #asksModel: boolean
  /** The reply that nothing has decided yet. */
  #proposed: { readonly at: number; readonly actions: readonly ProposedAction[] } | null = null
  #decision: Decision | null = null
  /** Calls that have begun and have no receipt, by dispatch: their fingerprints. */
  readonly #open = new Map<string, string>()
  /** How many results come next, as a run says before it lists them. */
  #announced: number | null = null

  constructor(asks: boolean) {
    this.#asksModel = asks
  }

  take(at: number, event: Event): string | null {
    switch (event.kind) {
      case 'ReasoningComplete': {
        const reason = this.#whyOpen('proposes')
        this.#proposed = { at, actions: event.actions }
        return reason
      }
      case 'PolicyEvaluated':
        return this.#decide(at, event)
      case 'ToolDispatchStarted': {
        const { dispatch_id, call_id, call_fingerprint } = event
        this.#open.set(dispatch_id, call_fingerprint)
        return this.#begin('ToolCall', call_id, call_fingerprint)
      }
      case 'DelegationStarted': // of a session: the run of a call with an id, which is decided in its own journal
        return this.#asksModel ? this.#begin('Delegate', event.call_id, event.call_fingerprint) : null
      case 'ToolEffect':
        return [...this.#open.values()].includes(event.call_fingerprint)
          ? null
          : 'is an effect of a call that has not begun, or has its receipt'
      case 'ToolDispatchFinished':
        return this.#open.delete(event.dispatch_id) ? null : 'is the receipt of a call that has not begun, or has one'
      case 'ToolsDispatched':
        this.#announced = event.tool_count
        return null
      case 'ToolBatchCompleted':
        return this.#tell(event)
      case 'ObservationsCollected':
        return this.#collect(event.observation_count)
      case 'Terminated':
        return isWhole(event) ? this.#whyOpen('ends') : null
      default:
        return null
    }
  }

  #whyOpen(does: string): string | null {
    if (this.#proposed !== null) return `${does}, and nothing decided what entry ${this.#proposed.at} proposed`
    if (this.#decision?.told === false) return `${does}, and nobody was told what came of entry ${this.#decision.at}`
    return null
  }

  /** Each proposed action once, allowed or denied, and no other. A policy may change an action, and neither its kind nor its id. */
  #decide(at: number, { action_count, denied_count, ...lists }: EventOf<'PolicyEvaluated'>): string | null {
    const { approved_calls = [], denied_calls = [] } = lists
    const proposed = this.#proposed
    this.#proposed = null
    const before = this.#decision
    const all = [...approved_calls.map(allowed), ...denied_calls.map(denied)]
    this.#decision = { at, all, hasResults: false, told: false }
    if (before?.told === false) return `decides, and nobody was told what came of entry ${before.at}`
    if (denied_count !== denied_calls.length) return `counts ${denied_count} denials, and lists ${denied_calls.length}`
    if (action_count !== all.length) return `counts ${action_count} decisions, and lists ${all.length}`
    if (!this.#asksModel) return null // a tool client proposes outside of the journal
    if (proposed === null) return 'decides, and nothing was proposed'
    const left = proposed.actions.map(nameOf)
    for (const { action } of all) {
      const found = left.indexOf(nameOf(action))
      if (found === -1) return `decides about ${nameOf(action)}, which entry ${proposed.at} does not propose once more`
      left.splice(found, 1)
    }
    return left.length === 0 ? null : `decides nothing about ${left[0]}, which entry ${proposed.at} proposes`
  }

  #begin(kind: 'ToolCall' | 'Delegate', callId: string, fingerprint: string): string | null {
    const call = this.#decision?.all.find((one) => kind in one.action && callIdOf(one.action) === callId)
    const what = `begins ${kind} ${callId}`
    if (call === undefined || this.#decision === null) return `${what}, which no entry before it decides`
    const { at, hasResults } = this.#decision
    if (call.denial !== null) return `${what}, which entry ${at} denies`
    if (call.fingerprint !== fingerprint) return `${what}, and entry ${at} allows another call under this id`
    if (call.begun) return `${what} a second time`
    if (hasResults) return `${what}, and what came of it was told before`
    call.begun = true
    return null
  }

  /** A session is told of every call, a loop of those that were allowed: it tells its model of denials by itself. */
  #tell({ observations }: EventOf<'ToolBatchCompleted'>): string | null {
    const decision = this.#decision
    const announced = this.#announced
    this.#announced = null
    if (decision === null || decision.hasResults) return 'tells of a batch that nothing decided'
    decision.hasResults = true
    decision.told = !this.#asksModel
    if (this.#asksModel && announced !== observations.length)
      return `holds ${observations.length} results, and the entry before it counts ${announced ?? 'none'}`
    const left = [...observations]
    for (const call of decision.all) {
      const id = callIdOf(call.action)
      const found = left.findIndex(({ call_id }) => call_id === id)
      const [observation] = found === -1 ? [] : left.splice(found, 1)
      const reason = this.#whyMistold(call, observation)
      if (reason !== null) return `${reason} ${nameOf(call.action)}, which entry ${decision.at} decides`
    }
    return left.length === 0 ? null : `tells of ${left[0]?.call_id}, which entry ${decision.at} does not decide`
  }

  #whyMistold({ denial, begun, action }: Decided, observation: Observation | undefined): string | null {
    if (observation === undefined) {
      const elsewhere = this.#asksModel && (denial !== null || !begun)
      return elsewhere ? null : 'tells nothing of'
    }
    if (isTerminal(action)) return 'tells a result of'
    if (denial === null) return begun || observation.is_error ? null : 'tells as done, and it never began,'
    if (this.#asksModel) return 'tells a result of the denied'
    return observation.is_error && observation.metadata?.error_type === denial ? null : 'tells otherwise than denied'
  }

  /** What a model observes: everything that was decided, or beside its answer at least the denials. */
  #collect(count: number): string | null {
    const decision = this.#decision
    if (decision?.hasResults !== true || decision.told) return 'collects what nothing brought back'
    decision.told = true
    const { all, at } = decision
    const answers = all.filter(({ action, denial }) => isTerminal(action) && denial === null).length
    const denials = all.filter(({ denial }) => denial !== null).length
    const [least, most] = answers > 0 ? [denials, denials + answers] : [all.length, all.length]
    return count >= least && count <= most
      ? null
      : `collects ${count} observations of what entry ${at} decided, not ${least}`
  }
}

function allowed(call: JsonObject): Decided {
  return { action: call.action as ProposedAction, fingerprint: textAt(call, 'fingerprint'), denial: null, begun: false }
}

function denied(call: JsonObject): Decided {
  const denial = call.pending_approval === undefined ? 'policy_denied' : 'approval_pending'
  return { action: call.action as ProposedAction, fingerprint: null, denial, begun: false }
}

/** Whether a run that ended so had finished its last step. */
function isWhole({ reason }: EventOf<'Terminated'>): boolean {
  return typeof reason === 'string' && reason !== 'Timeout'
}

function isTerminal(action: ProposedAction): boolean {
  return 'Respond' in action || 'Terminate' in action
}

function callIdOf(action: ProposedAction): string | undefined {
  if ('ToolCall' in action) return action.ToolCall.call_id
  return 'Delegate' in action ? action.Delegate.call_id : undefined
}

function nameOf(action: ProposedAction): string {
  return [...Object.keys(action), callIdOf(action) ?? []].flat().join(' ')
}
