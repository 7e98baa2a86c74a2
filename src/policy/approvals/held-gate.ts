/**
 * The gate that never waits: for sessions whose clients time out long before a person decides. The call is held and the
 * asker gets a handle at once; the same call that comes back with it, as a call of its own, gets an approval of its own,
 * bound to its own fingerprint and spent once (design 5). The inner gate still judges what was approved.
 */

import { type ApprovalAnswer, type Gate, type GateQuestion, mayAllow } from '../gate.ts'
import { giveApproval } from './give-approval.ts'
import type { HeldAction } from './held-action.ts'
import { approvalNeed } from './held-call.ts'
import { refusedInVain } from './in-vain.ts'
import type { ApprovalQueue } from './queue.ts'

export const HELD_LIFETIME_MS = 900_000

export interface HeldOptions {
  /** How long a held call may wait for its decision and its use. Default 900,000. */
  readonly lifetimeMs?: number
  /** Tools that always need an approval, beside those whose contract says so; a delegation counts as `delegate`. */
  readonly tools?: readonly string[]
}

export function heldGate(inner: Gate, queue: ApprovalQueue, options: HeldOptions = {}): Gate {
  const tools = new Set(options.tools)
  const { lifetimeMs = HELD_LIFETIME_MS } = options
  return {
    name: `held(${inner.name})`,
    approve: async (question, signal) => {
      const need = approvalNeed(question.call, tools)
      if (need === null) return await inner.approve(question, signal)
      signal.throwIfAborted()
      const vain = await refusedInVain(inner, question, signal) // before the approval is used up, too
      if (vain !== null) return vain
      signal.throwIfAborted() // policy took its time: for a session that has ended meanwhile nothing is held and nothing spent
      if (question.presented !== null) return await presented(queue, question, question.presented)
      const held = await queue.hold({ ...question, reason: need, use: 'presented', lifetimeMs }, signal)
      return held.kind === 'Held' ? pending(held.action) : { kind: 'Refused', reason: held.reason }
    },
    decide: (question, signal) => inner.decide(question, signal),
    mayAllow: (actions, signal) => mayAllow(inner, actions, signal),
  }
}

async function presented(queue: ApprovalQueue, question: GateQuestion, handle: string): Promise<ApprovalAnswer> {
  const { call, run, remainingMs } = question
  const { clock } = queue.world
  const endMs = clock.monotonicMs() + remainingMs
  const worth = await queue.present(handle, question)
  if (worth.kind === 'Refused') return worth
  if (worth.kind === 'Pending') return pending(worth.action)
  const { resolution, leftMs } = worth
  const approval = { id: handle, call, run, resolution, lifetimeMs: leftMs, remainingMs: endMs - clock.monotonicMs() }
  return { kind: 'Approved', approval: giveApproval(approval, clock) }
}

function pending({ id, reason, expires_at, status }: HeldAction): ApprovalAnswer {
  const state = status === 'approved' ? 'it is approved: ask again with its handle' : 'it waits for a person'
  return { kind: 'Pending', reason: `${reason}, and ${state}`, approval_id: id, expires_at }
}
