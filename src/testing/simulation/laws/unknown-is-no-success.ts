/**
 * Unknown never becomes success (law 3): what a client is told was done is proven by what was durable at that moment, agrees
 * with what the tools really said, and is said again and again in the same words. The same holds for what journals
 * record of an end.
 */
import { claimKey, type Evidence, type EvidenceReader, SCOPE_OF } from './evidence.ts'
import { approvalsOf, HTTP } from './intent-before-effect.ts'
import type { ReadJournal } from './journal-reader.ts'
import type { Law, Scenario } from './law.ts'
import { whyNotDone } from './proven-done.ts'
import { whyEndsLie } from './recorded-ends.ts'
import { type ApprovedCall, factsOf } from './run-facts.ts'
import type { ClientAnswer, SaidCode, Seen, Surface } from './seen.ts'

/** What a tool did, as the world outside saw it. */
interface Effect {
  readonly token: string
  readonly tool: string
  answer: 'none' | 'done' | 'not done' | 'bad'
}

export function unknownIsNoSuccess(reader: EvidenceReader, { clockGoesBack }: Pick<Scenario, 'clockGoesBack'>): Law {
  const effects = new Map<number, Effect>()
  const byToken = new Map<string, Effect>()
  const finals = new Map<string, ClientAnswer>()
  /** By token, how often a call without an id was made. */
  const asked = new Map<string, number>()
  /** Processes that are up. */
  const up = new Set<number>()

  const judgeTold = (seen: Seen & { kind: 'Told' | 'Settled' }, evidence: Evidence): string | null => {
    const { surface, id, answer } = seen
    const token = seen.kind === 'Told' ? (seen.token ?? null) : null
    if (surface === 'mcp') {
      if (token === null) return null
      const what = `A client was told of the call of token "${token}" that it ${answer.kind === 'Done' ? 'was' : 'was not'} done`
      const effect = byToken.get(token)
      const reason =
        answer.kind === 'Done'
          ? whyCallNotDone(token, answer.content, evidence, byToken)
          : whyRefused(answer, (asked.get(token) ?? 0) > 1 ? undefined : effect)
      return reason === null ? null : `${what}, and ${reason}`
    }
    if (id === null) return null
    const begun =
      surface === 'identified' ? byToken.get(seen.kind === 'Told' ? (seen.token ?? '') : seen.request) : undefined
    const refused = begun === undefined ? null : whySomethingDone(answer)
    if (refused !== null) return `A client was told of the request ${id} that nothing was executed, and ${refused}`
    const changed = whyChanged(finals, surface, id, answer, evidence)
    if (changed !== null || answer.kind !== 'Done') return changed
    const toldTo = evidence.forgotten.get(claimKey(SCOPE_OF[surface] ?? surface, id))
    if (toldTo !== undefined && up.has(toldTo))
      return `A client was told that the request ${id} was done by a process that saw the sync of its claim fail`
    const reason = whyNotDone(surface, id, answer.content, evidence) ?? whyToolsDisagree(surface, id, evidence, byToken)
    return reason === null ? null : `A client was told that the request ${id} was done, and ${reason}`
  }

  return {
    name: 'unknown is no success',
    watch: (seen, disk) => {
      switch (seen.kind) {
        case 'Booted':
          up.add(seen.life)
          return null
        case 'Crashed':
        case 'Closed':
          up.delete(seen.life)
          return null
        case 'EffectBegan': {
          const effect: Effect = { token: seen.token, tool: seen.tool, answer: 'none' }
          effects.set(seen.effect, effect)
          byToken.set(seen.token, effect)
          return null
        }
        case 'EffectAnswered': {
          const effect = effects.get(seen.effect)
          const known = !seen.late && (seen.answer === 'done' || seen.answer === 'not done')
          if (effect !== undefined) effect.answer = known ? (seen.answer as 'done' | 'not done') : 'bad'
          return null
        }
        case 'Asked':
          if (seen.surface === 'mcp' && seen.token !== null) asked.set(seen.token, (asked.get(seen.token) ?? 0) + 1)
          return null
        case 'Told':
        case 'Settled':
          return judgeTold(seen, reader.at(seen, disk))
        default:
          return null
      }
    },
    settle: (life) => {
      const evidence = reader.at(life.seen, life.disk)
      for (const journal of evidence.journals.values()) {
        const reason = whyReceiptsLie(journal, byToken)
        if (reason !== null) return reason
      }
      return whyEndsLie(evidence, clockGoesBack !== true)
    },
  }
}

/** Codes that say that the fate of an id is sealed without success. */
const SEALED = new Set<SaidCode>(['INVOCATION_UNRESOLVED', 'CALL_UNCONFIRMED'])

/** Codes of a run that ended without success, for a reason that is known. */
const FAILURES = new Set<SaidCode>(['LOOP_ERROR', 'CALL_NOT_DONE'])

/** An id has one final answer. Codes about the moment, such as a busy store or a wrong content, are none. */
function whyChanged(
  finals: Map<string, ClientAnswer>,
  surface: Surface,
  id: string,
  answer: ClientAnswer,
  { forgotten }: Evidence,
): string | null {
  const key = claimKey(SCOPE_OF[surface] ?? surface, id)
  const before = finals.get(key)
  const sealed = answer.kind === 'Unknown' && SEALED.has(answer.code)
  const failed = answer.kind === 'Failed' && FAILURES.has(answer.code)
  if (answer.kind !== 'Done' && !sealed && !failed) return null
  if (before?.kind === 'Done') {
    const same = answer.kind === 'Done' && answer.content === before.content
    return same
      ? null
      : `The request ${id} was done with ${JSON.stringify(before.content)}, and later ${worded(answer)}`
  }
  const final = before !== undefined && 'code' in before && before.code !== 'LOOP_ERROR' // it says that nothing could be recorded
  if (final && answer.kind === 'Done')
    return `The request ${id} was told as ${before.code}, and later ${worded(answer)}`
  if (answer.kind === 'Done' && forgotten.has(key))
    finals.delete(key) // whoever read it could not know
  else finals.set(key, answer)
  return null
}

