/** What a run answered, according to its journal. */
import { fits } from '../core/index.ts'
import { actionShape, type Entry } from '../events/index.ts'

/** The last answer that policy let out, or null. */
export function answerIn(entries: readonly Entry[]): string | null {
  const judged = entries.findLast(({ event }) => event.kind === 'PolicyEvaluated')?.event
  const calls = judged?.kind === 'PolicyEvaluated' ? (judged.approved_calls ?? []) : []
  const answers = calls.flatMap(({ action }) => {
    if (!fits(actionShape, action)) return []
    return 'Respond' in action ? [action.Respond.content] : 'Terminate' in action ? [action.Terminate.output] : []
  })
  return answers.at(-1) ?? null
}
