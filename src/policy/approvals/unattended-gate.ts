/** The gate where nobody can approve: what needs an approval is refused, and the operator's list counts as ever. */
import { type Gate, mayAllow, NO_APPROVER } from '../gate.ts'
import { approvalNeed } from './held-call.ts'

export function unattendedGate(inner: Gate, tools: readonly string[]): Gate {
  const listed = new Set(tools)
  return {
    name: `unattended(${inner.name})`,
    approve: async (question, signal) => {
      const need = approvalNeed(question.call, listed)
      if (need === null) return await inner.approve(question, signal)
      return { kind: 'Refused', reason: `${need}, ${NO_APPROVER}` }
    },
    decide: (question, signal) => inner.decide(question, signal),
    mayAllow: (actions, signal) => mayAllow(inner, actions, signal),
  }
}
