/**
 * Fail closed (law 5): nothing begins that the policies forbid, as a second judge reads them. The policies may change at any
 * moment, so what counts is what was in force between the proposal of a call and its effect: at one moment of that time at
 * least they must have allowed it. Policies that cannot be read leave those from before in force in a process that has
 * used them, and allow nothing in any other. Whatever a journal calls allowed, a reply and a delegation as well, names a policy
 * that permits, and none that forbids.
 */
import type { EvidenceReader } from './evidence.ts'
import type { ReadJournal } from './journal-reader.ts'
import type { Law, Scenario } from './law.ts'
import { type Beginning, beginningIn, type Seen } from './seen.ts'

type Written = Extract<Seen, { kind: 'PoliciesWritten' }> & { readonly at: number }

type Asked = Pick<Scenario, 'allows' | 'permits' | 'areNone' | 'mayReadStale'>

export function policyIsObeyed(
  reader: EvidenceReader,
  { allows, permits = () => true, areNone = () => false, mayReadStale }: Asked,
): Law {
  const written: Written[] = [{ kind: 'PoliciesWritten', policies: null, usable: true, at: 0 }]
  /** When a token was asked for, or the run of a subject asked the model, last. */
  const asked = new Map<string, number>()
  let now = 0
  /** When the last process was gone: the next one may have read its policies since. */
  let lifeBegan = 0
  /**
   * The same for each process that a client started for itself. It neither ends with the one that serves nor takes its place: what
   * it has read of policies it keeps while that one comes and goes, and the other way round.
   */
  const ownLives = new Map<number, number>()
  const inForceFrom = (from: number): readonly Written[] => {
    const first = written.findLastIndex(({ at }) => at <= from)
    return written.slice(Math.max(0, first))
  }
  const isAllowed = ({ life, tool, token, args }: Beginning): boolean => {
    const proposed = asked.get(token) ?? asked.get(token.replace(/\/\d+\/\d+$/, '')) ?? 0
    const began = ownLives.get(life) ?? lifeBegan
    const looked = mayReadStale === true ? began : Math.max(proposed, began)
    return inForceFrom(looked).some((each) => {
      const judges = each.usable ? [each] : inForceFrom(began).filter(({ usable, at }) => usable && at < each.at)
      return judges.some(({ policies }) => allows(tool, args, policies))
    })
  }
  return {
    name: 'policy is obeyed',
    watch: (seen) => {
      now += 1
      switch (seen.kind) {
        case 'PoliciesWritten':
          written.push({ ...seen, at: now })
          return null
        case 'Asked':
          // a call with an id may still run for the first time that it was asked for
          if (seen.token !== null && (seen.surface === 'mcp' || !asked.has(seen.token))) asked.set(seen.token, now)
          return null
        case 'InferenceBegan':
          asked.set(seen.subject, now)
          return null
        case 'Started':
          ownLives.set(seen.life, now)
          return null
        case 'Crashed':
        case 'Closed':
        case 'BootFailed':
          if (!ownLives.has(seen.life)) lifeBegan = now
          return null
        case 'CallSent':
        case 'EffectBegan':
          return beginningIn(seen) === null || isAllowed(seen)
            ? null
            : `The effect of token "${seen.token}" began, and policy forbids "${seen.tool}" with ${JSON.stringify(seen.args)}`
        default:
          return null
      }
    },
    settle: (life) => {
      const mayAnswer = written.some(({ policies }) => areNone(policies))
      for (const journal of reader.at(life.seen, life.disk).journals.values()) {
        const reason = whyNotPermitted(journal, permits, mayAnswer)
        if (reason !== null) return reason
      }
      return null
    },
  }
}

function whyNotPermitted(
  { name, entries }: ReadJournal,
  permits: (policy: string) => boolean,
  mayAnswer: boolean,
): string | null {
  for (const { sequence, event } of entries) {
    if (event.kind !== 'PolicyEvaluated') continue
    for (const { action, determining_policies: deciding } of event.approved_calls ?? []) {
      const names = Array.isArray(deciding) ? deciding.map(String) : []
      if (names.length > 0 && names.every(permits)) continue
      const answers = Object.keys(action ?? {}).every((kind) => kind === 'Respond' || kind === 'Terminate')
      if (names.length === 0 && answers && mayAnswer) continue
      const which = names.length === 0 ? 'no policy' : names.join(', ')
      return `Entry ${sequence} of ${name} calls ${Object.keys(action ?? {}).join()} allowed, and ${which} permits it`
    }
  }
  return null
}
