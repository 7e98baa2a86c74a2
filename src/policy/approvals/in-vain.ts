/**
 * Whether a person would be asked in vain: a call that policy denies even when it is approved is shown to nobody, or people
 * learn to approve without looking. What policy answers is asked again after the approval.
 */
import type { ApprovalAnswer, Gate, GateQuestion } from '../gate.ts'

/** The refusal, with the policies that decided, or null when there is something to ask. */
export async function refusedInVain(
  inner: Gate,
  question: GateQuestion,
  signal: AbortSignal,
): Promise<Extract<ApprovalAnswer, { kind: 'Refused' }> | null> {
  const early = await inner.preview?.(question, signal)
  if (early?.kind !== 'Deny') return null
  const { reason, policies, errors } = early
  return { kind: 'Refused', reason, policies, errors, by_policy: true }
}
