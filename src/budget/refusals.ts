/** The ways a token allowance says no, in one place so that they say it alike. `BUDGET_REFUSED` ends a run as MaxTokens. */
import { Fault } from '../core/index.ts'
import type { BudgetSnapshot, InferenceReservation, Usage } from '../events/index.ts'

/** Not one output token is left. Charges that nobody reported are named, because there the provider can be mended. */
export function refused(input: number, output: number, { available_tokens, uncertain_tokens }: BudgetSnapshot): Fault {
  const doubt = uncertain_tokens > 0
  return new Fault('BUDGET_REFUSED', {
    message:
      `Cannot reserve ${input} input and ${output} output tokens: ${available_tokens} are available` +
      (doubt ? `, and ${uncertain_tokens} are charged because their use was never reported` : ''),
    hint: doubt
      ? 'Make the provider report usage in streams, or raise max_total_tokens'
      : 'Raise max_total_tokens, or shorten the conversation',
    facts: { input_tokens: input, output_tokens: output, available_tokens, uncertain_tokens },
  })
}

export function closed(act: string): Fault {
  return new Fault('BUDGET_CLOSED', {
    message: `Cannot ${act}: the token allowance of the run, or of one above it, is closed`,
    hint: 'An earlier inference used more than was reserved, or the journal failed; inspect the run and start a new one',
  })
}

export function unattached(act: string): Fault {
  return new Fault('BUDGET_CLOSED', {
    message: `Cannot ${act}: the token allowance is not attached to a journal`,
    hint: 'Attach the allowance to the journal of its run first; tokens are spent only where they are recorded',
  })
}

export function refusedAttachment(reason: string): Fault {
  return new Fault('BUDGET_CLOSED', {
    message: `Cannot attach the token allowance to a journal: ${reason}`,
    hint: 'Open a new allowance for each run',
  })
}

export function givenUp(act: string): Fault {
  return new Fault('BUDGET_CLOSED', {
    message: `Cannot ${act}: the reservation was given up`,
    hint: 'Reserve again for a new inference; what was given up after the model could be asked stays charged',
  })
}

export function exceeded(record: InferenceReservation, usage: Usage): Fault {
  const { prompt_tokens, completion_tokens, total_tokens } = usage
  return new Fault('BUDGET_CLOSED', {
    message:
      `Cannot use the reply of the model: the provider reports ${prompt_tokens} + ${completion_tokens} tokens, ` +
      `${total_tokens} in total, and ${record.input_tokens} + ${record.output_tokens} were reserved`,
    hint: 'Check that the provider honours max_tokens and counts its input; the allowance is closed until a new run',
    facts: { prompt_tokens, completion_tokens, total_tokens },
  })
}
