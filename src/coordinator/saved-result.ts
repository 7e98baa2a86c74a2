/**
 * The result that a chat claim keeps, and what a client is told of an invocation that exists. Replay calls nobody and
 * changes nothing: it only says what is on disk, and only when the signed journal says the same.
 */
import { canonical, Fault, fits, type Json, shapes, type TypeOf } from '../core/index.ts'
import { type AuditReference, type Entry, type TerminationReason, terminationShape } from '../events/index.ts'
import type { Existing } from '../invocations/index.ts'
import { answerIn } from '../journal/index.ts'
import type { LoopResult } from '../loop/index.ts'
import type { ServerMessage } from './messages.ts'
import { errorMessage } from './problems.ts'

const savedShape = shapes.object({
  version: shapes.literal(1),
  completed: shapes.bool,
  output: shapes.text,
  termination_reason: terminationShape,
})
export type SavedResult = TypeOf<typeof savedShape>

export function savedResultOf(result: Pick<LoopResult, 'output' | 'termination_reason'>): SavedResult {
  const completed = result.termination_reason === 'Completed'
  return {
    version: 1,
    completed,
    output: completed ? result.output : '',
    termination_reason: result.termination_reason,
  }
}

/** Whether the saved result repeats the signed record: how the run ended, and the last answer that policy let out. */
export function agreesWithJournal(saved: Json, entries: readonly Entry[]): boolean {
  const end = entries.at(-1)?.event
  if (!fits(savedShape, saved) || end?.kind !== 'Terminated') return false
  if (canonical(saved.termination_reason) !== canonical(end.reason)) return false
  return !saved.completed || saved.output === answerIn(entries)
}

/** The final message of a recorded run; `AUDIT_UNAVAILABLE` when the saved result contradicts itself. */
export function finalMessage(requestId: string, saved: Json, replayed: boolean): ServerMessage {
  if (
    !fits(savedShape, saved) ||
    saved.completed !== (saved.termination_reason === 'Completed') ||
    (!saved.completed && saved.output !== '')
  ) {
    return errorMessage(
      requestId,
      new Fault('AUDIT_UNAVAILABLE', {
        message: 'Cannot read the saved result of this invocation',
        hint: 'Inspect the invocation with "symbi invocation inspect"',
      }),
    )
  }
  if (saved.completed) return { type: 'ChatChunk', request_id: requestId, content: saved.output, done: true, replayed }
  return errorMessage(requestId, runFailed(saved.termination_reason))
}

/** What is sent for an invocation that is not fresh: its audit reference first, where one is known (11.5). */
export function replayMessages(requestId: string, existing: Existing): readonly ServerMessage[] {
  switch (existing.kind) {
    case 'InProgress':
      return [
        errorMessage(
          requestId,
          new Fault('INVOCATION_IN_PROGRESS', {
            message: 'The invocation is active or queued, and its owner has not finished',
            hint: 'Ask again later with the same id and content; nothing runs twice',
          }),
        ),
      ]
    case 'Unresolved':
      return [...opened(requestId, existing.audit), errorMessage(requestId, unresolved())]
    case 'Reconciled':
      return [
        ...opened(requestId, existing.audit),
        errorMessage(
          requestId,
          new Fault('INVOCATION_RECONCILED', {
            message: 'An operator has assessed this invocation; it never runs again',
            hint: 'Send the request under a new id if it should run',
          }),
        ),
      ]
    case 'Recorded':
      return [...opened(requestId, existing.audit), finalMessage(requestId, existing.result, true)]
  }
}

export function unresolved(): Fault {
  return new Fault('INVOCATION_UNRESOLVED', {
    message: 'What this invocation did is not known for certain, so it is not repeated',
    hint: 'Inspect it with "symbi invocation inspect" and reconcile it; a new id runs the request again, so send one only once you know what the first did',
  })
}

function opened(requestId: string, audit: AuditReference | null): readonly ServerMessage[] {
  return audit === null ? [] : [{ type: 'AuditOpened', request_id: requestId, audit }]
}

function runFailed(reason: TerminationReason): Fault {
  return new Fault('LOOP_ERROR', { message: `The run failed: ${describe(reason)}`, hint: hintFor(reason) })
}

function describe(reason: TerminationReason): string {
  if (typeof reason === 'object') return 'Error' in reason ? reason.Error.message : reason.PolicyDenial.reason
  switch (reason) {
    case 'Completed':
      return 'it completed'
    case 'MaxIterations':
      return 'it reached its limit of iterations'
    case 'MaxTokens':
      return 'it reached its limit of tokens'
    case 'Timeout':
      return 'it reached its time limit'
    case 'UnconfirmedEffects':
      return 'what a tool did is not confirmed'
  }
}

function hintFor(reason: TerminationReason): string {
  if (reason === 'MaxTokens') {
    return 'A provider that reports no usage is charged its whole reservation each time: let it report usage in streams, or raise max_total_tokens'
  }
  return 'The journal of the run says what was done: "symbi audit show"'
}
