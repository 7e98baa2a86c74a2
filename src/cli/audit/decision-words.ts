/** What a timeline says of one decision. Its evidence is open JSON, so nothing in it is taken for granted. */
import { isJsonObject, type Json, type JsonObject } from '../../core/index.ts'
import { decidedBy, line, type Said, subjectOf, textsIn } from './words.ts'

export function allowedLine(call: JsonObject): Said {
  const approver = approvalWords(call.approval)
  const details = approver === null ? [] : [approver]
  return line('allowed', 'good', `${subjectOf(call.action)}${decidedBy(call)}`, ...details)
}

/** Nobody decided yet: for the effect that is a denial, for a person it is not. */
export function isHeld({ pending_approval }: JsonObject): boolean {
  return isJsonObject(pending_approval)
}

export function deniedLine(call: JsonObject): Said {
  const { reason, pending_approval } = call
  const why = typeof reason === 'string' ? reason : 'no reason was recorded'
  if (isJsonObject(pending_approval)) {
    return line('held', 'call', subjectOf(call.action), `${why}: approval ${String(pending_approval.approval_id)}`)
  }
  const errors = textsIn(call.policy_errors).map((error) => `policy error: ${error}`)
  return line('DENIED', 'denied', `${subjectOf(call.action)}${decidedBy(call)}`, why, ...errors)
}

function approvalWords(approval: Json | undefined): string | null {
  if (!isJsonObject(approval)) return null
  const { escalation_id, approver, at } = approval
  const { display, surface } = isJsonObject(approver) ? approver : {}
  return `approval ${String(escalation_id)}, given by ${String(display)} (${String(surface)}) at ${String(at)}`
}
