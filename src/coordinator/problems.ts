/**
 * How a failure looks to a chat client: a code from the table, a sentence, and what to do next. Paths, keys and foreign
 * error texts stay inside.
 */
import { CODES, Fault } from '../core/index.ts'
import type { ServerMessage } from './messages.ts'

export function errorMessage(requestId: string | null, fault: Fault): ServerMessage {
  const hint = fault.hint === undefined ? '' : `. ${fault.hint}`
  return { type: 'Error', request_id: requestId, code: fault.code, message: `${fault.message}${hint}` }
}

/** A failure of admission: conflicts keep their code, everything about storage becomes `AUDIT_UNAVAILABLE`. */
export function admissionProblem(error: unknown): Fault {
  if (error instanceof Fault && error.code === 'INVOCATION_CONFLICT') return error
  return new Fault('AUDIT_UNAVAILABLE', {
    message: error instanceof Fault ? error.message : CODES.AUDIT_UNAVAILABLE.says,
    hint: error instanceof Fault && error.hint !== undefined ? error.hint : 'Run "symbi doctor" on the server',
    cause: error,
  })
}
