/**
 * What a reported usage means for the tokens that were reserved for it (13.3). Pure, and used twice: when a response
 * arrives, and when recovery reads the journal, so that the two can never disagree.
 */
import { type InferenceReservation, NO_USAGE, type Usage } from '../events/index.ts'
import { saturate } from './tokens.ts'

/**
 * `confirmed`: the report fits the reservation. `unknown`: nothing was reported, so all that was reserved may have been
 * used. `exceeded`: the report contradicts itself or the reservation, so nothing more may be spent.
 */
export type SettlementOutcome = 'confirmed' | 'unknown' | 'exceeded'

type Reserved = Pick<InferenceReservation, 'input_tokens' | 'output_tokens'>

export function amountOf(reserved: Reserved): number {
  return reserved.input_tokens + reserved.output_tokens
}

export function outcomeOf(reserved: Reserved, usage: Usage): SettlementOutcome {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage
  if (prompt === 0 && completion === 0 && total === 0) return 'unknown'
  const fits = total >= prompt + completion && total <= amountOf(reserved) && completion <= reserved.output_tokens
  return fits ? 'confirmed' : 'exceeded'
}

/** What is added to the usage of every ancestor: a total below its own parts is raised to their sum. */
export function chargeOf(usage: Usage): Usage {
  const parts = usage.prompt_tokens + usage.completion_tokens
  return { ...usage, total_tokens: saturate(Math.max(usage.total_tokens, parts)) }
}

/**
 * A provider's report as it can be recorded: exactly three counts that saturate. A report that holds anything but counts
 * reports nothing, so the whole reservation is charged.
 */
export function recordableUsage(reported: Usage): Usage {
  const { prompt_tokens, completion_tokens, total_tokens } = reported
  const counts = [prompt_tokens, completion_tokens, total_tokens]
  if (!counts.every((count) => Number.isInteger(count) && count >= 0)) return NO_USAGE
  return {
    prompt_tokens: saturate(prompt_tokens),
    completion_tokens: saturate(completion_tokens),
    total_tokens: saturate(total_tokens),
  }
}
