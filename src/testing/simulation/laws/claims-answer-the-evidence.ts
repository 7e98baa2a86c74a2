/**
 * What an id is answered with agrees with the evidence: not found only what never began, done only what is proven, unresolved
 * only what is not, and nothing is under way once everything is quiet. Whoever came with another credential, or sends another
 * content under the id, is answered nothing.
 */
import { claimKey, type Evidence, type EvidenceReader, GOVERNED, SCOPE_OF } from './evidence.ts'
import type { Law, Scenario } from './law.ts'
import { whyNotDone, whyOpen } from './proven-done.ts'
import { factsOf } from './run-facts.ts'
import type { ClientAnswer, Seen, Surface } from './seen.ts'

export function claimsAnswerTheEvidence(reader: EvidenceReader, { requestOf }: Pick<Scenario, 'requestOf'>): Law {
  /** By request, a token of it whose effect began. */
  const begun = new Map<string, string>()
  /** By surface and id, what a client was told first that a claim must stand behind, and as which event. */
  const told = new Map<string, { readonly what: string; readonly at: number }>()
  let count = 0
  /** By surface and id, the caller who asked for it first. */
  const owners = new Map<string, string | undefined>()
  const chats = new ChatAnswers()
  /** By key, the token of the call that was told as done. */
  const doneFor = new Map<string, string>()
  return {
    name: 'claims answer the evidence',
    watch: (seen, disk) => {
      count += 1
      const another = chats.whyOfAnother(seen)
      if (seen.kind === 'EffectBegan') begun.set(requestOf(seen.token) ?? '', seen.token)
      if (seen.kind === 'Asked' && seen.id !== null) {
        const key = keyOf(seen.surface, seen.id)
        if (!owners.has(key)) owners.set(key, seen.caller)
      }
      if (seen.kind === 'Told' && seen.id !== null && SCOPE_OF[seen.surface] !== null) {
        const { surface, id, answer, caller } = seen
        const key = keyOf(surface, id)
        const evidence = reader.at(seen, disk)
        if (owners.has(key) && owners.get(key) !== caller && tellsStrangers(answer, key, evidence))
          return `The id ${id} of one caller was answered to another as ${worded(answer)}`
        if (another !== null) return another
        if (answer.kind === 'Done' && surface === 'identified' && typeof seen.token === 'string') {
          const first = doneFor.get(key) ?? seen.token
          doneFor.set(key, first)
          if (first !== seen.token)
            return `The id ${id} was told as done for the call of token "${first}", and for that of "${seen.token}"`
        }
        const before = told.get(key)
        if (isNotFound(answer) && before !== undefined && before.at <= (seen.askedAt ?? count))
          return `The id ${id} is not found, and a client had been told ${before.what}`
        if (needsClaim(answer) && before === undefined) told.set(key, { what: worded(answer), at: count })
        if (answer.kind !== 'Opened') return null
        const there = [...evidence.files.keys()].some((path) => path === `${GOVERNED}/${answer.journal}`)
        return there ? null : `The id ${id} was opened, and its journal ${answer.journal} is not durable`
      }
      if (seen.kind !== 'Settled') return null
      const reason = whyWrong(
        seen,
        reader.at(seen, disk),
        told.get(keyOf(seen.surface, seen.id))?.what,
        begun.get(seen.request),
      )
      return reason === null ? null : `In the end the id ${seen.id} is ${worded(seen.answer)}, and ${reason}`
    },
    settle: (life) => {
      const odd = reader.at(life.seen, life.disk).claimFiles.find(({ wrong }) => wrong !== null)
      return odd === undefined ? null : `The claim ${odd.name} ${odd.wrong}`
    },
  }
}

