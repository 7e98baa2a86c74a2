/**
 * What a `PolicyEvaluated` entry says of each decision: judged by policy, and then the very question that policy was asked;
 * or made by another step, which no policy can change; or recorded too thinly to be asked again.
 *
 * Evidence of a decision is open JSON, and older writers wrote less of it. Whatever is not plainly there is not guessed.
 */
import { sourceOf } from '../calls/index.ts'
import { type AgentId, cutText, fits, isJsonObject, type Json, type JsonObject, shapes } from '../core/index.ts'
import type { EventOf } from '../events/index.ts'
import { ASSUMED_APPROVAL, type Judged, recordedCall } from '../policy/index.ts'

/** Who acts, and what policy knows of the run: from the start of its journal. */
export interface Actor {
  readonly agent_id: AgentId
  readonly trusted_context: JsonObject
}

export interface Ruling {
  readonly decision: 'allow' | 'deny'
  /** The names of the policies that decided. */
  readonly policies: readonly string[]
  /** What failed while it was evaluated, each with its policy's name. */
  readonly errors: readonly string[]
}

/** The steps that decide beside policy. `held` is a call that waited for a person. */
export const OTHER_STEPS = ['preparation', 'restriction', 'approval', 'held', 'runtime'] as const
export type OtherStep = (typeof OTHER_STEPS)[number]

export type Recorded =
  | { readonly kind: 'Judged'; readonly judged: Judged; readonly subject: string; readonly before: Ruling }
  | { readonly kind: 'NotJudged'; readonly step: OtherStep }
  | { readonly kind: 'Unknown' }

/** One for each decision that the entry counts, the approved ones first. `actor` is null when no start was recorded. */
export function* recordedDecisions(event: EventOf<'PolicyEvaluated'>, actor: Actor | null): Iterable<Recorded> {
  const approved = event.approved_calls ?? []
  const denied = event.denied_calls ?? []
  for (const evidence of approved) yield approvedCall(evidence, actor)
  for (const evidence of denied) yield deniedCall(evidence, actor)
  for (let missing = event.action_count - approved.length - denied.length; missing > 0; missing -= 1) yield UNKNOWN
}

const UNKNOWN: Recorded = { kind: 'Unknown' }

function approvedCall(evidence: JsonObject, actor: Actor | null): Recorded {
  const { determining_policies: policies, approval } = evidence
  return judgedCall({ view: evidence, approval, policies, errors: [], decision: 'allow' }, actor)
}

const { list, text, literal } = shapes
const stepShape = literal('preparation', 'restriction', 'approval', 'policy', 'runtime')

function deniedCall(evidence: JsonObject, actor: Actor | null): Recorded {
  const { denied_by: step, call, pending_approval, determining_policies: policies, approval } = evidence
  if (pending_approval !== undefined) return { kind: 'NotJudged', step: 'held' }
  if (step === undefined && call === undefined) return { kind: 'NotJudged', step: 'preparation' } // no call, no question
  if (!fits(stepShape, step)) return UNKNOWN
  if (step !== 'policy') return { kind: 'NotJudged', step }
  return judgedCall({ view: call, approval, policies, errors: evidence.policy_errors ?? [], decision: 'deny' }, actor)
}

interface Evidence extends Pick<Ruling, 'decision'> {
  readonly view: Json | undefined
  readonly approval: Json | undefined
  readonly policies: Json | undefined
  readonly errors: Json
}

function judgedCall({ view, approval, policies, errors, decision }: Evidence, actor: Actor | null): Recorded {
  const call = recordedCall(view)
  const said = approval === null || isJsonObject(approval) || approval === ASSUMED_APPROVAL
  if (actor === null || call === null || !said || !fits(list(text), policies) || !fits(list(text), errors)) {
    return UNKNOWN
  }
  const approvedFingerprint = approval === null ? null : call.fingerprint
  return {
    kind: 'Judged',
    judged: { call, ...actor, approvedFingerprint },
    subject: sourceOf(call.action),
    before: { decision, policies, errors },
  }
}

/** What an entry keeps of one error: two that were cut alike are one. */
const ERROR_UNITS_MAX = 4096

/** Whether the same policies decided, whatever their order, with the same errors. */
export function sameDeciders(left: Ruling, right: Ruling): boolean {
  return sameTexts(left.policies, right.policies) && sameTexts(left.errors.map(kept), right.errors.map(kept))
}

function kept(error: string): string {
  return cutText(error, ERROR_UNITS_MAX)
}

function sameTexts(left: readonly string[], right: readonly string[]): boolean {
  const others = new Set(right)
  return left.length === right.length && left.every((each) => others.has(each))
}
