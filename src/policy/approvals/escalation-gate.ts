/**
 * The gate that waits for a person (8.5): for chats and runs, where the asker can. The inner gate still judges what was
 * approved, and answers alone where no approval is needed.
 */
import { type ApprovalAnswer, type Gate, type GateQuestion, mayAllow } from '../gate.ts'
import { giveApproval } from './give-approval.ts'
import { approvalNeed } from './held-call.ts'
import { refusedInVain } from './in-vain.ts'
import type { ApprovalQueue } from './queue.ts'
import { refusalOf } from './queue-faults.ts'
import { expiryOf, hasLapsed } from './queue-limits.ts'

export const ESCALATION_TIMEOUT_MS = 120_000

export interface EscalationOptions {
  /** How long a person has. Default 120,000; never longer than the run has left. */
  readonly timeoutMs?: number
  /** Tools that always need an approval, beside those whose contract says so; a delegation counts as `delegate`. */
  readonly tools?: readonly string[]
}

export function escalationGate(inner: Gate, queue: ApprovalQueue, options: EscalationOptions = {}): Gate {
  const tools = new Set(options.tools)
  return {
    name: `escalation(${inner.name})`,
    approve: async (question, signal) => {
      const need = approvalNeed(question.call, tools)
      if (need === null) return await inner.approve(question, signal)
      return (await refusedInVain(inner, question, signal)) ?? (await ask(queue, options, need, question, signal))
    },
    decide: (question, signal) => inner.decide(question, signal),
    mayAllow: (actions, signal) => mayAllow(inner, actions, signal),
  }
}

async function ask(
  queue: ApprovalQueue,
  options: EscalationOptions,
  reason: string,
  { call, run, remainingMs }: GateQuestion,
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  signal.throwIfAborted()
  const { clock } = queue.world
  const { timeoutMs = ESCALATION_TIMEOUT_MS } = options
  if (expiryOf(clock, timeoutMs) === null) return { kind: 'Refused', reason: 'timeout' }
  const endMs = clock.monotonicMs() + remainingMs
  const lifetimeMs = timeoutMs > remainingMs ? remainingMs : timeoutMs
  const held = await queue.hold({ call, run, reason, use: 'waits', lifetimeMs }, signal)
  if (held.kind === 'NotHeld') return { kind: 'Refused', reason: held.reason }
  const { action } = held
  const end = await held.ended
  if (end.kind === 'Denied') return { kind: 'Refused', reason: refusalOf('denied', end.reason) }
  const deadlineMs = endMs - remainingMs + lifetimeMs
  if (end.kind !== 'Approved' || hasLapsed(clock, { expires_at: action.expires_at, deadlineMs })) {
    return { kind: 'Refused', reason: end.kind === 'Withdrawn' ? 'the request for approval was withdrawn' : 'timeout' }
  }
  const { resolution } = end
  const approval = {
    id: action.id,
    call,
    run,
    resolution,
    lifetimeMs: timeoutMs,
    remainingMs: endMs - clock.monotonicMs(),
  }
  return { kind: 'Approved', approval: giveApproval(approval, clock) }
}
