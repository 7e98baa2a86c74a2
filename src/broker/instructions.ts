/** What every client is told when it connects: for the model behind it, in as few words as that takes. */
import { APPROVAL_STATUS, CALL_WITH_APPROVAL } from './results.ts'

export function instructionsFor(hasApprovals: boolean): string {
  const common = [
    'Every call is judged by policy before it runs, runs at most once, and is recorded.',
    'A denied call was not executed; repeating it does not help.',
    'CALL_UNCONFIRMED means that nobody knows whether the call took effect: do not repeat it, and tell the user.',
  ]
  const approvals = hasApprovals
    ? [
        'APPROVAL_PENDING means that a person has to approve this very call, and that nothing was executed.',
        `Tell the user the approval_id, ask "${APPROVAL_STATUS}" from time to time, and once it is approved use "${CALL_WITH_APPROVAL}" with the same tool name and arguments.`,
        'You cannot approve anything yourself.',
      ]
    : ['Nobody can approve calls here, so a tool that needs an approval is refused.']
  return [...common, ...approvals].join(' ')
}
