/** Why an action cannot be resolved. A client over HTTP knows these by their own spelling (http-api 5.6). */
import { Fault } from '../../core/index.ts'
import type { Phase } from './held-action.ts'

export function unresolvable(id: string, phase: Phase | null): Fault {
  const what = `Cannot resolve the held action ${JSON.stringify(id.slice(0, 40).toWellFormed())}`
  if (phase === null || phase === 'withdrawn') {
    return new Fault('APPROVAL_NOT_FOUND', {
      message: `${what}: there is none with this id`,
      hint: 'List what is held with "symbi approvals list"; what its asker gave up is gone',
    })
  }
  if (phase === 'expired') {
    return new Fault('APPROVAL_EXPIRED', {
      message: `${what}: it expired, and the call was not executed`,
      hint: 'The asker may ask again',
    })
  }
  return new Fault('APPROVAL_RESOLVED', {
    message: `${what}: it is already resolved`,
    hint: 'Each held action is resolved once; see it with "symbi approvals show"',
  })
}

/** What the asker of an action that ended is told. It is its own action: nothing here says anything about another session. */
export function refusalOf(phase: Phase, reason: string | null | undefined): string {
  if (phase === 'denied')
    return reason == null || reason === '' ? 'the approval was denied' : `the approval was denied: ${reason}`
  return phase === 'expired' ? 'the approval expired' : 'the approval was used already'
}
