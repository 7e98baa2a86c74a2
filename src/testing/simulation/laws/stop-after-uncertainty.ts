/**
 * Stop after uncertainty (law 4): once an outcome is not known, neither the run nor a run above it begins anything else. Judged
 * twice: by what the journals say in order, and by what the tools did, whether or not it was written down.
 */
import { AskedRuns } from './asked-runs.ts'
import type { Evidence, EvidenceReader } from './evidence.ts'
import { type Approval, approvalsOf } from './intent-before-effect.ts'
import type { Law, Scenario } from './law.ts'
import { factsOf } from './run-facts.ts'
import type { Beginning } from './seen.ts'

interface Begun {
  readonly token: string
  readonly runId: string
  /** The decision it was allowed with: calls of one decision may run side by side. */
  readonly decision: number
  outcome: 'open' | 'known' | 'unknown'
}

export function stopAfterUncertainty(reader: EvidenceReader, scenario: Pick<Scenario, 'requestOf'>): Law {
  const begun: Begun[] = []
  const ofEffect = new Map<number, Begun>()
  const ofSent = new Map<number, Begun>()
  const asked = new AskedRuns(scenario)
  return {
    name: 'stop after uncertainty',
    watch: (seen, disk) => {
      asked.see(seen)
      if (seen.kind === 'EffectAnswered') {
        const effect = ofEffect.get(seen.effect)
        const known = !seen.late && (seen.answer === 'done' || seen.answer === 'not done')
        if (effect !== undefined) effect.outcome = known ? 'known' : 'unknown'
      }
      if (seen.kind === 'EffectBegan' && seen.sent !== undefined) {
        const earlier = ofSent.get(seen.sent)
        if (earlier !== undefined) ofEffect.set(seen.effect, earlier)
      } else if (seen.kind === 'EffectBegan' || seen.kind === 'CallSent') {
        const evidence = reader.at(seen, disk)
        const allowed = approvalsOf(seen.token, evidence).at(-1)
        if (allowed === undefined) return null // another law says so
        const reason = whyItHadToStop(seen, allowed, evidence, begun)
        const { journal, call } = allowed
        const one: Begun = { token: seen.token, runId: journal.runId, decision: call.at, outcome: 'open' }
        begun.push(one)
        if (seen.kind === 'CallSent') ofSent.set(seen.sent, one)
        else ofEffect.set(seen.effect, one)
        return reason
      }
      if (seen.kind === 'InferenceBegan') {
        const evidence = reader.at(seen, disk)
        const reasons = asked.reservationsFor(seen, evidence).map(({ runId }) => whyStopped(runId, evidence))
        const every = reasons.length > 0 && reasons.every((reason) => reason !== null)
        return every ? `Inference ${seen.inference} about "${seen.subject}" began, and ${reasons[0]}` : null
      }
      return seen.kind === 'Crashed' || seen.kind === 'Closed' ? whyOutOfOrder(reader.at(seen, disk)) : null
    },
    settle: (life) => whyOutOfOrder(reader.at(life.seen, life.disk)),
  }
}

/** No journal has an entry that starts an effect behind one that says that an outcome is not known. */
function whyOutOfOrder({ journals }: Evidence): string | null {
  for (const journal of journals.values()) {
    const { unconfirmed, startedAfter } = factsOf(journal)
    if (startedAfter === null) continue
    return `${journal.name} starts an effect in entry ${startedAfter}, and entry ${unconfirmed} is an unconfirmed outcome`
  }
  return null
}

function whyItHadToStop(
  { token }: Beginning,
  { journal, call }: Approval,
  evidence: Evidence,
  earlier: readonly Begun[],
): string | null {
  const what = `The effect of token "${token}" began`
  const reason = whyStopped(journal.runId, evidence)
  if (reason !== null) return `${what}, and ${reason}`
  const line = new Set(lineOf(journal.runId, evidence))
  for (const { token: other, runId, decision, outcome } of earlier) {
    if (outcome === 'known') continue
    // a run that an earlier effect belongs to stops, and so does every run above it
    const stopped = lineOf(runId, evidence).find((each) => line.has(each))
    if (stopped === undefined) continue
    const sideBySide = runId === journal.runId && decision === call.at && outcome === 'open'
    if (!sideBySide) return `${what}, and the outcome of "${other}" before it in the same run is not known`
  }
  return null
}

/** What the run's journal, or one above it, durably says that forbids a further effect. */
function whyStopped(runId: string, evidence: Evidence): string | null {
  for (const each of lineOf(runId, evidence)) {
    const journal = evidence.journals.get(each)
    const unconfirmed = journal === undefined ? null : factsOf(journal).unconfirmed
    if (unconfirmed !== null) return `entry ${unconfirmed} of ${journal?.name} is an unconfirmed outcome`
  }
  return null
}

/** The run itself, then the runs above it. */
function lineOf(runId: string, { journals }: Evidence): readonly string[] {
  const line = [runId]
  for (let at = journals.get(runId); at !== undefined && line.length < 100; ) {
    const { parent } = factsOf(at)
    if (parent === null || line.includes(parent)) break
    line.push(parent)
    at = journals.get(parent)
  }
  return line
}
