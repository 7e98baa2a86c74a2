/**
 * The result that the claim of an agent's run keeps. A replay only says what is on disk, and only when the signed journal says
 * the same.
 */

import { canonical, Fault, fits, type Json, shapes, type TypeOf } from '../core/index.ts'
import { type Entry, terminationShape } from '../events/index.ts'
import { answerIn } from '../journal/index.ts'
import type { LoopResult } from '../loop/index.ts'

const runResultShape = shapes.object({
  version: shapes.literal(1),
  completed: shapes.bool,
  /** Empty unless the run completed. */
  output: shapes.text,
  termination_reason: terminationShape,
  iterations: shapes.u32,
  total_tokens: shapes.u32,
})
export type RunResult = TypeOf<typeof runResultShape>

export function runResultOf({ output, termination_reason, iterations, total_usage }: LoopResult): RunResult {
  const completed = termination_reason === 'Completed'
  return {
    version: 1,
    completed,
    output: completed ? output : '',
    termination_reason,
    iterations,
    total_tokens: total_usage.total_tokens,
  }
}

/** Whether a saved result repeats the signed record: how the run ended, what it cost, and the answer that policy let out. */
export function runResultAgrees(saved: Json, entries: readonly Entry[]): boolean {
  const end = entries.at(-1)?.event
  if (!fits(runResultShape, saved) || end?.kind !== 'Terminated') return false
  return (
    canonical(saved.termination_reason) === canonical(end.reason) &&
    saved.completed === (end.reason === 'Completed') &&
    saved.iterations === end.iterations &&
    saved.total_tokens === end.total_usage.total_tokens &&
    saved.output === (saved.completed ? answerIn(entries) : '')
  )
}

/** What was saved by us, and agreed with its journal when it was read. */
export function readRunResult(saved: Json): RunResult {
  if (fits(runResultShape, saved)) return saved
  throw new Fault('EVIDENCE_INVALID', {
    message: 'Cannot read the saved result of this run: it does not have the expected shape',
    hint: 'Inspect it with "symbi invocation inspect --scope cli:orga"',
  })
}
