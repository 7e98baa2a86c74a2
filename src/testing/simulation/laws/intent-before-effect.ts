/**
 * Policy, then intent, then effect (law 1): in the moment an effect begins, one journal durably holds the decision that allowed
 * exactly this call, and behind it its intent. The same for the model: one durable reservation for each inference.
 */
import { AskedRuns, type OpenReservation } from './asked-runs.ts'
import type { Evidence, EvidenceReader } from './evidence.ts'
import type { ReadJournal } from './journal-reader.ts'
import type { Law, Scenario } from './law.ts'
import { canonicalText } from './plain-json.ts'
import { type ApprovedCall, asksModel, factsOf } from './run-facts.ts'
import { type Beginning, beginningIn, type Seen } from './seen.ts'

/** The one ready-made tool whose effects are seen: they are requests that reach the other side. */
export const HTTP = 'http_request'

type InferenceBegan = Extract<Seen, { kind: 'InferenceBegan' }>

export function intentBeforeEffect(reader: EvidenceReader, scenario: Pick<Scenario, 'requestOf'>): Law {
  const used = new Set<string>()
  const asked = new AskedRuns(scenario)
  return {
    name: 'intent before effect',
    watch: (seen, disk) => {
      asked.see(seen)
      const beginning = beginningIn(seen)
      if (beginning !== null) return whyNoIntent(beginning, reader.at(seen, disk))
      if (seen.kind === 'InferenceBegan') {
        const evidence = reader.at(seen, disk)
        return whyNoReservation(seen, asked.reservationsFor(seen, evidence), evidence, used)
      }
      return null
    },
  }
}

function whyNoIntent(seen: Beginning, evidence: Evidence): string | null {
  const what = `The effect of token "${seen.token}" began`
  const approvals = approvalsOf(seen.token, evidence)
  if (approvals.length === 0) return `${what}, and no durable entry allows a call with it`
  let nearest = ''
  for (const { journal, call } of approvals) {
    const reason = whyNotThis(seen, journal, call, evidence)
    if (reason === null) return null
    nearest = reason
  }
  return `${what}, and ${nearest}`
}

/** Every durable decision that allowed a call with this token. */
export function approvalsOf(token: string, { journals }: Evidence): readonly Approval[] {
  return [...journals.values()].flatMap((journal) =>
    factsOf(journal)
      .approved.filter((call) => call.token === token)
      .map((call) => ({ journal, call })),
  )
}

export interface Approval {
  readonly journal: ReadJournal
  readonly call: ApprovedCall
}

function whyNotThis(seen: Beginning, journal: ReadJournal, call: ApprovedCall, evidence: Evidence): string | null {
  const allowed = `entry ${call.at} of ${journal.name} allows it`
  const facts = factsOf(journal)
  if (call.tool !== seen.tool) return `${allowed} for the tool "${call.tool}", and it was "${seen.tool}"`
  if (!sameArguments(seen, call)) {
    return `${allowed} for the arguments ${canonicalText(call.args)}, and they were ${canonicalText(seen.args)}`
  }
  if (!wasProposed(journal, call)) return `${allowed}, and no entry before it proposes the call`
  const intent = facts.dispatches.find(
    ({ started, fingerprint, callId }) =>
      started > call.at && fingerprint === call.fingerprint && callId === call.callId,
  )
  if (intent === undefined) return `${allowed}, and no intent of it is durable`
  if (intent.finished !== null) {
    return `its intent, entry ${intent.started} of ${journal.name}, was finished by entry ${intent.finished} before`
  }
  if (facts.end !== null) return `its run had ended, says ${journal.name}`
  if (call.tool === HTTP && !hasRequest(journal, call))
    return `${journal.name} has no durable intent of the request itself`
  return whyNoParent(journal, evidence)
}

/** A tool of the project is given just what was judged; of a request over HTTP the other side sees a part of it. */
function sameArguments({ tool, args }: Beginning, call: ApprovedCall): boolean {
  const judged = Object.entries(call.args)
  const seen = tool === HTTP ? judged.filter(([name]) => name in args) : judged
  return canonicalText(Object.fromEntries(seen)) === canonicalText(args)
}

/** A run of a model proposes before anything is decided. A tool client proposes outside of the journal. */
function wasProposed(journal: ReadJournal, call: ApprovedCall): boolean {
  if (!asksModel(journal)) return true
  return journal.entries.some(
    ({ sequence, event }) =>
      sequence < call.at &&
      event.kind === 'ReasoningComplete' &&
      event.iteration === call.iteration &&
      event.actions.some((action) => 'ToolCall' in action && action.ToolCall.call_id === call.callId),
  )
}

/** A request over HTTP has an intent of its own behind that of the call. */
function hasRequest(journal: ReadJournal, { at, fingerprint }: ApprovedCall): boolean {
  return journal.entries.some(
    ({ sequence, event }) =>
      sequence > at &&
      event.kind === 'ToolEffect' &&
      event.call_fingerprint === fingerprint &&
      'NetworkRequestStarted' in event.effect,
  )
}

/** A run that another one began has that one's intent. */
function whyNoParent(journal: ReadJournal, { journals }: Evidence): string | null {
  const { parent } = factsOf(journal)
  if (parent === null) return null
  const above = journals.get(parent)
  const linked = above !== undefined && factsOf(above).delegated.some(({ runId }) => runId === journal.runId)
  return linked ? null : `the run that began ${journal.name} has no durable intent of it`
}

/** One reservation serves one inference. */
function whyNoReservation(
  { inference, subject }: InferenceBegan,
  open: readonly OpenReservation[],
  evidence: Evidence,
  used: Set<string>,
): string | null {
  const what = `Inference ${inference} about "${subject}" began`
  const found = open.find(({ id }) => !used.has(id))
  if (found === undefined) return `${what}, and no open reservation of it is durable`
  used.add(found.id)
  const run = evidence.journals.get(found.runId)
  if (run === undefined) return `${what}, and the run ${found.runId} has no durable journal`
  const reason = whyNoParent(run, evidence)
  return reason === null ? null : `${what}, and ${reason}`
}
