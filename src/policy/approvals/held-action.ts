/**
 * A held action: a call that takes no effect until a person approved it. What it says never changes; only its status does,
 * and each step is in the table below. The queue keeps it; surfaces show it (8.6).
 */
import type { ApprovalResolution } from '../../calls/index.ts'
import { type Hash, shapes, type TypeOf } from '../../core/index.ts'

const { boundedText, hash, id, json, literal, nullable, object, optional, text, timestamp } = shapes

/** What the runtime knows of who asks, for people. Absent where it knows nothing of it; none of it is what a client said. */
export const askedByShape = object({
  /** The name that the agent is declared with. */
  agent: optional(boundedText(1, 512)),
  /** How a tool client came: `stdio` or `http`. */
  transport: optional(boundedText(1, 512)),
  /** The API key that it came with. */
  key_id: optional(boundedText(1, 512)),
})
export type AskedBy = TypeOf<typeof askedByShape>

export const heldActionShape = object({
  /** 16 hex digits, 64 random bits. */
  id: text,
  agent_id: id('agent'),
  asked_by: optional(askedByShape),
  kind: literal('tool_call', 'delegate', 'schedule', 'other'),
  /** One line of printable ASCII, cut: to recognise it, never to approve it by. */
  summary: text,
  /** Why it needs an approval. */
  reason: text,
  /** `{approval_id, invocation, session_started_at, iteration}`; null where only the status is kept in memory. */
  context_snapshot: json,
  created_at: timestamp,
  expires_at: timestamp,
  status: literal('pending', 'approved', 'denied', 'expired'),
})
export type HeldAction = TypeOf<typeof heldActionShape>

export const approverShape = object({
  surface: literal('tui', 'rest', 'chat', 'terminal'),
  id: boundedText(1, 512),
  display: boundedText(1, 512),
})
/** Who decided, and where. Never taken from what the asker sent. */
export type Approver = TypeOf<typeof approverShape>

export const decisionShape = object({
  decision: literal('approve', 'deny'),
  reason: nullable(text),
  approver: approverShape,
  at: timestamp,
})
/** The decision as it is kept. */
export type KeptDecision = TypeOf<typeof decisionShape>

/** `waits`: somebody waits for the decision. `presented`: the asker comes back with the handle (design 5). */
export type Use = 'waits' | 'presented'

export const requestShape = object({
  version: literal(1),
  action: heldActionShape,
  use: literal('waits', 'presented'),
  /** What is approved, whatever the call's id: digest of `{name, arguments, contract, resolved, source_policy}`. */
  subject: hash,
  /** The session that asked. */
  session: hash,
  run: text,
})
export type KeptRequest = TypeOf<typeof requestShape>

export const endShape = object({
  version: literal(1),
  request: requestShape,
  decision: nullable(decisionShape),
  ended: literal('approved', 'denied', 'expired', 'withdrawn', 'spent'),
  at: timestamp,
  /** The fingerprint of the one call that the approval was spent for. */
  spent_for: nullable(hash),
})
export type KeptEnd = TypeOf<typeof endShape>

export type Phase = 'pending' | 'approved' | 'denied' | 'expired' | 'withdrawn' | 'spent'
export type Step = 'approve' | 'deny' | 'lapse' | 'withdraw' | 'spend'

const STEPS: Readonly<Record<Phase, Partial<Record<Step, Phase>>>> = {
  pending: { approve: 'approved', deny: 'denied', lapse: 'expired', withdraw: 'withdrawn' },
  approved: { lapse: 'expired', withdraw: 'withdrawn', spend: 'spent' },
  denied: {},
  expired: {},
  withdrawn: {},
  spent: {},
}

/** Where the step leads, or null where there is no such step: nothing leads out of an end. */
export function nextPhase(phase: Phase, step: Step): Phase | null {
  return STEPS[phase][step] ?? null
}

/** The four words that surfaces know. */
export function statusOf(phase: Phase): HeldAction['status'] {
  if (phase === 'spent') return 'approved'
  return phase === 'withdrawn' ? 'expired' : phase
}

export type QueueChange = {
  readonly kind: 'held' | 'resolved' | 'expired' | 'withdrawn'
  readonly action: HeldAction
}

/** What a person or a surface answers. */
export interface GivenDecision {
  readonly decision: 'approve' | 'deny'
  readonly reason?: string
}

/** How the wait for a decision ended. */
export type WaitEnd =
  | { readonly kind: 'Approved'; readonly resolution: ApprovalResolution }
  | { readonly kind: 'Denied'; readonly reason: string | null }
  | { readonly kind: 'Expired' }
  | { readonly kind: 'Withdrawn' }

/** What a presented handle is worth for one call of one session. */
export type Presented =
  | { readonly kind: 'Approved'; readonly resolution: ApprovalResolution; readonly leftMs: number }
  | { readonly kind: 'Pending'; readonly action: HeldAction }
  | { readonly kind: 'Refused'; readonly reason: string }

export function isHandle(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text)
}

/** Which session, and which call of it. */
export interface Asker {
  readonly subject: Hash
  readonly session: Hash
  readonly run: string
}