function worded(answer: ClientAnswer): string {
  if (answer.kind === 'Done') return `done with ${JSON.stringify(answer.content)}`
  return 'code' in answer ? `${answer.kind} with ${answer.code}` : answer.kind
}

/** Codes of a call of which nothing was executed. */
const NOTHING_DONE = new Set<SaidCode>(['POLICY_DENIED', 'CALL_INVALID', 'TOOL_UNKNOWN'])

/** Who is told that nothing was executed can rely on it. */
function whyRefused(answer: ClientAnswer, effect: Effect | undefined): string | null {
  if (effect === undefined) return null
  const said = whySomethingDone(answer)
  if (said !== null || !('code' in answer)) return said
  return answer.code === 'CALL_NOT_DONE' && effect.answer !== 'not done' ? `its tool said ${effect.answer}` : null
}

/** Of a call whose effect had begun; in an earlier process and by another session, when it came with an id. */
function whySomethingDone(answer: ClientAnswer): string | null {
  if (!('code' in answer) || !NOTHING_DONE.has(answer.code)) return null
  return `the code is ${answer.code}, and its effect had begun`
}

/** A call without an id is done when its session's journal holds its receipt, and with it this very text. */
function whyCallNotDone(
  token: string,
  content: string,
  evidence: Evidence,
  effects: ReadonlyMap<string, Effect>,
): string | null {
  const effect = effects.get(token)
  if (effect === undefined) return 'its effect never began'
  if (!saysDone(effect)) return `its tool had not said so in time, but ${effect.answer}`
  for (const { journal, call } of approvalsOf(token, evidence)) {
    const { dispatches } = factsOf(journal)
    if (!dispatches.some(({ fingerprint, known }) => known && fingerprint === call.fingerprint)) continue
    const told = journal.entries.flatMap(({ event }) =>
      event.kind === 'ToolBatchCompleted' ? event.observations.filter(({ call_id }) => call_id === call.callId) : [],
    )
    if (told.length === 0) return `${journal.name} has no durable result of "${call.callId}"`
    if (told.some((observation) => !observation.is_error && observation.content === content)) return null
    return `${journal.name} says ${JSON.stringify(told[0]?.content)} of "${call.callId}", and not ${JSON.stringify(content)}`
  }
  return 'no durable receipt of it is there'
}

/** A reply over HTTP is a result, whatever it says. */
function saysDone({ tool, answer }: Effect): boolean {
  return answer === 'done' || (tool === HTTP && answer === 'not done')
}

/** The tools of the run and of every run below it said that they had done it, or had not, while it was waited for. */
function whyToolsDisagree(
  surface: Surface,
  id: string,
  { claims, journals }: Evidence,
  effects: ReadonlyMap<string, Effect>,
): string | null {
  const pending = [claims.get(claimKey(SCOPE_OF[surface] ?? '', id))?.runId ?? '']
  const visited = new Set<string>()
  for (let runId = pending.pop(); runId !== undefined; runId = pending.pop()) {
    const journal = journals.get(runId)
    if (journal === undefined || visited.has(runId)) continue
    visited.add(runId)
    pending.push(...factsOf(journal).delegated.map((child) => child.runId))
    const reason = whyReceiptsLie(journal, effects)
    if (reason !== null) return reason
    const [only] = surface === 'identified' ? factsOf(journal).approved : []
    const effect = effects.get(only?.token ?? '')
    if (only?.token != null && (effect === undefined || !saysDone(effect))) {
      return `the tool of token "${only.token}" did not say that it was done`
    }
  }
  return null
}

/**
 * A foreign server that could not be asked was not: the runtime answers for it, and says that nothing was done. What it says
 * stands in the record of the batch. A run that was cut off before that record has only the digest of it, and claims nothing.
 */
function mayBeNotSent({ entries }: ReadJournal, { tool, callId }: ApprovedCall, finished: number): boolean {
  if (!tool.startsWith(FOREIGN)) return false
  const batches = entries.flatMap(({ sequence, event }) =>
    event.kind === 'ToolBatchCompleted' && sequence > finished ? [event.observations] : [],
  )
  if (batches.length === 0) return true
  return batches
    .flat()
    .some(
      ({ call_id, source, metadata }) =>
        call_id === callId && source.startsWith(FOREIGN) && metadata?.tool_outcome === 'not_done',
    )
}

const FOREIGN = 'mcp__'

/** A receipt that is no error stands for a tool that answered in time. */
function whyReceiptsLie(journal: ReadJournal, effects: ReadonlyMap<string, Effect>): string | null {
  const { approved, dispatches } = factsOf(journal)
  for (const { fingerprint, callId, finished, known } of dispatches) {
    if (!known || finished === null) continue
    const call = approved.find((one) => one.fingerprint === fingerprint && one.callId === callId)
    const token = call?.token ?? null
    if (call === undefined || token === null) continue
    const answer = effects.get(token)?.answer
    if (answer === 'done' || answer === 'not done') continue
    if (answer === undefined && mayBeNotSent(journal, call, finished)) continue
    const really =
      answer === undefined
        ? 'its effect never began'
        : answer === 'none'
          ? 'its tool never answered'
          : 'its tool failed or was late'
    return `entry ${finished} of ${journal.name} calls "${token}" a success, and ${really}`
  }
  return null
}