function whyWrong(
  { surface, id, answer }: Extract<Seen, { kind: 'Settled' }>,
  evidence: Evidence,
  told: string | undefined,
  token: string | undefined,
): string | null {
  if (isNotFound(answer)) {
    if (token !== undefined) return `the effect of its token "${token}" began`
    return told === undefined ? null : `a client had been told ${told}`
  }
  if (answer.kind === 'Done') return whyNotDone(surface, id, answer.content, evidence)
  if ('code' in answer && answer.code === 'INVOCATION_IN_PROGRESS') return 'everything is quiet'
  // a chat's id may have been claimed with another content
  if (surface === 'identified' && 'code' in answer && answer.code === 'INVOCATION_CONFLICT')
    return 'it was sent by the same caller, with the same content'
  if (answer.kind === 'Unknown' && answer.code === 'INVOCATION_UNRESOLVED') return whyResolved(surface, id, evidence)
  if (answer.kind === 'Failed' && answer.code === 'LOOP_ERROR') return whyNotOver(surface, id, evidence)
  return null
}

/** Why something of a run that is said to have failed is unknown, or null: everything that such a run did is recorded. */
function whyNotOver(surface: Surface, id: string, { claims, journals }: Evidence): string | null {
  const journal = journals.get(claims.get(keyOf(surface, id))?.runId ?? '')
  if (journal === undefined) return 'its journal is not there'
  return factsOf(journal).end === null ? `${journal.name} has no end` : whyOpen(journal)
}

/** Why nothing of it is unknown, or null. */
function whyResolved(surface: Surface, id: string, { claims, journals }: Evidence): string | null {
  const claim = claims.get(keyOf(surface, id))
  const journal = journals.get(claim?.runId ?? '')
  if (claim === undefined || claim.result === null || journal === undefined) return null
  const complete = factsOf(journal).end !== null && journal.tailBytes === 0
  return complete && whyOpen(journal) === null
    ? `${journal.name} and the result in ${claim.name} leave nothing open`
    : null
}

function keyOf(surface: Surface, id: string): string {
  return claimKey(SCOPE_OF[surface] ?? surface, id)
}

function isNotFound(answer: ClientAnswer): boolean {
  return 'code' in answer && answer.code === 'INVOCATION_NOT_FOUND'
}

/** A claim that was torn before it said whose it is, is unresolved for everybody. */
function tellsStrangers(answer: ClientAnswer, key: string, { claims }: Evidence): boolean {
  return answer.kind === 'Unknown' ? claims.has(key) : answer.kind !== 'Refused'
}

/** What can only be said of an id that is claimed, and will stay so. */
function needsClaim(answer: ClientAnswer): boolean {
  if (answer.kind === 'Opened' || answer.kind === 'Done') return true
  return answer.kind === 'Unknown' && (answer.code === 'INVOCATION_UNRESOLVED' || answer.code === 'CALL_UNCONFIRMED')
}

function worded(answer: ClientAnswer): string {
  return 'code' in answer ? answer.code : answer.kind
}

/**
 * An id stands for one content, the one that was claimed first. Whichever that was, its answer goes to those who sent that, and to
 * those who asked about the id; whoever sent another content is refused.
 */
class ChatAnswers {
  readonly #of = new Map<string, { readonly sent: Map<string, number>; askedAbout: number; done: number }>()

  whyOfAnother(seen: Seen): string | null {
    if (seen.kind === 'AskedAbout') this.#at(seen.id).askedAbout += 1
    if (seen.kind === 'Asked' && seen.surface === 'chat' && seen.id !== null) {
      const { sent } = this.#at(seen.id)
      sent.set(seen.request, (sent.get(seen.request) ?? 0) + 1)
    }
    if (seen.kind !== 'Told' || seen.surface !== 'chat' || seen.id === null || seen.answer.kind !== 'Done') return null
    const chat = this.#at(seen.id)
    chat.done += 1
    const most = Math.max(0, ...chat.sent.values()) + chat.askedAbout
    if (chat.done <= most) return null
    return `The id ${seen.id} was answered as done ${chat.done} times, and no content of it was sent or asked about more than ${most} times`
  }

  #at(id: string) {
    const known = this.#of.get(id) ?? { sent: new Map<string, number>(), askedAbout: 0, done: 0 }
    this.#of.set(id, known)
    return known
  }
}
